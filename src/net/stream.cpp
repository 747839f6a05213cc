#include "net/stream.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "net/parse.h"
#include "net/tls.h"

namespace palimpsest {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string text_of(int error) {
    return std::generic_category().message(error);
}

// A connected transport, or why not.
std::expected<std::unique_ptr<Transport>, std::string> connect_to(const addrinfo& address,
                                                                  const Patience& patience) {
    const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    const int fd = ::socket(address.ai_family, type, 0);
    if (fd < 0) return std::unexpected(text_of(errno));
    auto transport = tcp_transport(fd);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return transport;
    if (errno != EINPROGRESS) return std::unexpected(text_of(errno));
    Lookout lookout;
    const auto outcome = patience.wait(lookout, fd, POLLOUT);
    if (outcome == Patience::Outcome::timed_out) return std::unexpected("timed out");
    if (outcome == Patience::Outcome::interrupted) return std::unexpected("interrupted");
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return std::unexpected(text_of(error));
    return transport;
}

constexpr std::size_t tunnel_head_bytes_max = 16 * 1024;

// An address is read at once; a name may have to be asked for, and that blocks.
std::expected<Addresses, std::string> resolve(const Url& url, const Patience& patience) {
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(url.port);
    int failed = ::getaddrinfo(url.host.c_str(), port.c_str(), &hints, &found);
    if (failed == EAI_NONAME) {
        patience.may_block();
        hints.ai_flags = AI_NUMERICSERV;
        failed = ::getaddrinfo(url.host.c_str(), port.c_str(), &hints, &found);
    }
    if (failed != 0) return std::unexpected(::gai_strerror(failed));
    return Addresses(found, &::freeaddrinfo);
}

// The first address of the host that takes the connection.
Result<std::unique_ptr<Transport>> connect_tcp(const Url& url, const Patience& patience) {
    const std::string what = "cannot connect to " + url.authority() + ": ";
    const auto addresses = resolve(url, patience);
    if (!addresses) return fail(ErrorCode::unavailable, what + addresses.error());
    std::string why = "no address";
    for (const addrinfo* address = addresses->get(); address != nullptr;
         address = address->ai_next) {
        auto transport = connect_to(*address, patience);
        if (transport) return *std::move(transport);
        why = std::move(transport).error();
    }
    return fail(ErrorCode::unavailable, what + why);
}

}  // namespace

