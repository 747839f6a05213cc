#include "server/running_turns.h"

namespace palimpsest {
namespace {

constexpr std::chrono::minutes repeated_within{15};
constexpr std::size_t undelivered_max = 10'000;

}  // namespace

RunningTurns::Entered RunningTurns::enter(const std::string& name, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    Entered entered{.repeats = names_.contains(name)};
    if (!changed_.wait(lock, stop, [&] { return !names_.contains(name); })) return entered;
    names_.insert(name);
    entered.seat = Seat(this, name);
    entered.repeats |= take_undelivered(name);
    return entered;
}

bool RunningTurns::take_undelivered(const std::string& name) {
    const auto found = undelivered_.find(name);
    if (found == undelivered_.end()) return false;
    const bool lately = std::chrono::steady_clock::now() - found->second < repeated_within;
    undelivered_.erase(found);
    return lately;
}

void RunningTurns::leave(const std::string& name, bool undelivered) {
    {
        const std::scoped_lock lock(mutex_);
        names_.erase(name);
        const Instant now = std::chrono::steady_clock::now();
        if (undelivered_.size() >= undelivered_max)
            std::erase_if(undelivered_,
                          [&](const auto& one) { return now - one.second > repeated_within; });
        if (undelivered && undelivered_.size() < undelivered_max) undelivered_[name] = now;
    }
    changed_.notify_all();
}

}  // namespace palimpsest
