#include "core/plan_numbers.h"

#include <algorithm>
#include <numeric>

namespace palimpsest {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

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

// The edit that decides about each item, asked for one after the other. Nearly always items and
// edits stand in the order of their seqs: then both are walked at once.
class Owners {
public:
    Owners(std::span<const ItemFacts> facts, bool in_order, const std::vector<Edit>& edits)
        : facts_(facts), edits_(edits) {
        const bool apart = std::ranges::adjacent_find(edits, [](const Edit& a, const Edit& b) {
                               return b.range.from <= a.range.to;
                           }) == edits.end();
        walks_ = apart && in_order;
        if (!walks_) found_ = find_owners(facts, edits);
    }
    std::uint32_t of(std::size_t item) {
        if (!walks_) return found_[item];
        const Seq seq = facts_[item].from;
        while (next_ < edits_.size() && edits_[next_].range.to < seq) ++next_;
        return next_ < edits_.size() && edits_[next_].range.from <= seq ? next_ : none;
    }

private:
    std::span<const ItemFacts> facts_;
    const std::vector<Edit>& edits_;
    bool walks_ = false;
    std::uint32_t next_ = 0;
    std::vector<std::uint32_t> found_;
};

}  // namespace

void set_numbers(Plan& plan, const PlanInput& input, std::span<const ItemFacts> facts,
                 bool in_order) {
    Owners owners(facts, in_order, plan.edits);
    plan.costs.assign(plan.edits.size(), {});
    for (Edit& edit : plan.edits) edit.before.tokens = 0;
    std::size_t first_item = input.items.size();
    std::uint64_t tokens = input.occasion.budget.fixed();  // before the item
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (const std::uint32_t owner = owners.of(i); owner != none) {
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
