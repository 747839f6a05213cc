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

Result<std::optional<Time>> GuardedSweeps::last() const {
    const auto record = store_.get_record(key());
    if (!record && record.error().code == ErrorCode::not_found) return std::nullopt;
    if (!record) return std::unexpected(record.error());
    const std::string& text = record->value;
    std::int64_t ms = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), ms);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return time_of(ms);
}

// A sweep makes room: that this cannot be written does not stop it.
void GuardedSweeps::note(Time wall) {
    constexpr Duration between = std::chrono::hours(1);
    if (noted_ && wall >= *noted_ && wall < *noted_ + between) return;
    if (store_.put_record({.key = key(), .value = std::to_string(ms_of(wall))})) noted_ = wall;
}

Result<std::optional<std::size_t>> GuardedSweeps::run(Time wall, Duration steady,
                                                      std::size_t limit) {
    if (!guard_) {
        PAL_TRY(before, last());
        guard_.emplace(before);
        noted_ = before;
    }
    if (!guard_->may_sweep(wall, steady)) return std::nullopt;
    note(wall);
    PAL_TRY(went, store_.sweep(limit));
    return went;
}

}  // namespace palimpsest
