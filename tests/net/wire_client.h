// wire_client: a raw loopback socket for tests: sends any bytes, reads what comes, never retries.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace palimpsest {

class WireClient {
public:
    explicit WireClient(std::uint16_t port, int receive_buffer = 0) {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd_ < 0) throw std::runtime_error("no socket");
        if (receive_buffer > 0)
            ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            ::close(fd_);
            throw std::runtime_error("cannot connect");
        }
    }
    ~WireClient() { close(); }
    WireClient(const WireClient&) = delete;
    WireClient& operator=(const WireClient&) = delete;

    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    void end_writing() { ::shutdown(fd_, SHUT_WR); }

    // False if the server has closed the connection before all was taken.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }

    // Whatever arrives next; empty at the end of the stream or after the time-out.
    std::string receive_some(int timeout_ms = 20'000) {
        pollfd waiting = {.fd = fd_, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, timeout_ms) <= 0) {
            timed_out_ = true;
            return {};
        }
        std::string buffer(64 * 1024, '\0');
        const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), 0);
        ended_ = n <= 0;
        buffer.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return buffer;
    }

    // Everything until the server closes.
    std::string receive_all() {
        while (true) {
            const std::string piece = receive_some();
            if (piece.empty()) return std::exchange(read_, {});
            read_ += piece;
        }
    }

    // Up to and with `end`; what follows is kept for the next call.
    std::string receive_until(std::string_view end) {
        while (true) {
            const std::size_t at = read_.find(end);
            if (at != std::string::npos) {
                std::string result = read_.substr(0, at + end.size());
                read_.erase(0, at + end.size());
                return result;
            }
            const std::string piece = receive_some();
            if (piece.empty()) return std::exchange(read_, {});
            read_ += piece;
        }
    }
    std::string receive_bytes(std::size_t count) {
        while (read_.size() < count) {
            const std::string piece = receive_some();
            if (piece.empty()) break;
            read_ += piece;
        }
        std::string result = read_.substr(0, count);
        read_.erase(0, count);
        return result;
    }

    struct Answer {
        int status = 0;
        std::string head;
        std::string body;
    };
    // One response with a Content-Length.
    Answer receive_answer() {
        Answer answer;
        answer.head = receive_until("\r\n\r\n");
        if (answer.head.size() < 12) return answer;
        answer.status = std::stoi(answer.head.substr(9, 3));
        const std::size_t at = answer.head.find("Content-Length: ");
        if (at != std::string::npos)
            answer.body = receive_bytes(std::stoul(answer.head.substr(at + 16)));
        return answer;
    }

    bool ended() const { return ended_; }
    bool timed_out() const { return timed_out_; }
    // True if the server closes without sending anything more.
    bool closes() { return receive_all().empty() && ended_; }

private:
    int fd_ = -1;
    std::string read_;
    bool ended_ = false;
    bool timed_out_ = false;
};

}  // namespace palimpsest
