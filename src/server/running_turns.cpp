#include "server/running_turns.h"

namespace palimpsest {

RunningTurns::Entered RunningTurns::enter(const std::string& name, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    Entered entered{.waited = names_.contains(name)};
    if (!changed_.wait(lock, stop, [&] { return !names_.contains(name); })) return entered;
    names_.insert(name);
    entered.seat = Seat(this, name);
    return entered;
}

void RunningTurns::leave(const std::string& name) {
    {
        const std::scoped_lock lock(mutex_);
        names_.erase(name);
    }
    changed_.notify_all();
}

}  // namespace palimpsest
