#include "core/plan_draft.h"

#include <algorithm>
#include <iterator>
#include <numeric>
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
      facts_(scan.facts),
      in_order_(scan.in_order),
      shields_(shields(items_, scan, policy.protect, input.tools)) {
    own_facts_ = std::move(scan.own);
    groups_ = std::move(scan.groups);
    turns_ = std::move(scan.turns);
    const Budget& budget = input.occasion.budget;
    tokens_.resize(facts_.size());
    treatments_.resize(facts_.size());
    std::uint64_t used = budget.fixed();
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        tokens_[i] = facts_[i].tokens + budget.per_message;
        treatments_[i] = facts_[i].treatment;
        used += tokens_[i];
    }
    used_ = used;
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
    if (result.edits.empty()) return true;
    Ran ran{pass.name, std::move(result)};
    if (!gains(ran, min_gain)) return true;
    apply(ran.result, static_cast<std::uint32_t>(ran_.size()));
    ran_.push_back(std::move(ran));
    return true;
}

// Takes out what the pass may not touch.
void PlanDraft::keep_reachable(PassResult& result) const {
    for (PlannedEdit& edit : result.edits)
        if (takes_groups(edit))
            std::erase_if(edit.groups, [&](std::size_t g) {
                if (g >= groups_.size() || shields_[g] != Shield::none) return true;
                const bool summary = treatments_[groups_[g].first] == Treatment::folded;
                return edit.treatment == Treatment::folded && summary &&
                       tells_more(items_, groups_[g]);
            });
    std::erase_if(result.edits, [&](const PlannedEdit& edit) {
        if (takes_groups(edit)) return edit.groups.empty();
        if (edit.item >= items_.size() || !result.rewrite) return true;
        const std::size_t g = group_of(groups_, edit.item);
        if (g >= groups_.size() || groups_[g].first > edit.item) return true;
        if (items_[edit.item].kind == ItemKind::summary) return true;
        const Shield most = edit.treatment == Treatment::shortened ? Shield::kept : Shield::stays;
        return shields_[g] > most || treatments_[edit.item] > edit.treatment;
    });
}

// What the edits of whole groups free. Of very many groups a few are enough.
std::int64_t PlanDraft::gain_of_groups(const PassResult& result, std::uint64_t enough) const {
    std::int64_t gain = 0;
    for (const PlannedEdit& edit : result.edits)
        if (edit.treatment == Treatment::folded) gain -= edit.tokens_after;
    for (const PlannedEdit& edit : result.edits) {
        if (!takes_groups(edit)) continue;
        for (const std::size_t g : edit.groups) {
            if (gain >= static_cast<std::int64_t>(enough)) return gain;
            for (std::size_t i = groups_[g].first; i <= groups_[g].last; ++i) gain += tokens_[i];
        }
    }
    return gain;
}

// The item as these rewrites leave it; they are by item.
Message PlanDraft::message_after(std::size_t item, std::span<const Rewrite> rewrites) const {
    const auto own = std::ranges::equal_range(rewrites, item, {}, &Rewrite::item);
    if (!own.empty())
        if (auto made = rewritten(own)) return std::move(made->message);
    Message message = items_[item].message;
    message.count = {input_.tools->scheme(), items_[item].tokens};
    return message;
}

// Rewrites the item of the edit and keeps what came out; returns what that really frees.
std::int64_t PlanDraft::make_early(Ran& ran, std::size_t edit,
                                   std::span<const Rewrite> before) const {
    const std::uint32_t framing = input_.occasion.budget.per_message;
    const auto tokens = [&](const Message& message) {
        return message.raw ? std::int64_t{message.count.tokens} + framing : 0;
    };
    const Message now = message_after(ran.result.edits[edit].item, before);
    if (!now.raw) return 0;
    ran.made[edit] = rewritten_by(ran, edit, now);
    return ran.made[edit] ? tokens(now) - tokens(*ran.made[edit]) : 0;
}

// Whether the edits really free as much as that. Of 0 nothing is asked: some edits may grow. The
// newest are rewritten first, because a later pass may still take the oldest away.
bool PlanDraft::gains(Ran& ran, std::uint64_t least) const {
    if (least == 0) return true;
    const auto enough = static_cast<std::int64_t>(least);
    std::int64_t gain = gain_of_groups(ran.result, least);
    std::int64_t most = gain;
    for (const PlannedEdit& edit : ran.result.edits)
        if (!takes_groups(edit))
            most += facts_[edit.item].tokens + input_.occasion.budget.per_message;
    if (most < enough || !input_.tools) return gain >= enough;
    const std::vector<Rewrite> before = lasting_rewrites();
    ran.made.resize(ran.result.edits.size());
    for (std::size_t e = ran.result.edits.size(); e-- > 0;) {
        if (gain >= enough && !ran.result.may_grow) break;
        if (!takes_groups(ran.result.edits[e])) gain += make_early(ran, e, before);
    }
    return gain >= enough;
}

