// running_turns: which requests of stateful turns are being answered now, so that a repeat of one
// waits for it instead of asking the model a second time.
#pragma once
#include <condition_variable>
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
            : turns_(std::exchange(other.turns_, nullptr)), name_(std::move(other.name_)) {}
        Seat& operator=(Seat&& other) noexcept {
            std::swap(turns_, other.turns_);
            std::swap(name_, other.name_);
            return *this;
        }
        ~Seat() {
            if (turns_) turns_->leave(name_);
        }
        bool held() const { return turns_ != nullptr; }

    private:
        RunningTurns* turns_ = nullptr;
        std::string name_;
    };

    struct Entered {
        Seat seat = {};
        bool waited = false;  // for another one of the same name
    };
    // Waits while one of the same name is held. Without a seat when `stop` came first.
    Entered enter(const std::string& name, const std::stop_token& stop);

private:
    void leave(const std::string& name);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::set<std::string> names_;
};

}  // namespace palimpsest
