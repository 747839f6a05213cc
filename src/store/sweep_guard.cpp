#include "store/sweep_guard.h"

#include <time.h>

#include <charconv>

#include "store/epoch_ms.h"

namespace palimpsest {

Duration running_time() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec / 1'000'000);
}

Result<std::vector<std::int64_t>> GuardedSweeps::numbers(const char* name,
                                                         std::size_t count) const {
    std::vector<std::int64_t> found;
    const auto record = store_.get_record(key(name));
    if (!record && record.error().code == ErrorCode::not_found) return found;
    if (!record) return std::unexpected(record.error());
    const char* at = record->value.data();
    const char* const end = at + record->value.size();
    while (at < end) {
        std::int64_t number = 0;
        const auto [behind, fault] = std::from_chars(at, end, number);
        if (fault != std::errc{} || (behind != end && *behind != ' '))
            return std::vector<std::int64_t>{};
        found.push_back(number);
        at = behind == end ? end : behind + 1;
    }
    if (found.size() != count) found.clear();
    return found;
}

Result<void> GuardedSweeps::begin() {
    PAL_TRY(last, numbers("last", 1));
    PAL_TRY(left, numbers("waiting", 2));
    if (!last.empty()) noted_ = time_of(last[0]);
    waits_ = !left.empty();
    std::optional<SweepWait> wait;
    if (waits_) wait = SweepWait{time_of(left[0]), Duration(left[1])};
    guard_.emplace(noted_, wait);
    return {};
}

// A sweep makes room: that this cannot be written does not stop it.
void GuardedSweeps::note(Time wall) {
    constexpr Duration between = std::chrono::hours(1);
    if (waits_ && store_.put_record({.key = key("waiting"), .purge = true})) waits_ = false;
    if (noted_ && wall >= *noted_ && wall < *noted_ + between) return;
    if (store_.put_record({.key = key("last"), .value = std::to_string(ms_of(wall))}))
        noted_ = wall;
}

// What cannot be written is waited for again.
void GuardedSweeps::note_wait(const SweepWait& wait) {
    const std::string text =
        std::to_string(ms_of(wait.wall)) + " " + std::to_string(wait.held.count());
    if (store_.put_record({.key = key("waiting"), .value = text})) waits_ = true;
}

Result<std::optional<std::size_t>> GuardedSweeps::run(Time wall, Duration steady,
                                                      std::size_t limit) {
    if (!guard_) PAL_CHECK(begin());
    if (!guard_->may_sweep(wall, steady)) {
        note_wait({wall, guard_->held(steady)});
        return std::nullopt;
    }
    note(wall);
    PAL_TRY(went, store_.sweep(limit));
    return went;
}

}  // namespace palimpsest
