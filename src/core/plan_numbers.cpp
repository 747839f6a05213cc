#include "core/plan_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

#include "core/cache_model.h"

namespace palimpsest {
namespace {

constexpr std::uint32_t none = UINT32_MAX;
constexpr std::uint32_t usual_calls = 10;  // still to come, where the policy does not say how many

// By item. The strongest edit decides, of equals the later, as in the fold.
std::vector<std::uint32_t> find_owners(std::span<const ItemFacts> facts,
                                       const std::vector<Edit>& edits) {
    std::vector<std::uint32_t> owners(facts.size(), none), by_seq(facts.size());
    std::iota(by_seq.begin(), by_seq.end(), 0u);
    std::ranges::sort(by_seq, {}, [&](std::uint32_t i) { return facts[i].from; });
    const auto from = [&](std::uint32_t i) { return facts[i].from; };
    for (std::uint32_t e = 0; e < edits.size(); ++e)
        for (auto at = std::ranges::lower_bound(by_seq, edits[e].range.from, {}, from);
             at != by_seq.end() && from(*at) <= edits[e].range.to; ++at) {
            std::uint32_t& owner = owners[*at];
            if (owner == none || edits[owner].treatment <= edits[e].treatment) owner = e;
        }
    return owners;
}

// Nearly always items and edits stand in the order of their seqs and edits do not overlap: then
// both are walked at once.
bool stand_apart(const std::vector<Edit>& edits) {
    return std::ranges::adjacent_find(edits, [](const Edit& a, const Edit& b) {
               return b.range.from <= a.range.to;
           }) == edits.end();
}

// Of each edit: the tokens of what it stands for, where it begins and what comes before it.
void measure_in_order(Plan& plan, std::span<const ItemFacts> facts, const Budget& budget) {
    std::uint64_t before = budget.fixed();
    std::size_t i = 0;
    for (std::size_t e = 0; e < plan.edits.size(); ++e) {
        Edit& edit = plan.edits[e];
        for (; i < facts.size() && facts[i].from < edit.range.from; ++i)
            before += facts[i].tokens + budget.per_message;
        if (i < facts.size() && facts[i].from <= edit.range.to) plan.costs[e] = {i, before};
        std::uint32_t tokens = 0;
        for (; i < facts.size() && facts[i].from <= edit.range.to; ++i) {
            tokens += facts[i].tokens;
            before += facts[i].tokens + budget.per_message;
        }
        edit.before.tokens = tokens;
    }
}

// The same for edits and items in any order.
void measure(Plan& plan, std::span<const ItemFacts> facts, const Budget& budget) {
    const std::vector<std::uint32_t> owners = find_owners(facts, plan.edits);
    for (Edit& edit : plan.edits) edit.before.tokens = 0;
    std::uint64_t before = budget.fixed();
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (const std::uint32_t owner = owners[i]; owner != none) {
            plan.edits[owner].before.tokens += facts[i].tokens;
            if (i < plan.costs[owner].first_item) plan.costs[owner] = {i, before};
        }
        before += facts[i].tokens + budget.per_message;
    }
}

// What the edits save in so many calls, in dollars; none where the price is not known.
std::optional<double> dollars_saved(const EditPrice& edit, const ModelFacts& model, double calls) {
    const PriceList prices = prices_of(model);
    if (prices.name.empty() || model.input_price <= 0) return std::nullopt;
    return gain_in(prices, edit, calls) * model.input_price / 1e6;
}

std::string text_of_dollars(double dollars) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", dollars);
    return text;
}

}  // namespace

void set_numbers(Plan& plan, const PlanInput& input, std::span<const ItemFacts> facts,
                 bool in_order) {
    plan.costs.assign(plan.edits.size(), {});
    if (in_order && stand_apart(plan.edits))
        measure_in_order(plan, facts, input.occasion.budget);
    else
        measure(plan, facts, input.occasion.budget);
    std::size_t first_item = input.items.size();
    for (const EditCost& cost : plan.costs) first_item = std::min(first_item, cost.first_item);
    for (std::size_t e = plan.edits.size(); e-- > 0;) {
        const Edit& edit = plan.edits[e];
        const bool owns_none = plan.costs[e].first_item == SIZE_MAX;
        if (owns_none && edit.treatment != Treatment::dropped) {
            plan.edits.erase(plan.edits.begin() + static_cast<std::ptrdiff_t>(e));
            plan.costs.erase(plan.costs.begin() + static_cast<std::ptrdiff_t>(e));
            continue;
        }
        plan.tokens_after += edit.after.tokens;
        plan.tokens_after -= std::min<std::uint64_t>(plan.tokens_after, edit.before.tokens);
    }
    if (first_item == input.items.size()) return;
    plan.first_changed = input.items[first_item].range.from;
    plan.first_byte = first_byte_of(input.items, first_item);
}

std::string numbers_in_words(const Plan& plan) {
    const bool tight = plan.used_before > plan.limit && !plan.little_room.empty();
    return "the request takes " + std::to_string(plan.used_before) + " tokens, " +
           std::to_string(plan.used_after) + " after; target " + std::to_string(plan.target) +
           (plan.limit == UINT64_MAX ? "" : ", limit " + std::to_string(plan.limit)) +
           (tight ? "; " + plan.little_room : "");
}

bool pays(Plan& plan, const Policy& policy, const Occasion& occasion) {
    const bool expired = plan.trigger.find("idle_s") != std::string::npos;
    if (expired || plan.used_before > plan.limit) return true;
    if (policy.pays_within_calls == 0 && policy.min_gain_dollars <= 0) return true;
    std::uint64_t prefix = plan.used_before;
    for (const EditCost& cost : plan.costs)
        if (cost.first_item != SIZE_MAX) prefix = std::min(prefix, cost.prefix_tokens);
    const EditPrice edit{plan.used_before, plan.used_after, prefix};
    const std::uint32_t within =
        policy.pays_within_calls > 0 ? policy.pays_within_calls : usual_calls;
    const double calls = calls_to_pay(prices_of(occasion.model), edit);
    const auto saved = dollars_saved(edit, occasion.model, within);
    if (policy.pays_within_calls > 0 && calls > policy.pays_within_calls)
        plan.explanation =
            "it would take " +
            (calls < 1e6 ? std::to_string(static_cast<int>(std::ceil(calls))) : "too many") +
            " calls to pay for itself, the policy allows " +
            std::to_string(policy.pays_within_calls);
    else if (policy.min_gain_dollars > 0 && saved && *saved < policy.min_gain_dollars)
        plan.explanation = "it would save $" + text_of_dollars(*saved) + " in " +
                           std::to_string(within) + " calls, the minimum is $" +
                           text_of_dollars(policy.min_gain_dollars);
    else
        return true;
    plan.outcome = PlanOutcome::no_progress;
    plan.edits.clear();
    plan.costs.clear();
    plan.items.clear();
    plan.tokens_after = plan.tokens_before;
    plan.used_after = plan.used_before;
    plan.first_changed = {};
    return false;
}

}  // namespace palimpsest
