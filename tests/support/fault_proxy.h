// A small proxy on loopback that stands between a client and a server and does what networks do:
// cuts a connection after so many bytes, delays, or stops in the middle of a reply.
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

namespace palimpsest::testing_support {

class FaultProxy {
public:
    explicit FaultProxy(std::uint16_t server_port);
    ~FaultProxy();
    FaultProxy(const FaultProxy&) = delete;
    FaultProxy& operator=(const FaultProxy&) = delete;

    std::uint16_t port() const { return port_; }

    static constexpr std::int64_t never = INT64_MAX;
    // From now on, over all connections together, and once: after so many bytes of requests or of
    // replies the connection that carries them is cut.
    void cut_requests_after(std::int64_t bytes) { requests_left_ = bytes; }
    void cut_replies_after(std::int64_t bytes) { replies_left_ = bytes; }
    // Replies wait this long; 0: not at all.
    void delay_replies(int ms) { delay_ms_ = ms; }
    void heal() {
        requests_left_ = replies_left_ = never;
        delay_ms_ = 0;
    }

private:
    void accept_all();
    void carry(int client, int server);
    bool move(int from, int to, std::atomic<std::int64_t>& left, int delay_ms);

    int listener_ = -1;
    std::uint16_t port_ = 0, server_port_;
    std::atomic<bool> stopping_ = false;
    std::atomic<std::int64_t> requests_left_ = never, replies_left_ = never;
    std::atomic<int> delay_ms_ = 0;
    std::mutex mutex_;
    std::list<std::thread> carriers_;
    std::thread acceptor_;
};

}  // namespace palimpsest::testing_support
