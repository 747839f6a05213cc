// The plan of one compaction: pure, deterministic, the same input gives the same edits.
#pragma once
#include <string_view>
#include <vector>

#include "core/policy.h"
#include "palimpsest/view.h"

namespace palimpsest {

enum class PlanOutcome : std::uint8_t { not_due, done, not_enough_history, no_progress };

struct Plan {
    PlanOutcome outcome = PlanOutcome::not_due;
    std::string trigger = {};
    std::vector<Edit> edits = {};
    std::uint64_t tokens_before = 0, tokens_after = 0;
};

// The name of the trigger that is due, or "".
std::string_view due_trigger(const View& view, const Triggers& triggers);

// Runs the policy's passes in order over the view, each over what the ones before it left.
// `explicitly` asks for it whether or not a trigger is due.
Plan make_plan(const View& view, const Policy& policy, bool explicitly);

// The seq ranges of the given items, without those of any other item, merged where nothing that is
// kept stands between. Indices ascending.
std::vector<Range> ranges_of(std::span<const Item> items, std::span<const std::size_t> chosen);

}  // namespace palimpsest
