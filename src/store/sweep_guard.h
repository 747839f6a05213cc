// Whether now is a time to remove what has expired. A clock that was set wrong for a while must not
// cost anybody a conversation: after a jump nothing is swept until the new time has held for an
// hour of the clock that nobody sets. What looks expired is invisible meanwhile, and back when the
// clock is.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

// Since the machine was started, sleep included.
Duration running_time();

// A wait that was not over: how long the time had held, and what time it was then.
struct SweepWait {
    Time wall = {};
    Duration held = {};
};

class SweepGuard {
public:
    // Of a store that begins with us: the first time is believed.
    SweepGuard() = default;
    // Of one that was there before: the first time is believed when it is not far from the last by
    // which it was swept. None: nobody knows that one. A wait that a server left goes on here.
    explicit SweepGuard(std::optional<Time> last, std::optional<SweepWait> left = {})
        : last_(last), left_(left), is_older_(true) {}

    // `wall` is the time of day, `steady` a clock that only runs (also while the machine sleeps).
    bool may_sweep(Time wall, Duration steady) {
        const Duration offset = wall.time_since_epoch() - steady;
        if (!offset_) {
            if (left_)
                held_until_ =
                    steady + patience - (goes_on(left_->wall, wall) ? left_->held : Duration{});
            if (!left_ && is_older_ && (!last_ || !goes_on(*last_, wall)))
                held_until_ = steady + patience;
        } else if (offset > *offset_ + tolerance || offset < *offset_ - tolerance) {
            held_until_ = steady + patience;
        }
        offset_ = offset;
        return !held_until_ || steady >= *held_until_;
    }
    // Since when the time has held, while that is waited for.
    Duration held(Duration steady) const {
        return held_until_ ? steady - (*held_until_ - patience) : patience;
    }

private:
    static constexpr Duration tolerance = std::chrono::minutes(1), patience = std::chrono::hours(1);
    // So long a server may be stopped without a wait when it comes back.
    static constexpr Duration away = std::chrono::hours(2);
    static bool goes_on(Time before, Time wall) {
        return wall <= before + away && wall >= before - tolerance;
    }
    std::optional<Time> last_ = {};
    std::optional<SweepWait> left_ = {};
    bool is_older_ = false;
    std::optional<Duration> offset_ = {}, held_until_ = {};
};

// Records of these sweeps, which say nothing about another store.
constexpr std::string_view sweep_space = "pal.sweeps";

// The sweeps of a store that outlives its servers: it keeps the time of the last one itself, noted
// once an hour in a record of the tenant, and how far a wait has come in another, so that servers
// which stop before it is over end it together.
class GuardedSweeps {
public:
    GuardedSweeps(Store& store, std::string tenant) : store_(store), tenant_(std::move(tenant)) {}
    // At most `limit` conversations; gives how many went, or nothing when now is not the time.
    Result<std::optional<std::size_t>> run(Time wall, Duration steady, std::size_t limit);

private:
    RecordKey key(const char* name) const { return {tenant_, std::string(sweep_space), name}; }
    // The numbers of a record; none where it is not there, or holds others than that many.
    Result<std::vector<std::int64_t>> numbers(const char* name, std::size_t count) const;
    Result<void> begin();
    void note(Time wall);
    void note_wait(const SweepWait& wait);

    Store& store_;
    std::string tenant_;
    std::optional<SweepGuard> guard_ = {};
    std::optional<Time> noted_ = {};
    bool waits_ = false;  // a record says so
};

}  // namespace palimpsest
