// Having the summaries of a plan worded by the summariser.
#pragma once
#include <functional>
#include <stop_token>
#include <string>

#include "core/plan.h"
#include "engine/state.h"

namespace palimpsest {

// Who wrote the summaries and what it took.
struct Bill {
    std::string summarizer = {};  // "": there are none; "extractive"; a model
    UsageRow sum = {};            // of all calls for them
    std::string trouble = {};     // why the deterministic text stands although a model was asked
    std::string remark = {};      // who was asked instead of the one that the policy names
};

// How long a summariser is waited for, what ends that earlier, and on what terms it is asked. No
// time: nobody is asked.
struct SummaryWait {
    Duration time = {};
    std::stop_token stop = {};
    SummaryTerms terms = {};
};

// Asks for every fold of the plan, in its order, and puts what passes the checks into the plan. No
// answer in time, or a bad one: that fold keeps its text.
Bill word_summaries(Memory::State& state, const View& view, const MessageTools& tools,
                    const SummaryWait& patience, Plan& plan);

}  // namespace palimpsest
