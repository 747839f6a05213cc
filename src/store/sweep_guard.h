// Whether now is a time to remove what has expired. A clock that was set wrong for a while must not
// cost anybody a conversation: after a jump nothing is swept until the new time has held for an
// hour of the clock that nobody sets. What looks expired is invisible meanwhile, and back when the
// clock is.
#pragma once
#include <optional>
#include <string>

#include "palimpsest/store.h"

namespace palimpsest {

// Since the machine was started, sleep included.
Duration running_time();

class SweepGuard {
public:
    // Of a store that begins with us: the first time is believed.
    SweepGuard() = default;
    // Of one that was there before: the first time is believed when it is not far from the last by
    // which it was swept. None: nobody knows that one.
    explicit SweepGuard(std::optional<Time> last) : last_(last), is_older_(true) {}

    // `wall` is the time of day, `steady` a clock that only runs (also while the machine sleeps).
    bool may_sweep(Time wall, Duration steady) {
        const Duration offset = wall.time_since_epoch() - steady;
        const bool jumped =
            offset_ ? offset > *offset_ + tolerance || offset < *offset_ - tolerance
                    : is_older_ && (!last_ || wall > *last_ + away || wall < *last_ - tolerance);
        if (jumped) held_until_ = steady + patience;
        offset_ = offset;
        return !held_until_ || steady >= *held_until_;
    }

private:
    static constexpr Duration tolerance = std::chrono::minutes(1), patience = std::chrono::hours(1);
    // So long a server may be stopped without a wait when it comes back.
    static constexpr Duration away = std::chrono::hours(2);
    std::optional<Time> last_ = {};
    bool is_older_ = false;
    std::optional<Duration> offset_ = {}, held_until_ = {};
};

// Records of these sweeps, which say nothing about another store.
constexpr std::string_view sweep_space = "pal.sweeps";

// The sweeps of a store that outlives its servers: it keeps the time of the last one itself, noted
// once an hour in a record of the tenant.
class GuardedSweeps {
public:
    GuardedSweeps(Store& store, std::string tenant) : store_(store), tenant_(std::move(tenant)) {}
    // At most `limit` conversations; gives how many went, or nothing when now is not the time.
    Result<std::optional<std::size_t>> run(Time wall, Duration steady, std::size_t limit);

private:
    RecordKey key() const { return {tenant_, std::string(sweep_space), "last"}; }
    Result<std::optional<Time>> last() const;
    void note(Time wall);

    Store& store_;
    std::string tenant_;
    std::optional<SweepGuard> guard_ = {};
    std::optional<Time> noted_ = {};
};

}  // namespace palimpsest
