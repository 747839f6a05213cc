#include "core/plan.h"

#include <algorithm>
#include <utility>

namespace palimpsest {
namespace {

// Takes the parts of `kept` out of the ascending, disjoint `ranges`.
std::vector<Range> without(const std::vector<Range>& ranges, std::vector<Range> kept) {
    std::sort(kept.begin(), kept.end());
    std::vector<Range> out;
    for (Range range : ranges) {
        for (const Range& hole : kept) {
            if (hole.to < range.from) continue;
            if (hole.from > range.to) break;
            if (hole.from > range.from) out.push_back({range.from, hole.from - 1});
            range.from = hole.to + 1;
        }
        if (!range.empty()) out.push_back(range);
    }
    return out;
}

struct Progress {
    std::vector<Item> items;
    std::vector<Edit> edits;
};

// Notes what one planned edit does; `gone` marks its items, the caller takes them out.
void carry_out(Progress& progress, std::span<const Group> groups, const PlannedEdit& planned,
               std::string_view pass, std::vector<bool>& gone) {
    std::vector<std::size_t> chosen;
    for (const std::size_t g : planned.groups)
        for (std::size_t i = groups[g].first; i <= groups[g].last; ++i) {
            chosen.push_back(i);
            gone[i] = true;
        }
    for (const Range& range : ranges_of(progress.items, chosen)) {
        Edit edit;
        edit.treatment = planned.treatment;
        edit.range = range;
        edit.reason = planned.reason;
        edit.pass = pass;
        for (const std::size_t i : chosen)
            if (range.contains(progress.items[i].range.from))
                edit.before.tokens += progress.items[i].tokens;
        progress.edits.push_back(std::move(edit));
    }
}

void run_pass(Progress& progress, const PolicyPass& pass, bool& not_enough) {
    const std::vector<Group> groups = find_groups(progress.items);
    const std::vector<Turn> turns = find_turns(progress.items, groups);
    const PassResult result =
        pass.run({progress.items, groups, turns, protected_groups(progress.items, groups)});
    not_enough |= result.not_enough_history;
    std::vector<bool> gone(progress.items.size());
    for (const PlannedEdit& planned : result.edits)
        carry_out(progress, groups, planned, pass.name, gone);
    std::size_t i = 0;
    std::erase_if(progress.items, [&](const Item&) { return gone[i++]; });
}

std::uint64_t sum_tokens(std::span<const Item> items) {
    std::uint64_t sum = 0;
    for (const Item& item : items) sum += item.tokens;
    return sum;
}

}  // namespace

std::string_view due_trigger(const View& view, const Triggers& triggers) {
    if (triggers.messages && view.items.size() > *triggers.messages) return "messages";
    if (!triggers.turns) return "";
    const std::vector<Group> groups = find_groups(view.items);
    return find_turns(view.items, groups).size() > *triggers.turns ? "turns" : "";
}

Plan make_plan(const View& view, const Policy& policy, bool explicitly) {
    Plan plan;
    plan.tokens_before = plan.tokens_after = sum_tokens(view.items);
    plan.trigger = explicitly ? "explicit" : due_trigger(view, policy.triggers);
    if (plan.trigger.empty()) return plan;
    Progress progress{view.items, {}};
    bool not_enough = false;
    for (const PolicyPass& pass : policy.passes) run_pass(progress, pass, not_enough);
    plan.edits = std::move(progress.edits);
    plan.tokens_after = sum_tokens(progress.items);
    plan.outcome = !plan.edits.empty() ? PlanOutcome::done
                   : not_enough        ? PlanOutcome::not_enough_history
                                       : PlanOutcome::no_progress;
    return plan;
}

std::vector<Range> ranges_of(std::span<const Item> items, std::span<const std::size_t> chosen) {
    std::vector<bool> is_chosen(items.size());
    for (const std::size_t i : chosen) is_chosen[i] = true;
    std::vector<Range> wanted, kept;
    for (std::size_t i = 0; i < items.size(); ++i)
        (is_chosen[i] ? wanted : kept).push_back(items[i].range);
    if (wanted.empty()) return {};
    // One span over everything chosen, then the kept ones cut out: gaps between chosen items hold
    // nothing that is shown, so they may go along.
    std::sort(wanted.begin(), wanted.end());
    Range span = wanted.front();
    std::vector<Seq> reach;  // the last seq of any of the first i + 1 wanted ranges
    for (const Range& range : wanted) reach.push_back(span.to = std::max(span.to, range.to));
    std::vector<Range> out;
    for (const Range& range : without({span}, std::move(kept))) {
        const auto after = std::upper_bound(wanted.begin(), wanted.end(), range.to,
                                            [](Seq to, const Range& w) { return to < w.from; });
        if (after == wanted.begin()) continue;
        if (reach[static_cast<std::size_t>(after - wanted.begin()) - 1] >= range.from)
            out.push_back(range);
    }
    return out;
}

}  // namespace palimpsest
