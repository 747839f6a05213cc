#include "server/turn_beacon.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/ids.h"

namespace palimpsest {
namespace {

constexpr std::string_view space = "running_turns";
constexpr Duration silent_for = std::chrono::milliseconds(200);
constexpr Duration lasts = std::chrono::seconds(15);
constexpr Duration renewed_every = std::chrono::seconds(5);
constexpr auto between_looks = std::chrono::milliseconds(100);
constexpr Duration patience = std::chrono::minutes(15);

RecordKey record_of(const Begun& begun) {
    return {begun.name.tenant, std::string(space), position_id("turn_", begun.log, begun.turn)};
}

// The keeper's side of it.
class Announcement {
public:
    Announcement(Store& store, RecordKey key, std::shared_ptr<const std::atomic<bool>> ended)
        : store_(&store), key_(std::move(key)), ended_(std::move(ended)), begun_(system_now()) {}

    bool look(bool last) {
        if (last || *ended_) {
            if (written_ != Time{}) (void)store_->put_record({.key = key_});
            return false;
        }
        const Time now = system_now();
        if (now - begun_ < silent_for || now - written_ < renewed_every) return true;
        if (store_->put_record({.key = key_, .value = "{}", .ttl = lasts})) written_ = now;
        return true;
    }

private:
    Store* store_;
    RecordKey key_;
    std::shared_ptr<const std::atomic<bool>> ended_;
    Time begun_, written_ = {};
};

}  // namespace

TurnBeacon::TurnBeacon(Keeper& keeper, Store& store, const Begun& begun)
    : ended_(std::make_shared<std::atomic<bool>>(false)) {
    if (store.held_alone()) return;
    keeper.add([one = Announcement(store, record_of(begun), ended_)](bool last) mutable {
        return one.look(last);
    });
}

TurnBeacon& TurnBeacon::operator=(TurnBeacon&& other) noexcept {
    end();
    ended_ = std::move(other.ended_);
    return *this;
}

void TurnBeacon::end() {
    if (ended_) *ended_ = true;
}

Result<bool> await_elsewhere(Store& store, const Begun& begun, const std::stop_token& stop) {
    if (store.held_alone()) return false;
    std::mutex mutex;
    std::condition_variable_any woken;
    const Time until = system_now() + patience;
    for (bool met = false;; met = true) {
        const auto record = store.get_record(record_of(begun));
        if (!record && record.error().code == ErrorCode::not_found) return met;
        if (!record) return std::unexpected(record.error());
        if (stop.stop_requested() || system_now() > until) return true;
        std::unique_lock lock(mutex);
        woken.wait_for(lock, stop, between_looks, [] { return false; });
    }
}

}  // namespace palimpsest
