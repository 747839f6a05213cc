// stream: a connected byte stream whose calls block, with a deadline and a way to interrupt them
// from another thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "net/proxy.h"
#include "net/transport.h"
#include "net/url.h"
#include "palimpsest/error.h"

namespace palimpsest {

// How long a call may block: until a time, or until somebody asks it to stop.
class Patience {
public:
    // 0 ms: without limit.
    Patience(int timeout_ms, std::stop_token stop);
    ~Patience();
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

    // From now on, but never later than the whole was given.
    void restart(int timeout_ms);

    enum class Outcome : std::uint8_t { ready, timed_out, interrupted };
    // Waits for poll events of a descriptor; `seen` gets those that came.
    Outcome wait(int descriptor, short events, short* seen = nullptr) const;

private:
    struct Wake {
        int descriptor;
        void operator()() const;
    };
    using Time = std::chrono::steady_clock::time_point;
    static Time after(int timeout_ms);

    Time whole_;
    Time until_;
    int interrupt_ = -1;
    std::optional<std::stop_callback<Wake>> callback_;
};

enum class StreamState : std::uint8_t { done, ended, timed_out, interrupted, failed, answered };

class Stream {
public:
    // Resolves, connects, and for https shakes hands and verifies. `unavailable` if that fails.
    // `ca_file`: whom to trust; empty: the system's authorities. Through a proxy, https goes in a
    // tunnel, so the proxy sees no word; http is left to the caller, who names the whole URL.
    static Result<Stream> connect(const Url& url, const std::string& ca_file,
                                  const std::optional<Proxy>& proxy, const Patience& patience);

    // Appends what comes next.
    StreamState read_some(std::string& out, const Patience& patience);
    // `answered`: the peer has sent something before all was written, so go and read it.
    StreamState write_all(std::string_view bytes, const Patience& patience);
    // True if nothing has come since the last answer, not even the end.
    bool is_quiet() const;
    std::string failure() const { return transport_->failure(); }

private:
    explicit Stream(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}
    StreamState await(IoState state, const Patience& patience);
    Result<void> shake_hands(const Url& url, const Patience& patience);
    Result<void> open_tunnel(const Url& url, const Proxy& proxy, const Patience& patience);

    std::unique_ptr<Transport> transport_;
};

}  // namespace palimpsest