void PlanDraft::apply(const PassResult& result, std::uint32_t pass) {
    Marks gone(groups_.size());
    bool any_gone = false;
    for (std::uint32_t e = 0; e < result.edits.size(); ++e) {
        const PlannedEdit& edit = result.edits[e];
        if (!takes_groups(edit)) {
            used_ = used_ - tokens_[edit.item] + edit.tokens_after;
            tokens_[edit.item] = edit.tokens_after;
            treatments_[edit.item] = edit.treatment;
            rewrites_.push_back({edit.item, pass, e});
            continue;
        }
        if (edit.treatment == Treatment::folded) used_ += edit.tokens_after;
        Taken taken{pass, e};
        take(taken, edit, gone);
        if (taken.runs.empty()) continue;
        any_gone = true;
        taken_.push_back(std::move(taken));
    }
    if (any_gone) remove_groups(gone);
}

void PlanDraft::take(Taken& taken, const PlannedEdit& edit, Marks& gone) {
    for (const std::size_t g : edit.groups) {
        if (gone[g]) continue;
        gone[g] = true;
        add_run(taken.runs, {groups_[g].first, groups_[g].last});
    }
    if (!std::ranges::is_sorted(taken.runs, {}, &ItemRun::first)) {
        std::ranges::sort(taken.runs, {}, &ItemRun::first);
        for (const ItemRun& run : std::exchange(taken.runs, {})) add_run(taken.runs, run);
    }
    for (const ItemRun& run : taken.runs) {
        const auto first = static_cast<std::ptrdiff_t>(run.first),
                   behind = static_cast<std::ptrdiff_t>(run.last) + 1;
        used_ -=
            std::accumulate(tokens_.begin() + first, tokens_.begin() + behind, std::uint64_t{0});
        std::fill(treatments_.begin() + first, treatments_.begin() + behind, edit.treatment);
    }
}

