// stream: a connected byte stream whose calls wait, with a deadline and a way to interrupt them
// from another thread. Who waits in an errand (errand.h) holds no thread meanwhile.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "net/errand.h"
#include "net/lookout.h"
#include "net/proxy.h"
#include "net/transport.h"
#include "net/url.h"
#include "palimpsest/error.h"

namespace palimpsest {

// How long a call may wait: until a time, or until somebody asks it to stop.
class Patience {
public:
    // 0 ms: without limit. `errand`: who waits, parked on its loop; null: this thread does.
    Patience(int timeout_ms, std::stop_token stop, Errand* errand = nullptr);
    ~Patience();
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

    // From now on, but never later than the whole was given.
    void restart(int timeout_ms);

    enum class Outcome : std::uint8_t { ready, timed_out, interrupted };
    // Waits, with this thread, for poll events of a descriptor; `seen` gets those that came.
    Outcome wait(int descriptor, short events, short* seen = nullptr) const;
    // The same for an errand too (-1: for nothing). It is on its loop's thread afterwards, with the
    // lookout, which must not outlive the descriptor.
    Outcome wait(Lookout& lookout, int descriptor, short events, short* seen = nullptr) const;
    Errand* errand() const { return errand_; }
    // What follows may block.
    void may_block() const;
    // See Errand::give_way; on a worker, and in no errand, there is nobody to give way to.
    void give_way() const;

private:
    struct Wake {
        int descriptor;  // -1: an errand's
        Errand::Bell bell;
        Loop* loop;
        void operator()() const;
    };
    using Time = std::chrono::steady_clock::time_point;
    static Time after(int timeout_ms);
    Outcome park(Lookout& lookout, int descriptor, short events, short* seen) const;

    Errand* const errand_;
    const std::stop_token stop_;
    Time whole_;
    Time until_;
    int interrupt_ = -1;
    std::optional<std::stop_callback<Wake>> callback_;
};

// Waits; false when it was stopped before. An errand is at home afterwards.
bool pause_ms(int duration, const std::stop_token& stop);

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
    // The errand that waited has done so. The loop that it lives on goes on knowing the descriptor.
    void rest(const Errand& errand) {
        errand.home() == Errand::Place::network ? lookout_.rest() : lookout_.close();
    }

private:
    explicit Stream(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}
    StreamState await(IoState state, const Patience& patience);
    Result<void> shake_hands(const Url& url, const Patience& patience);
    Result<void> open_tunnel(const Url& url, const Proxy& proxy, const Patience& patience);

    std::unique_ptr<Transport> transport_;
    Lookout lookout_;       // goes first
    bool drained_ = false;  // nothing was left when it was last read, nor is it kept in between
};

}  // namespace palimpsest
