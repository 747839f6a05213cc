// Where the tokens of a request go, what a call costs, and how far the trigger is.
#pragma once
#include <optional>
#include <string>

#include "core/plan.h"

namespace palimpsest {

struct Breakdown {
    std::uint64_t system = 0, tools = 0;
    std::uint64_t user = 0, assistant = 0, tool_results = 0, other = 0, summaries = 0;
    std::uint64_t framing = 0;  // what the provider adds around messages
    std::uint64_t used = 0, reply = 0, free = 0, window = 0;
    // Dollars for one call; none when the prices are not known.
    std::optional<double> cost = {}, cost_cached = {};
    // The trigger that counts tokens: its name and how many are missing to it.
    std::string trigger = {};
    std::optional<std::uint64_t> trigger_at = {}, until_trigger = {};
};

Breakdown break_down(std::span<const Item> items, const Occasion& occasion, const Policy& policy);

}  // namespace palimpsest
