#include "net/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

namespace palimpsest {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string reason_of(int error) {
    if (error == EADDRINUSE)
        return "address in use: is another server running? choose another with --listen";
    if (error == EACCES) return "not permitted: ports below 1024 need privileges";
    if (error == EADDRNOTAVAIL) return "this machine has no such address";
    return std::generic_category().message(error);
}

std::uint16_t port_of(int descriptor) {
    sockaddr_storage address = {};
    socklen_t size = sizeof address;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// A descriptor, or -1 with errno set.
int bind_to(const addrinfo& address) {
    const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0)
        return fd;
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
}

}  // namespace

Result<Listener> listen_on(const std::string& host, std::uint16_t port) {
    const std::string where = "cannot listen on " + host + ":" + std::to_string(port) + ": ";
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (failed != 0)
        return fail(ErrorCode::invalid_request, where + ::gai_strerror(failed), "listen");
    const Addresses addresses(found, &::freeaddrinfo);
    const int fd = bind_to(*addresses);
    if (fd < 0) return fail(ErrorCode::unavailable, where + reason_of(errno));
    return Listener{.descriptor = fd, .port = port_of(fd)};
}

Accepted accept_from(int listener) {
    sockaddr_storage address = {};
    socklen_t size = sizeof address;
    auto* const peer = reinterpret_cast<sockaddr*>(&address);
    const int fd = ::accept4(listener, peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return {AcceptState::none_waiting};
        const bool out = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (!out) return {AcceptState::lost};
        // The kernel looks for a free descriptor first, whether somebody waits or not.
        pollfd waiting = {.fd = listener, .events = POLLIN, .revents = 0};
        const bool somebody = ::poll(&waiting, 1, 0) > 0;
        return {somebody ? AcceptState::out_of_files : AcceptState::none_waiting};
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::array<char, NI_MAXHOST> name = {};
    ::getnameinfo(peer, size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST);
    return {AcceptState::accepted, fd, name.data()};
}

}  // namespace palimpsest