void PlanDraft::remove_groups(const Marks& gone) {
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

// By item, in the order of the passes, without items that later passes took away.
std::vector<PlanDraft::Rewrite> PlanDraft::lasting_rewrites() const {
    std::vector<Rewrite> out = rewrites_;
    std::erase_if(out,
                  [&](const Rewrite& one) { return treatments_[one.item] >= Treatment::folded; });
    std::ranges::stable_sort(out, {}, &Rewrite::item);
    return out;
}

// Nothing when there is nothing to change, or it would not become smaller.
std::optional<Message> PlanDraft::rewritten_by(const Ran& ran, std::size_t edit,
                                               const Message& message) const {
    if (edit < ran.made.size() && ran.made[edit]) return ran.made[edit];
    const auto changes = ran.result.rewrite(ran.result.edits[edit].item, message);
    if (!changes || changes->empty()) return std::nullopt;
    auto out = input_.tools->rewrite(message, *changes);
    if (!out) return std::nullopt;
    const bool smaller = !out->raw || out->count.tokens < message.count.tokens;
    if (!smaller && !ran.result.may_grow) return std::nullopt;
    return *std::move(out);
}

// All rewrites of one item: each changes what the one before left.
std::optional<PlanDraft::Made> PlanDraft::rewritten(std::span<const Rewrite> rewrites) const {
    if (!input_.tools) return std::nullopt;
    const std::size_t item = rewrites.front().item;
    const Count before{input_.tools->scheme(), items_[item].tokens};
    Made made;
    made.edit.treatment = Treatment::verbatim;
    made.message = items_[item].message;
    made.message.count = before;
    for (const Rewrite& rewrite : rewrites) {
        const Ran& ran = ran_[rewrite.pass];
        const PlannedEdit& planned = ran.result.edits[rewrite.edit];
        auto message = rewritten_by(ran, rewrite.edit, made.message);
        if (!message) continue;
        const bool gone = !message->raw;
        made.runs = {{item, item}};
        made.edit.treatment =
            gone ? Treatment::dropped : std::max(made.edit.treatment, planned.treatment);
        made.edit.reason += (made.edit.reason.empty() ? "" : ", ") + planned.reason;
        made.edit.pass = ran.name;
        made.message = *std::move(message);
        if (gone) break;
    }
    if (made.runs.empty()) return std::nullopt;
    made.edit.range = items_[item].range;
    made.edit.result = made.message.raw;
    made.edit.format = made.message.format;
    made.edit.before = before;
    if (made.message.raw) made.edit.after = made.message.count;
    return made;
}

// Leaves it without a result when there is nothing to say.
void PlanDraft::set_summary(Made& made) const {
    SummaryOrder& order = *made.summary;
    order.range = made.edit.range;
    // Of a huge stretch the newest part is enough: no more of it is read anyway.
    std::vector<const Item*> folded;
    for (auto run = made.runs.rbegin(); run != made.runs.rend(); ++run)
        for (std::size_t i = run->last + 1; i-- > run->first && folded.size() < summary_items_max;)
            folded.push_back(&items_[i]);
    std::ranges::reverse(folded);
    std::vector<const Item*> later;
    const std::size_t behind = made.runs.back().last + 1;
    for (std::size_t i = items_.size(); i-- > behind && later.size() < summary_items_max;)
        later.push_back(&items_[i]);
    std::ranges::reverse(later);
    ExtractOptions options{
        .max_tokens = order.max_tokens, .concepts = order.concepts, .later = later};
    const std::string text = extract_summary(folded, options, *input_.tools);
    if (text.empty()) return;
    made.edit.result = make_bytes(dress_summary(order, text));
    made.edit.after = {input_.tools->scheme(), input_.tools->count_text(*made.edit.result)};
}

// One edit for each stretch of seqs.
std::vector<PlanDraft::Made> PlanDraft::stretches_of(const Taken& taken) const {
    const Ran& ran = ran_[taken.pass];
    const PlannedEdit& planned = ran.result.edits[taken.edit];
    const std::vector<Range> ranges = ranges_of(items_, taken.runs, in_order_);
    std::vector<Made> stretches(ranges.size());
    for (std::size_t r = 0; r < ranges.size(); ++r) {
        Edit& edit = stretches[r].edit;
        edit.treatment = planned.treatment;
        edit.range = ranges[r];
        edit.reason = planned.reason;
        edit.pass = ran.name;
        edit.before.scheme = input_.tools ? input_.tools->scheme() : std::uint16_t{0};
    }
    const auto stretch_of = [&](std::size_t i) -> Made* {
        const auto after = std::ranges::upper_bound(ranges, facts_[i].from, {}, &Range::from);
        if (after == ranges.begin()) return nullptr;
        return &stretches[static_cast<std::size_t>(after - ranges.begin()) - 1];
    };
    for (std::size_t r = 0; r < taken.runs.size(); ++r) {
        const ItemRun& run = taken.runs[r];
        if (in_order_) stretches[r].runs = {run};
        for (std::size_t i = run.first; i <= run.last; ++i) {
            Made* const made = in_order_ ? &stretches[r] : stretch_of(i);
            if (!made) continue;
            if (!in_order_) add_run(made->runs, {i, i});
            made->edit.before.tokens += facts_[i].tokens;
        }
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
        for (const ItemRun& run : stretches[s].runs)
            for (std::size_t i = run.first; i <= run.last; ++i) {
                const std::size_t g = group_of(groups, i);
                const std::size_t other = root(seen.try_emplace(g, s).first->second);
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
        if (root(s) != s || made.runs.empty()) continue;
        made.summary = planned.summary ? *planned.summary : SummaryOrder{};
        set_summary(made);
    }
    std::vector<bool> stands(stretches.size());
    for (std::size_t s = 0; s < stretches.size(); ++s) {
        const Made& with = stretches[root(s)];
        // A summary that says nothing, or is no shorter than what it stands for, is none.
        const bool says = with.edit.result && with.edit.after.tokens < before[root(s)];
        stands[s] = !with.summary || says;
        if (!stands[s]) continue;
        // Also the rest of an older summary, whose text went into the new one.
        if (root(s) != s || stretches[s].runs.empty())
            stretches[s].edit.treatment = Treatment::dropped;
    }
    for (std::size_t s = 0; s < stretches.size(); ++s)
        if (stands[s]) out.push_back(std::move(stretches[s]));
}

void PlanDraft::add_taken(std::vector<Made>& out, const Taken& taken) const {
    const PlannedEdit& planned = ran_[taken.pass].result.edits[taken.edit];
    std::vector<Made> stretches = stretches_of(taken);
    if (planned.treatment == Treatment::folded) {
        if (input_.tools) add_folds(out, std::move(stretches), planned);
    } else {
        std::ranges::move(stretches, std::back_inserter(out));
    }
}

std::vector<PlanDraft::Made> PlanDraft::finish() const {
    std::vector<Made> out;
    const std::vector<Rewrite> rewrites = lasting_rewrites();
    for (std::size_t from = 0, to = 0; from < rewrites.size(); from = to) {
        while (to < rewrites.size() && rewrites[to].item == rewrites[from].item) ++to;
        if (auto made = rewritten(std::span(rewrites).subspan(from, to - from)))
            out.push_back(*std::move(made));
    }
    for (const Taken& taken : taken_) add_taken(out, taken);
    std::stable_sort(out.begin(), out.end(), [](const Made& a, const Made& b) {
        return a.edit.range.from < b.edit.range.from;
    });
    return out;
}

}  // namespace palimpsest
