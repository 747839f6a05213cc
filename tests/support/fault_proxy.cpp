#include "support/fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace palimpsest::testing_support {
namespace {

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
}

bool send_all(int fd, const char* bytes, std::size_t size) {
    while (size > 0) {
        const ssize_t sent = ::send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        size -= static_cast<std::size_t>(sent);
    }
    return true;
}

}  // namespace

FaultProxy::FaultProxy(std::uint16_t server_port) : server_port_(server_port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    ::listen(listener_, 64);
    acceptor_ = std::thread([this] { accept_all(); });
}

FaultProxy::~FaultProxy() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& carrier : carriers_) carrier.join();
    ::close(listener_);
}

void FaultProxy::accept_all() {
    while (!stopping_) {
        pollfd waiting = {.fd = listener_, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, 20) != 1) continue;
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        const int server = connect_to(server_port_);
        if (client < 0 || server < 0) {
            ::close(client);
            ::close(server);
            continue;
        }
        const int on = 1;
        ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        carriers_.emplace_back([this, client, server] { carry(client, server); });
    }
}

// False: that direction has ended, or the fault has struck.
bool FaultProxy::move(int from, int to, std::atomic<std::int64_t>& left, int delay_ms) {
    std::array<char, 16 * 1024> buffer;
    const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    const std::int64_t allowed = left.load();
    const auto some = static_cast<std::size_t>(std::min<std::int64_t>(got, allowed));
    if (!send_all(to, buffer.data(), some)) return false;
    if (allowed == never) return true;
    left = allowed > got ? allowed - got : never;  // it strikes once
    return allowed > got;
}

void FaultProxy::carry(int client, int server) {
    bool open = true;
    while (open && !stopping_) {
        std::array<pollfd, 2> waiting = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                         pollfd{.fd = server, .events = POLLIN, .revents = 0}};
        if (::poll(waiting.data(), waiting.size(), 20) <= 0) continue;
        if (waiting[0].revents != 0) open = move(client, server, requests_left_, 0);
        if (open && waiting[1].revents != 0)
            open = move(server, client, replies_left_, delay_ms_.load());
    }
    ::close(client);
    ::close(server);
}

}  // namespace palimpsest::testing_support
