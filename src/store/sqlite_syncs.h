// Which commits of the one writer are on the disk. Whoever needs to know waits; one of those who
// wait syncs for all whose commit was written before it began, while the next one is written.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "palimpsest/error.h"

namespace palimpsest {

class CommitSyncs {
public:
    struct Ticket {
        std::uint64_t generation = 0;  // of the trust
        std::uint64_t number = 0;      // of the commit, and all before it
    };
    // `sync` is called by one thread at a time, never between distrust() and renew().
    explicit CommitSyncs(std::function<Result<void>()> sync) : sync_(std::move(sync)) {}

    // Of everybody: until it is synced. `outcome_unknown` when that has failed.
    Result<void> wait(const Ticket& ticket);
    Ticket newest() const;
    bool synced(const Ticket& ticket) const;

    // Of whoever is at the writer's front.
    // Until no more than one commit waits behind the sync that runs: what comes meanwhile is
    // written together.
    void await_room();
    void wrote();      // one more commit, which is not synced
    void made_good();  // all that was written is durable otherwise
    // Nobody relies any more on what is not synced. When it returns no sync is under way.
    void distrust();
    bool distrusted() const { return distrusted_; }
    void renew();

private:
    bool is_synced(const Ticket& ticket) const;
    bool waits_behind() const { return syncing_ && written_ > through_; }
    void end_sync(Result<void> done);

    const std::function<Result<void>()> sync_;
    mutable std::mutex mutex_;  // Guards all below.
    std::condition_variable changed_;
    std::uint64_t written_ = 0, synced_ = 0;
    std::uint64_t through_ = 0;  // what the sync that runs covers
    bool syncing_ = false;
    std::atomic<bool> distrusted_ = false;
    std::uint64_t generation_ = 0;
    std::uint64_t synced_before_ = 0;  // of the generation before this one
    Error error_ = {};                 // what ended that
};

}  // namespace palimpsest
