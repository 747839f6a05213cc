// The plan of one compaction: pure, deterministic, the same input gives the same edits.
//
// Passes run in order, each over what the ones before it left, and stop when the target is met;
// they say what should become of groups and items. Only then are the bytes made, for what still
// stands, and counted exactly. Where that shows that the target was missed, the passes run again
// over the result. A plan is complete: its edits can be stored as they are. If the policy wants a
// model to write the summaries, `summaries` says what to ask for; put_summary() (core/summary.h)
// puts the answer into the plan, and without an answer the deterministic text stands.
#pragma once
#include <string_view>
#include <vector>

#include "core/policy.h"
#include "palimpsest/compaction.h"
#include "palimpsest/view.h"

namespace palimpsest {

enum class PlanOutcome : std::uint8_t {
    not_due,
    done,
    not_enough_history,  // there is nothing that the passes could cut
    no_progress,         // less than the minimum gain; nothing is changed
    unreachable,         // what must stay exceeds the limit: budget_unreachable
};
std::string_view outcome_name(PlanOutcome outcome);

// What an edit costs in the provider's cache: everything behind its first byte is read anew.
struct EditCost {
    std::size_t first_item = SIZE_MAX;  // of the view; SIZE_MAX: it changes nothing that was shown
    std::uint64_t prefix_tokens = 0;    // of the request before it
};
// The bytes of the items before it, one after the other: where a change of it begins.
std::uint64_t first_byte_of(std::span<const Item> items, std::size_t item);

struct Plan {
    PlanOutcome outcome = PlanOutcome::not_due;
    Level level = Level::none;
    std::string trigger = {};
    std::vector<Edit> edits = {};  // ascending by range within a treatment; with results and counts
    std::vector<EditCost> costs = {};                   // one for each edit
    std::vector<SummaryOrder> summaries = {};           // folds that a model could word better
    std::uint64_t tokens_before = 0, tokens_after = 0;  // of the view's items, contents only
    std::uint64_t used_before = 0, used_after = 0;      // of the whole request
    std::uint64_t target = 0, limit = 0;
    std::uint64_t floor = 0;       // unreachable: system, tools, pins, newest group and the like
    Seq first_changed = {};        // the first message that is sent otherwise; 0: none
    std::uint64_t first_byte = 0;  // where it begins in the items' raw bytes
    std::string little_room = {};  // for people: how the answer takes most of the window
    std::string explanation = {};  // for people: why it came out so, with the numbers
    std::string blamed = {};       // unreachable: the field that asks for too long an answer
    std::vector<Item> items = {};  // the view after it; only when done and asked for
};

// The error of an unreachable plan.
Error unreachable_error(const Plan& plan);
// The same from its floor and its explanation, where those are what is left of it.
Error unreachable_error(std::uint64_t floor, std::string_view explanation, std::string param = {});

struct PlanInput {
    std::span<const Item> items = {};       // arranged; as in a View
    std::span<const ItemFacts> facts = {};  // of the items, if they are kept; else they are found
    Occasion occasion = {};                 // its totals are those of `items`
    const MessageTools* tools = nullptr;
    bool want_items = false;  // the plan should bring the view after it along
};

// Reads sums only. Explicit and overflow are always due, at the hard level; so is a request that
// leaves no room for the answer, unless the policy has no passes.
Due find_due(const Policy& policy, const Occasion& occasion);

// Asked for by hand although there is room, or nobody knows how much.
bool is_by_choice(const Policy& policy, const Due& due, const Occasion& occasion);

Plan make_plan(const PlanInput& input, const Policy& policy);
// The same for what is due already known (a soft trigger that was found at the end of a turn).
Plan make_plan(const PlanInput& input, const Policy& policy, const Due& due);

// Without a budget and without reading contents.
Plan make_plan(const View& view, const Policy& policy, bool explicitly);

}  // namespace palimpsest
