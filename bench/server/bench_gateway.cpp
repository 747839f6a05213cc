// bench_gateway: the other ends of the gateway's benchmark, fast enough not to be what is measured:
// a model's server, a bare relay, and clients. bench_gateway.py starts them and holds the numbers
// against the goals. Each is one thread around epoll.
//
//   bench_gateway upstream                        prints its port; ends with its input
//   bench_gateway relay PORT                      the same; bytes to and from PORT, as they come
//   bench_gateway ask ROUNDS CLIENTS MS ARM...    median of a request, microseconds, a line per
//   arm;
//                                                 the model thinks for so many milliseconds
//   bench_gateway delays ROUNDS ARM...            median of an event's delay, the same
//   bench_gateway hold STREAMS ARM                "open" when all are, then how many events came
//
// ARM is PORT or PORT,HEADER; "#" in the header stands for something that is new every ten requests
// of a client, so that no conversation grows long. Arms take turns.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/listen.h"

namespace palimpsest {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void give_up(const std::string& what) {
    std::perror(what.c_str());
    std::exit(1);
}

std::int64_t now_ns() {
    return Clock::now().time_since_epoch().count();
}

int number(std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

int number_behind(std::string_view text, std::string_view word, int otherwise) {
    const std::size_t at = text.find(word);
    return at == text.npos ? otherwise : number(text.substr(at + word.size()));
}

void send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
        if (sent <= 0 && errno != EAGAIN) return;  // It has gone.
    }
}

// What has come on a socket, at the end of `in`. False: it has been closed.
bool receive(int fd, std::string& in) {
    std::array<char, 64 * 1024> buffer;
    while (true) {
        const ssize_t came = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (came == 0) return false;
        if (came < 0) return errno == EAGAIN;
        in.append(buffer.data(), static_cast<std::size_t>(came));
    }
}

int connect_to(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        give_up("connect");
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

// Which of many descriptors can be read.
class Ready {
public:
    void add(int fd) const {
        epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) give_up("epoll");
    }
    // Until `due` at the latest.
    std::vector<int> wait(std::int64_t due = INT64_MAX) const {
        std::array<epoll_event, 256> events;
        const std::int64_t left = std::max<std::int64_t>(due - now_ns(), 0);
        const timespec time = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
        const int count = ::epoll_pwait2(epoll_, events.data(), events.size(),
                                         due == INT64_MAX ? nullptr : &time, nullptr);
        std::vector<int> ready;
        for (int i = 0; i < count; ++i)
            ready.push_back(events[static_cast<std::size_t>(i)].data.fd);
        return ready;
    }

private:
    const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
};

// Prints its port and calls back for each client and for each descriptor that can be read.
class Listening {
public:
    Listening() {
        const auto listener = listen_on("127.0.0.1", 0);
        if (!listener) give_up("listen");
        fd_ = listener->descriptor;
        std::printf("%d\n", listener->port);
        std::fflush(stdout);
        ready.add(fd_);
        ready.add(STDIN_FILENO);
    }
    template <class OnClient, class OnBytes>
    bool turn(std::int64_t due, const OnClient& on_client, const OnBytes& on_bytes) {
        for (const int fd : ready.wait(due)) {
            if (fd == STDIN_FILENO) return false;
            if (fd != fd_) {
                on_bytes(fd);
                continue;
            }
            for (Accepted client = accept_from(fd_); client.state == AcceptState::accepted;
                 client = accept_from(fd_)) {
                on_client(client.descriptor);
                ready.add(client.descriptor);
            }
        }
        return true;
    }
    Ready ready;

private:
    int fd_ = -1;
};

// ---- the model's server -------------------------------------------------------------------------

struct OpenStream {
    int left = 0;
    std::int64_t every_ns = 0, next = 0;
};

class ModelServer {
public:
    void run() {
        const auto on_client = [&](int fd) { in_[fd] = {}; };
        const auto on_bytes = [&](int fd) { read(fd); };
        while (listening_.turn(send_due(), on_client, on_bytes)) {
        }
    }

private:
    void read(int fd) {
        std::string& in = in_[fd];
        if (!receive(fd, in)) {
            streams_.erase(fd);
            plain_due_.erase(fd);
            in_.erase(fd);
            ::close(fd);
            return;
        }
        const std::size_t head = in.find("\r\n\r\n");
        if (head == in.npos) return;
        const int length =
            number_behind(in, "ontent-Length: ", number_behind(in, "ontent-length: ", 0));
        if (in.size() < head + 4 + static_cast<std::size_t>(length)) return;
        answer(fd, in);
        in.clear();
    }

    void answer(int fd, const std::string& request) {
        if (!request.contains("\"stream\":true")) {
            const std::int64_t after = number_behind(request, "after=", 0) * 1'000'000LL;
            if (after == 0) return send_all(fd, plain_);
            plain_due_[fd] = now_ns() + after;
            return;
        }
        send_all(fd,
                 "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n");
        const std::int64_t every = number_behind(request, "every=", 2) * 1'000'000LL;
        streams_[fd] = {number_behind(request, "count=", 100), every, now_ns() + every};
    }