void Patience::Wake::operator()() const {
    if (bell) {
        loop->post([rung = bell] {
            if (*rung) (*rung)->wake();
        });
        return;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(descriptor, &one, sizeof one);
}

Patience::Time Patience::after(int timeout_ms) {
    if (timeout_ms <= 0) return Time::max();
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
}

Patience::Patience(int timeout_ms, std::stop_token stop, Errand* errand)
    : errand_(errand), stop_(std::move(stop)), whole_(after(timeout_ms)), until_(whole_) {
    if (!stop_.stop_possible()) return;
    if (errand_) {
        callback_.emplace(stop_, Wake{-1, errand_->bell(), &errand_->loop()});
        return;
    }
    interrupt_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (interrupt_ >= 0) callback_.emplace(stop_, Wake{interrupt_, {}, nullptr});
}

Patience::~Patience() {
    callback_.reset();
    if (interrupt_ >= 0) ::close(interrupt_);
}

void Patience::restart(int timeout_ms) {
    until_ = std::min(whole_, after(timeout_ms));
}

void Patience::may_block() const {
    if (errand_) errand_->go_to(Errand::Place::workers);
}

void Patience::give_way() const {
    if (errand_ && errand_->on_network()) errand_->give_way();
}

Patience::Outcome Patience::wait(Lookout& lookout, int descriptor, short events,
                                 short* seen) const {
    return errand_ ? park(lookout, descriptor, events, seen) : wait(descriptor, events, seen);
}

Patience::Outcome Patience::park(Lookout& lookout, int descriptor, short events,
                                 short* seen) const {
    errand_->go_to(Errand::Place::network);
    if (descriptor >= 0) lookout.look(*errand_, descriptor, events);
    while (true) {
        if (stop_.stop_requested()) return Outcome::interrupted;
        const auto came = static_cast<short>(lookout.seen() & events);
        if (seen != nullptr) *seen = came;
        if (came != 0) return Outcome::ready;
        if (until_ != Time::max() && std::chrono::steady_clock::now() >= until_)
            return Outcome::timed_out;
        errand_->park_until(until_);
    }
}

Patience::Outcome Patience::wait(int descriptor, short events, short* seen) const {
    std::array<pollfd, 2> waiting = {pollfd{.fd = descriptor, .events = events, .revents = 0},
                                     pollfd{.fd = interrupt_, .events = POLLIN, .revents = 0}};
    while (true) {
        int left = -1;
        if (until_ != Time::max()) {
            const auto span = std::chrono::ceil<std::chrono::milliseconds>(
                until_ - std::chrono::steady_clock::now());
            left = static_cast<int>(
                std::clamp<std::int64_t>(span.count(), 0, std::numeric_limits<int>::max()));
        }
        const int count = ::poll(waiting.data(), waiting.size(), left);
        if (count < 0 && errno == EINTR) continue;
        if (waiting[1].revents != 0) return Outcome::interrupted;
        if (count == 0) return Outcome::timed_out;
        if (seen != nullptr) *seen = waiting[0].revents;
        return Outcome::ready;
    }
}

bool pause_ms(int duration, const std::stop_token& stop) {
    Lookout nothing;
    const Patience patience(std::max(duration, 1), stop, Errand::current());
    const bool whole = patience.wait(nothing, -1, 0) == Patience::Outcome::timed_out;
    if (patience.errand()) patience.errand()->go_home();
    return whole;
}

Result<Stream> Stream::connect(const Url& url, const std::string& ca_file,
                               const std::optional<Proxy>& proxy, const Patience& patience) {
    PAL_TRY(transport, connect_tcp(proxy ? proxy->url : url, patience));
    if (!url.tls) return Stream(std::move(transport));
    if (proxy) {
        Stream plain(std::move(transport));
        PAL_CHECK(plain.open_tunnel(url, *proxy, patience));
        transport = std::move(plain.transport_);
    }
    patience.may_block();  // The authorities are read from files.
    PAL_TRY(secure, tls_transport(std::move(transport), url.host, ca_file));
    Stream stream(std::move(secure));
    PAL_CHECK(stream.shake_hands(url, patience));
    return stream;
}

// What the proxy says before it becomes a tunnel is a head without a body.
Result<void> Stream::open_tunnel(const Url& url, const Proxy& proxy, const Patience& patience) {
    const std::string name = url.host.contains(':') ? "[" + url.host + "]" : url.host;
    const std::string host = name + ":" + std::to_string(url.port);
    std::string request = "CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n";
    if (!proxy.authorization.empty())
        request += "Proxy-Authorization: " + proxy.authorization + "\r\n";
    request += "\r\n";
    const std::string what = "the proxy " + proxy.url.authority() + " gives no tunnel to " + host;
    std::string answer;
    StreamState state = write_all(request, patience);
    while (state == StreamState::done && !answer.contains("\r\n\r\n")) {
        if (answer.size() > tunnel_head_bytes_max) state = StreamState::failed;
        if (state == StreamState::done) state = read_some(answer, patience);
    }
    if (state == StreamState::timed_out) return fail(ErrorCode::unavailable, what + ": timed out");
    if (state == StreamState::interrupted)
        return fail(ErrorCode::unavailable, what + ": interrupted");
    const auto head = parse_response_head(answer, /*to_head=*/true);
    if (state != StreamState::done || !answer.ends_with("\r\n\r\n") || !head)
        return fail(ErrorCode::unavailable, what + ": its answer cannot be read");
    if (head->status < 200 || head->status > 299)
        return fail(ErrorCode::unavailable,
                    what + ": it answered with status " + std::to_string(head->status));
    return {};
}

Result<void> Stream::shake_hands(const Url& url, const Patience& patience) {
    const std::string what = "no secure connection to " + url.authority() + ": ";
    while (true) {
        const IoResult result = transport_->shake_hands();
        if (result.state == IoState::done) return {};
        const StreamState state = await(result.state, patience);
        if (state == StreamState::done) continue;
        if (state == StreamState::timed_out)
            return fail(ErrorCode::unavailable, what + "timed out");
        if (state == StreamState::interrupted)
            return fail(ErrorCode::unavailable, what + "interrupted");
        return fail(ErrorCode::unavailable, what + failure());
    }
}

// Waits for what a non-blocking call wanted; `done`: try again.
StreamState Stream::await(IoState state, const Patience& patience) {
    if (state == IoState::closed) return StreamState::ended;
    if (state == IoState::failed) return StreamState::failed;
    const short events = state == IoState::want_read ? POLLIN : POLLOUT;
    const auto outcome = patience.wait(lookout_, transport_->descriptor(), events);
    if (outcome == Patience::Outcome::timed_out) return StreamState::timed_out;
    if (outcome == Patience::Outcome::interrupted) return StreamState::interrupted;
    return StreamState::done;
}

StreamState Stream::read_some(std::string& out, const Patience& patience) {
    std::array<char, 16 * 1024> buffer;
    IoResult result;
    while (true) {
        // An errand that knows of nothing does not ask in vain.
        if (drained_ && patience.errand())
            result = {IoState::want_read, 0};
        else
            result = transport_->read_some(buffer);
        drained_ = result.bytes < buffer.size() && transport_->is_duplex();
        if (result.state == IoState::done) {
            out.append(buffer.data(), result.bytes);
            return StreamState::done;
        }
        const StreamState state = await(result.state, patience);
        if (state != StreamState::done) return state;
        drained_ = false;
    }
}

StreamState Stream::write_all(std::string_view bytes, const Patience& patience) {
    drained_ = transport_->is_duplex();
    while (!bytes.empty()) {
        const IoResult result = transport_->write_some(bytes);
        bytes.remove_prefix(result.bytes);
        if (result.state == IoState::done) continue;
        if (result.state == IoState::failed) return StreamState::failed;
        const short wanted = result.state == IoState::want_read ? POLLIN : POLLOUT;
        short seen = 0;
        // A server that refuses a body answers before it has read it.
        const short events = static_cast<short>(wanted | POLLIN);
        const auto outcome = patience.wait(lookout_, transport_->descriptor(), events, &seen);
        if (outcome == Patience::Outcome::timed_out) return StreamState::timed_out;
        if (outcome == Patience::Outcome::interrupted) return StreamState::interrupted;
        if ((seen & wanted) == 0) return StreamState::answered;
    }
    return StreamState::done;
}

bool Stream::is_quiet() const {
    pollfd waiting = {.fd = transport_->descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) == 0;
}

}  // namespace palimpsest
