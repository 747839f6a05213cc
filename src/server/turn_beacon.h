// turn_beacon: tells other servers on the same store which turns are being answered here, so that a
// repeat that reaches one of them waits instead of asking the model a second time.
//
// A turn that takes longer than a moment has a record (space "running_turns", by its position) that
// ends by itself when it is not renewed: a process that died holds nobody up for long. The keeper
// writes it, so no turn waits. A repeat that comes to another server within that moment is not
// held up; its answer is stored once all the same, by the turn's key. Where this process holds the
// store alone nobody else answers: nothing is written, and what is there is of a process that died.
#pragma once
#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "palimpsest/memory.h"
#include "server/keeper.h"

namespace palimpsest {

// Shines while it lives; what is moved from, or made of nothing, does not.
class TurnBeacon {
public:
    TurnBeacon() = default;
    // The store must outlive the keeper.
    TurnBeacon(Keeper& keeper, Store& store, const Begun& begun);
    TurnBeacon(TurnBeacon&&) noexcept = default;
    TurnBeacon& operator=(TurnBeacon&& other) noexcept;
    ~TurnBeacon() { end(); }
    void end();

private:
    std::shared_ptr<std::atomic<bool>> ended_;
};

// Waits while another server answers this turn. False: nobody does. True: it has ended, or `stop`
// came first, or it took too long.
Result<bool> await_elsewhere(Store& store, const Begun& begun, const std::stop_token& stop);

}  // namespace palimpsest