    // When something is due next.
    std::int64_t send_due() {
        std::int64_t next = INT64_MAX;
        std::erase_if(plain_due_, [&](const auto& one) {
            const bool due = now_ns() >= one.second;
            if (due)
                send_all(one.first, plain_);
            else
                next = std::min(next, one.second);
            return due;
        });
        for (auto at = streams_.begin(); at != streams_.end();) {
            OpenStream& stream = at->second;
            if (now_ns() >= stream.next) {
                send_event(at->first, --stream.left == 0);
                stream.next += stream.every_ns;
            }
            if (stream.left > 0) next = std::min(next, stream.next);
            at = stream.left == 0 ? streams_.erase(at) : std::next(at);
        }
        return next;
    }

    static void send_event(int fd, bool last) {
        std::string event = R"(data: {"id":"c","object":"chat.completion.chunk","created":1,)"
                            R"("model":"m","choices":[{"index":0,"delta":{"content":"@)" +
                            std::to_string(now_ns()) +
                            R"(@"},"finish_reason":null}]})"
                            "\n\n";
        if (last)
            event += R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
                     "\n\ndata: [DONE]\n\n";
        std::array<char, 32> size;
        std::snprintf(size.data(), size.size(), "%zx\r\n", event.size());
        send_all(fd, size.data() + event + (last ? "\r\n0\r\n\r\n" : "\r\n"));
    }

    static std::string make_plain() {
        std::string words;
        for (int i = 0; i < 50; ++i) words += "word ";
        const std::string body =
            R"({"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,)"
            R"("message":{"role":"assistant","content":")" +
            words +
            R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":50,)"
            R"("total_tokens":59}})";
        return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body;
    }

    Listening listening_;
    std::map<int, std::string> in_;
    std::map<int, OpenStream> streams_;
    std::map<int, std::int64_t> plain_due_;
    const std::string plain_ = make_plain();
};

void run_relay(int port) {
    Listening listening;
    std::map<int, int> other;
    const auto on_client = [&](int fd) {
        const int upstream = connect_to(port);
        other[fd] = upstream;
        other[upstream] = fd;
        listening.ready.add(upstream);
    };
    const auto on_bytes = [&](int fd) {
        const auto found = other.find(fd);
        if (found == other.end()) return;
        const int to = found->second;
        std::string bytes;
        const bool open = receive(fd, bytes);
        send_all(to, bytes);
        if (open) return;
        for (const int one : {fd, to}) {
            other.erase(one);
            ::close(one);
        }
    };
    while (listening.turn(INT64_MAX, on_client, on_bytes)) {
    }
}

// ---- clients ------------------------------------------------------------------------------------

struct Arm {
    int port = 0;
    std::string header = {};
};

Arm read_arm(std::string_view text) {
    const std::size_t comma = text.find(',');
    return {number(text.substr(0, comma)),
            comma == text.npos ? "" : std::string(text.substr(comma + 1)) + "\r\n"};
}

// One kept connection. An answer is whole when its length, or its last chunk, is there.
class Client {
public:
    explicit Client(const Arm& arm) : fd_(connect_to(arm.port)), header_(arm.header) {}
    ~Client() { ::close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    int fd() const { return fd_; }
    void ask(std::string_view more) {
        const std::string body = R"({"model":"m",)" + std::string(more) +
                                 R"("messages":[{"role":"user","content":"question )" +
                                 std::to_string(++asked_) + R"("}]})";
        const std::string header = header_now();
        in_.clear();
        begun_ = now_ns();
        send_all(fd_, "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header +
                          "Content-Type: application/json\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    // What has come; true: the answer is whole.
    bool take() {
        if (!receive(fd_, in_)) give_up("an answer was cut: " + in_);
        const std::size_t head = in_.find("\r\n\r\n");
        if (head == in_.npos) return false;
        if (!in_.starts_with("HTTP/1.1 200")) give_up("refused: " + in_);
        const int length =
            number_behind(in_, "ontent-Length: ", number_behind(in_, "ontent-length: ", -1));
        if (length < 0) return in_.ends_with("\r\n0\r\n\r\n");
        return in_.size() >= head + 4 + static_cast<std::size_t>(length);
    }
    std::int64_t took_ns() const { return now_ns() - begun_; }
    const std::string& in() const { return in_; }

private:
    std::string header_now() {
        if (asked_ % 10 == 1) marker_ = std::to_string(now_ns()) + "-" + std::to_string(fd_);
        std::string header = header_;
        if (const std::size_t at = header.find('#'); at != header.npos)
            header.replace(at, 1, marker_);
        return header;
    }

    const int fd_;
    const std::string header_;
    std::string in_, marker_;
    std::int64_t begun_ = 0;
    int asked_ = 0;
};

using Clients = std::vector<std::unique_ptr<Client>>;

