// turn_hold: a turn that is under way until it has its answer. However it is left without one, the
// next turn of its conversation may begin.
#pragma once
#include "palimpsest/memory.h"

namespace palimpsest {

class TurnHold {
public:
    // Both must outlive it.
    TurnHold(Memory& memory, const Begun& begun) : memory_(memory), begun_(begun) {}
    ~TurnHold() {
        if (!answered_) memory_.release(begun_);
    }
    TurnHold(const TurnHold&) = delete;
    TurnHold& operator=(const TurnHold&) = delete;
    void answered() { answered_ = true; }

private:
    Memory& memory_;
    const Begun& begun_;
    bool answered_ = false;
};

}  // namespace palimpsest
