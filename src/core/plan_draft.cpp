#include "core/plan_draft.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "core/pass.h"
#include "core/summary.h"

namespace palimpsest {
namespace {

constexpr std::size_t summary_items_max = 4096;

bool takes_groups(const PlannedEdit& edit) {
    return edit.treatment == Treatment::dropped || edit.treatment == Treatment::folded;
}

}  // namespace

PlanDraft::PlanDraft(const PlanInput& input, const Policy& policy)
    : PlanDraft(input, policy, scan_items(input.items, input.facts)) {}

PlanDraft::PlanDraft(const PlanInput& input, const Policy& policy, Scan scan)
    : input_(input),
      items_(input.items),
      own_facts_(std::move(scan.own)),
      facts_(scan.facts),
      in_order_(scan.in_order),
      groups_(std::move(scan.groups)),
      turns_(std::move(scan.turns)),
      shields_(shields(items_, facts_, groups_, turns_, policy.protect, input.tools)),
      marks_(items_.size()) {
    const Budget& budget = input.occasion.budget;
    used_ = budget.fixed();
    tokens_.reserve(items_.size());
    treatments_.reserve(items_.size());
    for (const ItemFacts& facts : facts_) {
        tokens_.push_back(facts.tokens + budget.per_message);
        treatments_.push_back(facts.treatment);
        used_ += tokens_.back();
    }
}

std::uint64_t PlanDraft::floor() const {
    std::uint64_t sum = input_.occasion.budget.fixed();
    for (std::size_t g = 0; g < groups_.size(); ++g)
        if (shields_[g] != Shield::none)
            for (std::size_t i = groups_[g].first; i <= groups_[g].last; ++i) sum += tokens_[i];
    return sum;
}

PassInput PlanDraft::pass_input(std::optional<std::uint64_t> target) const {
    return {.items = items_,
            .groups = groups_,
            .turns = turns_,
            .shields = shields_,
            .tokens = tokens_,
            .treatments = treatments_,
            .used = used_,
            .target = target.value_or(0),
            .has_target = target.has_value(),
            .occasion = &input_.occasion,
            .tools = input_.tools};
}

// From the newest back: what a rewriting pass cannot shrink (all but results) already fills what
// later passes leave, so nothing before it will last.
std::size_t PlanDraft::first_lasting(std::uint64_t target) const {
    std::uint64_t kept = input_.occasion.budget.fixed();
    for (std::size_t g = groups_.size(); g-- > 0;) {
        for (std::size_t i = groups_[g].first; i <= groups_[g].last; ++i)
            if (!facts_[i].results) kept += tokens_[i];
        if (kept > target) return g;
    }
    return 0;
}

bool PlanDraft::run(const PolicyPass& pass, std::optional<std::uint64_t> target,
                    std::uint64_t min_gain, std::optional<std::uint64_t> left_later) {
    PassInput input = pass_input(target);
    if (left_later) input.first_lasting = first_lasting(*left_later);
    PassResult result = pass.run(input);
    not_enough_ |= result.not_enough_history;
    if (!result.refusal.empty()) {
        refusal_ = result.refusal;
        return false;
    }
    keep_reachable(result);
    if (result.edits.empty() || gain_of(result) < min_gain) return true;
    apply(result, static_cast<std::uint32_t>(ran_.size()));
    ran_.push_back({pass.name, std::move(result)});
    return true;
}

// Takes out what the pass may not touch.
void PlanDraft::keep_reachable(PassResult& result) const {
    for (PlannedEdit& edit : result.edits)
        if (takes_groups(edit))
            std::erase_if(edit.groups, [&](std::size_t g) {
                return g >= groups_.size() || shields_[g] != Shield::none;
            });
    std::erase_if(result.edits, [&](const PlannedEdit& edit) {
        if (takes_groups(edit)) return edit.groups.empty();
        if (edit.item >= items_.size() || !result.rewrite) return true;
        const std::size_t g = group_of(groups_, edit.item);
        if (g >= groups_.size() || groups_[g].first > edit.item) return true;
        if (items_[edit.item].kind == ItemKind::summary) return true;
        const Shield most = edit.treatment == Treatment::shortened ? Shield::kept : Shield::none;
        return shields_[g] > most || treatments_[edit.item] > edit.treatment;
    });
}

std::uint64_t PlanDraft::gain_of(const PassResult& result) const {
    std::uint64_t before = 0, after = 0;
    for (const PlannedEdit& edit : result.edits) {
        if (edit.treatment != Treatment::dropped) after += edit.tokens_after;
        if (!takes_groups(edit)) before += tokens_[edit.item];
        if (takes_groups(edit))
            for (const std::size_t g : edit.groups)
                for (std::size_t i = groups_[g].first; i <= groups_[g].last; ++i)
                    before += tokens_[i];
    }
    return before > after ? before - after : 0;
}

void PlanDraft::apply(const PassResult& result, std::uint32_t pass) {
    std::vector<bool> gone(groups_.size());
    bool any_gone = false;
    for (std::uint32_t e = 0; e < result.edits.size(); ++e) {
        const PlannedEdit& edit = result.edits[e];
        const Mark mark{pass, e};
        if (!takes_groups(edit)) {
            used_ = used_ - tokens_[edit.item] + edit.tokens_after;
            tokens_[edit.item] = edit.tokens_after;
            treatments_[edit.item] = edit.treatment;
            marks_[edit.item] = mark;
            continue;
        }
        if (edit.treatment == Treatment::folded) used_ += edit.tokens_after;
        for (const std::size_t g : edit.groups) {
            if (gone[g]) continue;
            any_gone = gone[g] = true;
            for (std::size_t i = groups_[g].first; i <= groups_[g].last; ++i) {
                used_ -= tokens_[i];
                treatments_[i] = edit.treatment;
                marks_[i] = mark;
            }
        }
    }
    if (any_gone) remove_groups(gone);
}

void PlanDraft::remove_groups(const std::vector<bool>& gone) {
    std::size_t kept = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (gone[g]) continue;
        groups_[kept] = groups_[g];
        shields_[kept++] = shields_[g];
    }
    groups_.resize(kept);
    shields_.resize(kept);
    turns_ = turns_of(facts_, groups_);
}

