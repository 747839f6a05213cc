// Replays a recorded conversation call by call under a policy and counts what it would have cost.
//
// Every answer of the recording is one call of the model; before it the policy compacts what is
// due and quotes what it recalls into the room that is left, as the engine would. Pure: what is
// sendable, and vectors, are asked of functions that are passed in.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/cache_model.h"
#include "core/plan.h"
#include "core/simulated_past.h"

namespace palimpsest {

struct Trace {
    std::vector<Message> preamble = {};  // counted
    std::vector<Item> items = {};        // every message, with tokens; times where recorded
    std::uint64_t tools_tokens = 0;
};

struct SimulateOptions {
    PriceList prices = {};
    ModelFacts model = {};  // what the policy is told of it: its prices decide whether an edit pays
    Budget budget = {};     // tools and system are the trace's
    double gap_s = 0;       // between calls, where no times are recorded
    std::function<bool(std::span<const Message>)> is_sendable = {};
    EmbedTexts embed = {};  // none: recall goes by words alone
};

// One policy over one trace, or over several: sums.
struct Simulation {
    std::uint64_t calls = 0, tokens = 0, cached = 0, written = 0, largest = 0;
    double cost = 0;  // in tokens read without a cache
    std::uint64_t compactions = 0, unreachable = 0, invalid = 0;
    std::uint64_t arguments = 0, arguments_kept = 0;
    std::uint64_t traces = 0, reached = 0, compacted = 0;  // traces that reached the trigger
    std::vector<std::uint32_t> tokens_per_call = {};       // of the first trace
    std::uint64_t fresh() const { return tokens - cached; }
    double kept_share() const {
        return arguments == 0
                   ? 1
                   : static_cast<double>(arguments_kept) / static_cast<double>(arguments);
    }
};
void add(Simulation& sum, const Simulation& one);

Simulation simulate(const Trace& trace, const Policy& policy, const SimulateOptions& options,
                    const MessageTools& tools);

// Several simulations as a picture: tokens of each call, one line for each policy.
struct PlotLine {
    std::string name = {};
    std::vector<std::uint32_t> tokens = {};
};
std::string plot_svg(std::span<const PlotLine> lines, std::string_view title);

}  // namespace palimpsest
