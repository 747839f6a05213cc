// upstream: a model's server on loopback that plays a script, faults included. The only double of
// the tests.
//
// Each request is answered by the next reply of the script, in the order in which requests come;
// when the script is over, by 500. Every connection has its own thread; a connection is kept for
// the next request unless the reply says otherwise.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "net/listen.h"
#include "net/message.h"

namespace palimpsest {

struct UpstreamReply {
    int status = 200;
    std::string type = "application/json";
    std::string body = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
    int delay_ms = 0;                        // before the first byte
    std::size_t piece_bytes = 0;             // sends so many bytes at a time; 0: all at once
    int piece_delay_ms = 0;                  // between pieces
    std::optional<std::size_t> cut_at = {};  // closes after so many bytes of the body
    bool reset = false;                      // the cut is a reset, not an orderly end
    bool chunked = false;                    // without a length: the end is the last chunk
    std::optional<std::string> as_is = {};   // these bytes instead of an HTTP response
    // Before the piece with this byte of the body (0: before the head) waits for let_go().
    std::optional<std::size_t> hold_at = {};
};

inline UpstreamReply event_stream_reply(std::string events) {
    UpstreamReply reply;
    reply.type = "text/event-stream";
    reply.body = std::move(events);
    reply.chunked = true;
    return reply;
}

class Upstream {
public:
    explicit Upstream(std::vector<UpstreamReply> script = {})
        : script_(script.begin(), script.end()) {
        const auto listener = listen_on("127.0.0.1", 0);
        EXPECT_TRUE(listener);
        fd_ = listener->descriptor;
        port = listener->port;
        acceptor_ = std::thread([this] { accept_all(); });
    }
    ~Upstream() {
        ending_ = true;
        acceptor_.join();
        for (std::thread& thread : connections_) thread.join();
        ::close(fd_);
    }
    Upstream(const Upstream&) = delete;
    Upstream& operator=(const Upstream&) = delete;

    void add(UpstreamReply reply) {
        const std::scoped_lock lock(mutex_);
        script_.push_back(std::move(reply));
    }
    // In place of what is left of the script.
    void play(const std::vector<UpstreamReply>& script) {
        const std::scoped_lock lock(mutex_);
        script_.assign(script.begin(), script.end());
        requests_.clear();
    }
    std::vector<HttpRequest> requests() const {
        const std::scoped_lock lock(mutex_);
        return requests_;
    }
    int connections() const { return accepted_; }
    // Replies that are held go on, now and from now on.
    void let_go() { let_go_ = true; }
    std::string url(std::string_view path = "/v1") const {
        return "http://127.0.0.1:" + std::to_string(port) + std::string(path);
    }