std::optional<PlanDraft::Made> PlanDraft::rewritten(std::size_t item) const {
    const Ran& ran = ran_[marks_[item].pass];
    const PlannedEdit& planned = ran.result.edits[marks_[item].edit];
    const auto changes = ran.result.rewrite(item);
    if (!changes || changes->empty() || !input_.tools) return std::nullopt;
    auto message = input_.tools->rewrite(items_[item].message, *changes);
    if (!message) return std::nullopt;
    const bool smaller = message->count.tokens < items_[item].tokens;
    if (!smaller && !ran.result.may_grow) return std::nullopt;
    Made made;
    made.items = {item};
    made.edit.treatment = planned.treatment;
    made.edit.range = items_[item].range;
    made.edit.result = message->raw;
    made.edit.format = message->format;
    made.edit.reason = planned.reason;
    made.edit.pass = ran.name;
    made.edit.before = {input_.tools->scheme(), items_[item].tokens};
    made.edit.after = message->count;
    made.message = *std::move(message);
    return made;
}

void PlanDraft::set_summary(Made& made) const {
    SummaryOrder& order = *made.summary;
    order.range = made.edit.range;
    // Of a huge stretch the newest part is enough: no more of it is read anyway.
    const std::size_t first = made.items.size() - std::min(made.items.size(), summary_items_max);
    std::vector<const Item*> folded;
    for (std::size_t n = first; n < made.items.size(); ++n)
        folded.push_back(&items_[made.items[n]]);
    ExtractOptions options{.max_tokens = order.max_tokens, .concepts = order.concepts};
    const std::string text = extract_summary(folded, options, *input_.tools);
    made.edit.result = make_bytes(dress_summary(order, text));
    made.edit.after = {input_.tools->scheme(), input_.tools->count_text(*made.edit.result)};
}

// One edit for each stretch of seqs.
std::vector<PlanDraft::Made> PlanDraft::stretches_of(const Ran& ran, const PlannedEdit& planned,
                                                     std::vector<std::size_t> items) const {
    const std::vector<Range> ranges = in_order_ ? runs_of(items_, items) : ranges_of(items_, items);
    std::vector<Made> stretches(ranges.size());
    for (std::size_t r = 0; r < ranges.size(); ++r) {
        Edit& edit = stretches[r].edit;
        edit.treatment = planned.treatment;
        edit.range = ranges[r];
        edit.reason = planned.reason;
        edit.pass = ran.name;
        edit.before.scheme = input_.tools ? input_.tools->scheme() : std::uint16_t{0};
    }
    if (stretches.size() == 1) {
        for (const std::size_t i : items) stretches[0].edit.before.tokens += facts_[i].tokens;
        stretches[0].items = std::move(items);
        return stretches;
    }
    for (const std::size_t i : items) {
        const auto after = std::ranges::upper_bound(ranges, facts_[i].from, {}, &Range::from);
        if (after == ranges.begin()) continue;
        Made& made = stretches[static_cast<std::size_t>(after - ranges.begin()) - 1];
        made.items.push_back(i);
        made.edit.before.tokens += facts_[i].tokens;
    }
    return stretches;
}

