// Whether now is a time to remove what has expired. A clock that was set wrong for a while must not
// cost anybody a conversation: after a jump nothing is swept until the new time has held for an
// hour of the clock that nobody sets. What looks expired is invisible meanwhile, and back when the
// clock is.
#pragma once
#include <optional>

#include "palimpsest/types.h"

namespace palimpsest {

// Since the machine was started, sleep included.
Duration running_time();

class SweepGuard {
public:
    // `wall` is the time of day, `steady` a clock that only runs (also while the machine sleeps).
    bool may_sweep(Time wall, Duration steady) {
        const Duration offset = wall.time_since_epoch() - steady;
        const bool jumped =
            offset_ && (offset > *offset_ + tolerance || offset < *offset_ - tolerance);
        if (jumped) held_until_ = steady + patience;
        offset_ = offset;
        return !held_until_ || steady >= *held_until_;
    }

private:
    static constexpr Duration tolerance = std::chrono::minutes(1), patience = std::chrono::hours(1);
    std::optional<Duration> offset_ = {}, held_until_ = {};
};

}  // namespace palimpsest
