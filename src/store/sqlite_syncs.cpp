#include "store/sqlite_syncs.h"

#include <algorithm>
#include <utility>

namespace palimpsest {

Result<void> CommitSyncs::wait(const Ticket& ticket) {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (is_synced(ticket)) return {};
        if (ticket.generation != generation_ || distrusted_) return std::unexpected(error_);
        if (!syncing_) break;
        changed_.wait(lock);
    }
    syncing_ = true;
    through_ = written_;
    lock.unlock();
    end_sync(sync_());
    return wait(ticket);
}

void CommitSyncs::end_sync(Result<void> done) {
    {
        const std::scoped_lock lock(mutex_);
        syncing_ = false;
        if (done) {
            synced_ = std::max(synced_, through_);
        } else {
            error_ = std::move(done).error();
            distrusted_ = true;
        }
    }
    changed_.notify_all();
}

bool CommitSyncs::is_synced(const Ticket& ticket) const {
    if (ticket.generation == generation_) return ticket.number <= synced_;
    return ticket.generation + 1 == generation_ && ticket.number <= synced_before_;
}

bool CommitSyncs::synced(const Ticket& ticket) const {
    const std::scoped_lock lock(mutex_);
    return is_synced(ticket);
}

CommitSyncs::Ticket CommitSyncs::newest() const {
    const std::scoped_lock lock(mutex_);
    return {generation_, written_};
}

void CommitSyncs::await_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waits_behind(); });
}

void CommitSyncs::wrote() {
    const std::scoped_lock lock(mutex_);
    ++written_;
}

void CommitSyncs::made_good() {
    {
        const std::scoped_lock lock(mutex_);
        if (distrusted_) return;
        synced_ = written_;
    }
    changed_.notify_all();
}

void CommitSyncs::distrust() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !syncing_; });
    if (distrusted_.exchange(true)) return;
    error_ = {ErrorCode::outcome_unknown,
              "an earlier write to the disk has failed; it is not known whether this one is there: "
              "repeat it with the same key"};
    lock.unlock();
    changed_.notify_all();
}

void CommitSyncs::renew() {
    const std::scoped_lock lock(mutex_);
    distrusted_ = false;
    ++generation_;
    synced_before_ = std::exchange(synced_, written_);
}

}  // namespace palimpsest