// A summary stands at the place of one stretch. Stretches that a group reaches over (its messages
// do not stand together in the log) fare alike: the largest gets the summary, the others go.
void PlanDraft::add_folds(std::vector<Made>& out, std::vector<Made> stretches,
                          const PlannedEdit& planned) const {
    std::vector<std::size_t> main(stretches.size());    // by stretch: the one that it goes with
    std::unordered_map<std::size_t, std::size_t> seen;  // by group: a stretch that has it
    std::vector<Group> groups;                          // all there were at first
    if (stretches.size() > 1) groups = find_groups(items_);
    const auto root = [&](std::size_t s) {
        while (main[s] != s) s = main[s];
        return s;
    };
    for (std::size_t s = 0; s < stretches.size(); ++s) {
        main[s] = s;
        if (stretches.size() == 1) break;
        for (const std::size_t i : stretches[s].items) {
            const std::size_t other = root(seen.try_emplace(group_of(groups, i), s).first->second);
            const std::size_t mine = root(s);
            const bool larger =
                stretches[other].edit.before.tokens >= stretches[mine].edit.before.tokens;
            main[larger ? mine : other] = larger ? other : mine;
        }
    }
    std::vector<std::uint64_t> before(stretches.size());
    for (std::size_t s = 0; s < stretches.size(); ++s)
        before[root(s)] += stretches[s].edit.before.tokens;
    for (std::size_t s = 0; s < stretches.size(); ++s) {
        Made& made = stretches[s];
        if (root(s) != s || made.items.empty()) continue;
        made.summary = planned.summary ? *planned.summary : SummaryOrder{};
        set_summary(made);
    }
    std::vector<bool> stands(stretches.size());
    for (std::size_t s = 0; s < stretches.size(); ++s) {
        const Made& with = stretches[root(s)];
        // A summary that is no shorter than what it stands for is none.
        stands[s] = !with.summary || with.edit.after.tokens < before[root(s)];
        if (!stands[s]) continue;
        // Also the rest of an older summary, whose text went into the new one.
        if (root(s) != s || stretches[s].items.empty())
            stretches[s].edit.treatment = Treatment::dropped;
    }
    for (std::size_t s = 0; s < stretches.size(); ++s)
        if (stands[s]) out.push_back(std::move(stretches[s]));
}

void PlanDraft::add_taken(std::vector<Made>& out, const Ran& ran, const PlannedEdit& planned,
                          std::vector<std::size_t> items) const {
    std::vector<Made> stretches = stretches_of(ran, planned, std::move(items));
    if (planned.treatment == Treatment::folded) {
        if (input_.tools) add_folds(out, std::move(stretches), planned);
    } else {
        std::ranges::move(stretches, std::back_inserter(out));
    }
}

std::vector<PlanDraft::Made> PlanDraft::finish() const {
    std::vector<Made> out;
    // Items by the edit that took them with their group.
    std::vector<std::vector<std::vector<std::size_t>>> taken(ran_.size());
    for (std::size_t p = 0; p < ran_.size(); ++p) taken[p].resize(ran_[p].result.edits.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const Mark& mark = marks_[i];
        if (mark.pass == Mark::none) continue;
        if (takes_groups(ran_[mark.pass].result.edits[mark.edit])) {
            taken[mark.pass][mark.edit].push_back(i);
        } else if (auto made = rewritten(i)) {
            out.push_back(*std::move(made));
        }
    }
    for (std::size_t p = 0; p < ran_.size(); ++p)
        for (std::size_t e = 0; e < taken[p].size(); ++e)
            if (!taken[p][e].empty())
                add_taken(out, ran_[p], ran_[p].result.edits[e], std::move(taken[p][e]));
    std::stable_sort(out.begin(), out.end(), [](const Made& a, const Made& b) {
        return a.edit.range.from < b.edit.range.from;
    });
    return out;
}

}  // namespace palimpsest
