// running_turns: which requests of stateful turns are being answered now, so that a repeat of one
// waits for it instead of asking the model a second time; and whose answers found no client any
// more, so that a client that does not say that it repeats is understood all the same.
#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

namespace palimpsest {

class RunningTurns {
public:
    // Held while a turn runs; nothing to hold: an empty one.
    class Seat {
    public:
        Seat() = default;
        Seat(RunningTurns* turns, std::string name) : turns_(turns), name_(std::move(name)) {}
        Seat(Seat&& other) noexcept
            : turns_(std::exchange(other.turns_, nullptr)),
              name_(std::move(other.name_)),
              undelivered_(other.undelivered_) {}
        Seat& operator=(Seat&& other) noexcept {
            std::swap(turns_, other.turns_);
            std::swap(name_, other.name_);
            std::swap(undelivered_, other.undelivered_);
            return *this;
        }
        ~Seat() {
            if (turns_) turns_->leave(name_, undelivered_);
        }
        // The client has gone: the next request of this name is taken for its repeat.
        void mark_undelivered() { undelivered_ = true; }
        bool held() const { return turns_ != nullptr; }

    private:
        RunningTurns* turns_ = nullptr;
        std::string name_;
        bool undelivered_ = false;
    };

    struct Entered {
        Seat seat = {};
        bool repeats = false;  // one of the same name was waited for, or found no client
    };
    // Waits while one of the same name is held. Without a seat when `stop` came first.
    Entered enter(const std::string& name, const std::stop_token& stop);

private:
    using Instant = std::chrono::steady_clock::time_point;
    void leave(const std::string& name, bool undelivered);
    bool take_undelivered(const std::string& name);

    std::mutex mutex_;  // Guards all below.
    std::condition_variable_any changed_;
    std::set<std::string> names_;
    std::map<std::string, Instant> undelivered_;  // when they ended
};

}  // namespace palimpsest
