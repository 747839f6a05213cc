#include "core/plan_numbers.h"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace palimpsest {
namespace {

// The original items by their seqs, and the edit that decides about each of them.
struct Owners {
    static constexpr std::uint32_t none = UINT32_MAX;
    std::vector<std::uint32_t> by_seq = {};  // the items; empty: they stand in the order of seqs
    std::vector<std::uint32_t> edit = {};    // by item
    std::uint32_t item(std::size_t n) const {
        return by_seq.empty() ? static_cast<std::uint32_t>(n) : by_seq[n];
    }
};

// The strongest edit decides, of equals the later, as in the fold.
Owners find_owners(std::span<const ItemFacts> facts, const std::vector<Edit>& edits) {
    Owners owners;
    owners.edit.assign(facts.size(), Owners::none);
    if (!std::ranges::is_sorted(facts, {}, &ItemFacts::from)) {
        owners.by_seq.resize(facts.size());
        std::iota(owners.by_seq.begin(), owners.by_seq.end(), 0u);
        std::ranges::sort(owners.by_seq, {}, [&](std::uint32_t i) { return facts[i].from; });
    }
    const auto places = std::views::iota(std::size_t{0}, facts.size());
    for (std::uint32_t e = 0; e < edits.size(); ++e)
        for (auto n =
                 *std::ranges::lower_bound(places, edits[e].range.from, {},
                                           [&](auto at) { return facts[owners.item(at)].from; });
             n < facts.size() && facts[owners.item(n)].from <= edits[e].range.to; ++n) {
            std::uint32_t& owner = owners.edit[owners.item(n)];
            if (owner == Owners::none || edits[owner].treatment <= edits[e].treatment) owner = e;
        }
    return owners;
}

}  // namespace

void set_numbers(Plan& plan, const PlanInput& input, std::span<const ItemFacts> facts) {
    const Owners owners = find_owners(facts, plan.edits);
    plan.costs.assign(plan.edits.size(), {});
    for (Edit& edit : plan.edits) edit.before.tokens = 0;
    std::size_t first_item = input.items.size();
    std::uint64_t tokens = input.occasion.budget.fixed();  // before the item
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (const std::uint32_t owner = owners.edit[i]; owner != Owners::none) {
            plan.edits[owner].before.tokens += facts[i].tokens;
            if (i < plan.costs[owner].first_item) plan.costs[owner] = {i, tokens};
            first_item = std::min(first_item, i);
        }
        tokens += facts[i].tokens + input.occasion.budget.per_message;
    }
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

}  // namespace palimpsest