    std::uint16_t port = 0;

private:
    bool wait_for(int fd) const {
        while (!ending_) {
            pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, 20) > 0) return true;
        }
        return false;
    }

    void accept_all() {
        while (wait_for(fd_)) {
            const Accepted client = accept_from(fd_);
            if (client.descriptor < 0) continue;
            ++accepted_;
            connections_.emplace_back([this, fd = client.descriptor] {
                while (serve_one(fd)) {
                }
                ::close(fd);
            });
        }
    }

    // The bytes up to and with the end of the body; empty when the client has gone.
    std::optional<HttpRequest> read_request(int fd) const {
        std::string bytes;
        std::optional<std::size_t> whole;
        while (!whole || bytes.size() < *whole) {
            if (!wait_for(fd)) return std::nullopt;
            char buffer[16 * 1024];
            const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
            if (n <= 0) return std::nullopt;
            bytes.append(buffer, static_cast<std::size_t>(n));
            const std::size_t end = bytes.find("\r\n\r\n");
            if (!whole && end != std::string::npos) whole = end + 4 + body_bytes(bytes);
        }
        return parse(bytes);
    }

    static std::size_t body_bytes(const std::string& bytes) {
        const std::size_t at = bytes.find("Content-Length: ");
        return at == std::string::npos ? 0 : std::stoul(bytes.substr(at + 16));
    }

    static HttpRequest parse(const std::string& bytes) {
        HttpRequest request;
        const std::size_t end = bytes.find("\r\n\r\n");
        request.body = bytes.substr(end + 4);
        std::size_t at = bytes.find("\r\n");
        const std::string line = bytes.substr(0, at);
        request.method = line.substr(0, line.find(' '));
        request.target = line.substr(request.method.size() + 1);
        request.target.resize(request.target.find(' '));
        while (at < end) {
            const std::size_t next = bytes.find("\r\n", at + 2);
            const std::string field = bytes.substr(at + 2, next - at - 2);
            const std::size_t colon = field.find(": ");
            if (colon != std::string::npos)
                request.headers.add(field.substr(0, colon), field.substr(colon + 2));
            at = next;
        }
        return request;
    }

    UpstreamReply next_reply(HttpRequest request) {
        const std::scoped_lock lock(mutex_);
        requests_.push_back(std::move(request));
        if (script_.empty()) return {.status = 500, .body = R"({"error":{"message":"no script"}})"};
        UpstreamReply reply = std::move(script_.front());
        script_.pop_front();
        return reply;
    }

    static std::string head_of(const UpstreamReply& reply) {
        std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " Scripted\r\n";
        head += "Content-Type: " + reply.type + "\r\n";
        for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
        head += reply.chunked ? "Transfer-Encoding: chunked\r\n"
                              : "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
        return head + "\r\n";
    }

    bool send_all(int fd, std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) {
                pollfd waiting = {.fd = fd, .events = POLLOUT, .revents = 0};
                if (ending_ || (errno != EAGAIN && errno != EINTR)) return false;
                ::poll(&waiting, 1, 20);
                continue;
            }
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }

    bool send_body(int fd, const UpstreamReply& reply) const {
        std::string_view body = reply.body;
        if (reply.cut_at) body = body.substr(0, *reply.cut_at);
        const std::size_t piece = reply.piece_bytes ? reply.piece_bytes : body.size();
        const std::size_t held = reply.hold_at.value_or(0);
        for (std::size_t at = 0; at < body.size(); at += piece) {
            if (at > 0) pause(reply.piece_delay_ms);
            if (held > 0 && at >= held) hold();
            std::string part(body.substr(at, piece));
            if (reply.chunked) part = hex(part.size()) + "\r\n" + part + "\r\n";
            if (!send_all(fd, part)) return false;
        }
        return reply.cut_at || !reply.chunked || send_all(fd, "0\r\n\r\n");
    }

    static std::string hex(std::size_t number) {
        char text[20];
        std::snprintf(text, sizeof text, "%zx", number);
        return text;
    }

    void pause(int ms) const {
        for (int waited = 0; waited < ms && !ending_; waited += 5)
            std::this_thread::sleep_for(std::chrono::milliseconds(std::min(5, ms - waited)));
    }

    void hold() const {
        while (!let_go_ && !ending_) pause(5);
    }

    // False: the connection is over.
    bool serve_one(int fd) {
        std::optional<HttpRequest> request = read_request(fd);
        if (!request) return false;
        const UpstreamReply reply = next_reply(*std::move(request));
        pause(reply.delay_ms);
        if (reply.hold_at == 0u) hold();
        if (reply.reset) {
            const linger hard = {.l_onoff = 1, .l_linger = 0};
            ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        }
        if (reply.as_is) {
            send_all(fd, *reply.as_is);
            return false;
        }
        return send_all(fd, head_of(reply)) && send_body(fd, reply) && !reply.cut_at &&
               !reply.reset;
    }

    int fd_ = -1;
    std::atomic<bool> ending_ = false;
    std::atomic<bool> let_go_ = false;
    std::atomic<int> accepted_ = 0;
    mutable std::mutex mutex_;
    std::deque<UpstreamReply> script_;
    std::vector<HttpRequest> requests_;
    std::vector<std::thread> connections_;
    std::thread acceptor_;
};

}  // namespace palimpsest
