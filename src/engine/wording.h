// Having the summaries of a plan worded by the summariser.
#pragma once
#include <string>

#include "core/plan.h"
#include "engine/state.h"

namespace palimpsest {

// Who wrote the summaries and what it took.
struct Bill {
    std::string summarizer = {};  // "": there are none; "extractive"; a model
    Usage usage = {};
    double cost = 0;
    std::string trouble = {};  // why the deterministic text stands although a model was asked
};

// Asks for every fold of the plan, in its order, and puts what passes the checks into the plan. No
// answer within `patience`, or a bad one: that fold keeps its text. `patience` 0: nobody is asked.
Bill word_summaries(Memory::State& state, const View& view, const MessageTools& tools,
                    Duration patience, Plan& plan);

}  // namespace palimpsest