Clients make_clients(const Arm& arm, int count) {
    Clients clients;
    for (int i = 0; i < count; ++i) clients.push_back(std::make_unique<Client>(arm));
    return clients;
}

// All clients of an arm at once, each so many times in a row; `took` gets every request's time.
void ask_at_once(const Clients& clients, int times, std::string_view more,
                 std::vector<std::int64_t>& took) {
    const Ready ready;
    std::map<int, std::pair<Client*, int>> left;
    for (const auto& client : clients) {
        ready.add(client->fd());
        left[client->fd()] = {client.get(), times};
        client->ask(more);
    }
    while (!left.empty())
        for (const int fd : ready.wait()) {
            const auto found = left.find(fd);
            if (found == left.end() || !found->second.first->take()) continue;
            auto& [client, still] = found->second;
            took.push_back(client->took_ns());
            if (--still > 0)
                client->ask(more);
            else
                left.erase(found);
        }
}

// Of the events that are new in `in`: from when they were made to now.
void note_delays(std::string_view in, std::size_t& seen, std::vector<std::int64_t>& delays) {
    while (true) {
        const std::size_t at = in.find('@', seen);
        const std::size_t end = at == in.npos ? at : in.find('@', at + 1);
        if (end == in.npos) return;
        std::int64_t made = 0;
        std::from_chars(in.data() + at + 1, in.data() + end, made);
        delays.push_back(now_ns() - made);
        seen = end + 1;
    }
}

void stream_once(Client& client, std::vector<std::int64_t>& delays) {
    const Ready ready;
    ready.add(client.fd());
    client.ask(R"("stream":true,)");
    std::size_t seen = 0;
    for (bool whole = false; !whole;) {
        ready.wait();
        whole = client.take();
        note_delays(client.in(), seen, delays);
    }
}

void print_median(std::vector<std::int64_t> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    std::printf("%.1f\n", static_cast<double>(*middle) / 1e3);
}

void ask_arms(int rounds, int count, int thinks_ms, const std::vector<Arm>& arms) {
    const std::string more = "\"user\":\"after=" + std::to_string(thinks_ms) + "\",";
    std::vector<Clients> clients;
    for (const Arm& arm : arms) clients.push_back(make_clients(arm, count));
    std::vector<std::vector<std::int64_t>> took(arms.size());
    const int times = count == 1 ? 1 : 5;
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < arms.size(); ++i) ask_at_once(clients[i], times, more, took[i]);
    for (auto& times_of : took) print_median(std::move(times_of));
}

void stream_arms(int rounds, const std::vector<Arm>& arms) {
    std::vector<Clients> clients;
    for (const Arm& arm : arms) clients.push_back(make_clients(arm, 1));
    std::vector<std::vector<std::int64_t>> delays(arms.size());
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < arms.size(); ++i) stream_once(*clients[i].front(), delays[i]);
    for (auto& of_arm : delays) print_median(std::move(of_arm));
}

void hold_streams(int count, const Arm& arm) {
    const Clients clients = make_clients(arm, count);
    const Ready ready;
    std::map<int, Client*> open;
    for (const auto& client : clients) {
        ready.add(client->fd());
        open[client->fd()] = client.get();
        client->ask(R"("user":"every=2000 count=8","stream":true,)");
    }
    std::map<int, bool> heard;
    bool told = false;
    long events = 0;
    while (!open.empty())
        for (const int fd : ready.wait()) {
            if (!open.contains(fd)) continue;
            Client& client = *open[fd];
            const bool whole = client.take();
            heard[fd] |= client.in().contains('@');
            if (whole) {
                events += std::ranges::count(client.in(), '@') / 2;
                open.erase(fd);
            }
            if (told || std::cmp_less(heard.size(), count) ||
                !std::ranges::all_of(heard, [](const auto& one) { return one.second; }))
                continue;
            told = true;
            std::puts("open");
            std::fflush(stdout);
        }
    std::printf("%ld\n", events);
}

int run(const std::vector<std::string_view>& words) {
    const std::string_view mode = words.empty() ? "" : words[0];
    const auto arms_from = [&](std::size_t first) {
        std::vector<Arm> arms;
        for (std::size_t i = first; i < words.size(); ++i) arms.push_back(read_arm(words[i]));
        return arms;
    };
    if (mode == "upstream")
        ModelServer().run();
    else if (mode == "relay" && words.size() == 2)
        run_relay(number(words[1]));
    else if (mode == "ask" && words.size() > 4)
        ask_arms(number(words[1]), number(words[2]), number(words[3]), arms_from(4));
    else if (mode == "delays" && words.size() > 2)
        stream_arms(number(words[1]), arms_from(2));
    else if (mode == "hold" && words.size() == 3)
        hold_streams(number(words[1]), read_arm(words[2]));
    else
        return 2;
    return 0;
}

}  // namespace
}  // namespace palimpsest

int main(int count, char** words) {
    return palimpsest::run({words + 1, words + count});
}
