#include "core/fold.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"

namespace palimpsest {
namespace {

bool same_edit(const Run& a, const Run& b) {
    return a.treatment == b.treatment && a.by == b.by && a.edit == b.edit;
}

// Appends a run, growing the last one when it goes on alike.
void push_run(std::vector<Run>& runs, const Run& run) {
    if (run.range.empty()) return;
    PAL_ASSERT(runs.empty() || runs.back().range.to + 1 == run.range.from);
    if (!runs.empty() && same_edit(runs.back(), run))
        runs.back().range.to = run.range.to;
    else
        runs.push_back(run);
}

// Runs by their first seq, so that a statement costs what it touches and not the whole view.
class RunMap {
public:
    explicit RunMap(const std::vector<Run>& runs) {
        for (const Run& run : runs) runs_.emplace_hint(runs_.end(), run.range.from, run);
    }

    // Lays `winner` over every run in `range` that is no stronger than `at_most`.
    void lay(Range range, const Run& winner, Treatment at_most) {
        if (range.empty()) return;
        split(range.from);
        split(range.to + 1);
        for (auto at = runs_.lower_bound(range.from); at != runs_.end() && at->first <= range.to;
             ++at) {
            if (at->second.treatment > at_most) continue;
            const Range kept = at->second.range;
            at->second = winner;
            at->second.range = kept;
        }
    }

    std::vector<Run> take() const {
        std::vector<Run> out;
        out.reserve(runs_.size());
        for (const auto& [from, run] : runs_) push_run(out, run);
        return out;
    }

private:
    // Makes `at` the beginning of a run, if it lies in one.
    void split(Seq at) {
        auto next = runs_.upper_bound(at);
        if (next == runs_.begin()) return;
        Run& run = std::prev(next)->second;
        if (run.range.from == at || run.range.to < at) return;
        Run rest = run;
        rest.range.from = at;
        run.range.to = at - 1;
        runs_.emplace_hint(next, at, rest);
    }

    std::map<Seq, Run> runs_;
};

bool overlap(Range a, Range b) {
    return a.from <= b.to && b.from <= a.to;
}

// `later` are the changes behind this one.
void lay_statements(RunMap& runs, const Change& change, std::span<const Change> later) {
    for (std::uint32_t i = 0; i < change.statements.size(); ++i) {
        const Change::Statement& said = change.statements[i];
        if (said.treatment == Treatment::folded && is_untold(said.range, change.seq, later))
            continue;
        runs.lay(said.range, Run{{}, said.treatment, change.seq, i, said.tokens}, said.treatment);
    }
}

void lay_pins(RunMap& runs, const std::vector<Seq>& pinned) {
    for (const Seq seq : pinned) runs.lay({seq, seq}, Run{}, Treatment::dropped);
}

void apply_pins(Fold& fold, const Change& change) {
    std::vector<Seq> pinned;
    if (change.pin_on)
        std::set_union(fold.pinned.begin(), fold.pinned.end(), change.pin_targets.begin(),
                       change.pin_targets.end(), std::back_inserter(pinned));
    else
        std::set_difference(fold.pinned.begin(), fold.pinned.end(), change.pin_targets.begin(),
                            change.pin_targets.end(), std::back_inserter(pinned));
    fold.pinned = std::move(pinned);
}

// The item of `old` that counted exactly this run.
const BasisItem* counted(const Basis* old, const Run& run) {
    if (!old) return nullptr;
    const auto at =
        std::lower_bound(old->items.begin(), old->items.end(), run.range.from,
                         [](const BasisItem& item, Seq from) { return item.range.from < from; });
    const bool same = at != old->items.end() && at->range == run.range &&
                      at->treatment == run.treatment && at->by == run.by && at->edit == run.edit;
    return same ? &*at : nullptr;
}

struct Tally {
    std::uint32_t messages = 0;
    std::uint64_t tokens = 0;
};
Tally tally(std::span<const MessageFact> facts, Range range) {
    auto at = std::lower_bound(facts.begin(), facts.end(), range.from,
                               [](const MessageFact& fact, Seq from) { return fact.seq < from; });
    Tally sum;
    for (; at != facts.end() && at->seq <= range.to; ++at) {
        ++sum.messages;
        sum.tokens += at->tokens;
    }
    return sum;
}

}  // namespace

Change change_of(Seq seq, const Body& body) {
    Change change{.seq = seq};
    if (const auto* compaction = std::get_if<CompactionEntry>(&body)) {
        for (const Edit& edit : compaction->edits)
            change.statements.push_back({edit.treatment, edit.range, edit.after.tokens});
    } else if (const auto* retract = std::get_if<RetractEntry>(&body)) {
        change.statements.push_back({Treatment::dropped, retract->range, 0});
        for (const Seq other : retract->also)
            change.statements.push_back({Treatment::dropped, {other, other}, 0});
        for (const Change::Statement& hidden : change.statements)
            change.taken_back.push_back(hidden.range);
    } else if (const auto* rewind = std::get_if<RewindEntry>(&body)) {
        change.statements.push_back({Treatment::dropped, {rewind->to + 1, rewind->upto}, 0});
        change.taken_back.push_back({rewind->to + 1, rewind->upto});
    } else if (const auto* pin = std::get_if<PinEntry>(&body)) {
        change.pin_targets = pin->targets;
        change.pin_on = pin->on;
    }
    return change;
}

Fold empty_fold(Seq upto) {
    Fold fold{.upto = upto};
    push_run(fold.runs, Run{.range = {Seq{1}, upto}});
    return fold;
}

Fold resume_fold(const Basis& basis, Seq upto) {
    PAL_ASSERT(basis.upto <= upto);
    Fold fold{.upto = upto, .runs = {}, .applied = basis.applied, .pinned = basis.pinned};
    Seq next{1};
    const auto drop_until = [&](Seq to) {
        push_run(fold.runs, Run{.range = {next, to}, .treatment = Treatment::dropped});
        next = std::max(next, to + 1);
    };
    for (const BasisItem& item : basis.items) {
        drop_until(item.range.from - 1);
        const bool verbatim = item.treatment == Treatment::verbatim;
        push_run(fold.runs,
                 Run{item.range, item.treatment, item.by, item.edit, verbatim ? 0 : item.tokens});
        next = item.range.to + 1;
    }
    drop_until(basis.upto);
    push_run(fold.runs, Run{.range = {basis.upto + 1, upto}});
    return fold;
}

bool needs_refold(const Fold& fold, const Change& change) {
    if (!change.taken_back.empty())
        return std::ranges::any_of(
            fold.runs, [](const Run& run) { return run.treatment == Treatment::folded; });
    return !change.pin_targets.empty() && !change.pin_on;
}

bool is_untold(Range summary, Seq by, std::span<const Change> changes) {
    return std::ranges::any_of(changes, [&](const Change& change) {
        return change.seq > by && std::ranges::any_of(change.taken_back, [&](Range gone) {
                   return overlap(summary, gone);
               });
    });
}

void apply_change(Fold& fold, const Change& change) {
    PAL_ASSERT(fold.applied.empty() || fold.applied.back() < change.seq);
    PAL_ASSERT(!needs_refold(fold, change));
    RunMap runs(fold.runs);
    lay_statements(runs, change, {});
    apply_pins(fold, change);
    lay_pins(runs, fold.pinned);
    fold.runs = runs.take();
    fold.applied.push_back(change.seq);
}

Fold refold(std::span<const Change> changes, Seq upto) {
    Fold fold = empty_fold(upto);
    RunMap runs(fold.runs);
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const Change& change = changes[i];
        PAL_ASSERT(fold.applied.empty() || fold.applied.back() < change.seq);
        lay_statements(runs, change, changes.subspan(i + 1));
        apply_pins(fold, change);
        fold.applied.push_back(change.seq);
    }
    lay_pins(runs, fold.pinned);
    fold.runs = runs.take();
    return fold;
}

std::vector<Range> facts_needed(const Fold& fold, const Basis* old) {
    std::vector<Range> ranges;
    for (const Run& run : fold.runs)
        if (run.treatment != Treatment::dropped && !counted(old, run)) ranges.push_back(run.range);
    return ranges;
}

Basis seal_basis(const Fold& fold, const Basis* old, std::span<const MessageFact> facts,
                 std::uint16_t scheme) {
    Basis basis{.upto = fold.upto,
                .scheme = scheme,
                .items = {},
                .applied = fold.applied,
                .pinned = fold.pinned};
    for (const Run& run : fold.runs) {
        if (run.treatment == Treatment::dropped) continue;
        if (const BasisItem* known = counted(old, run)) {
            basis.items.push_back(*known);
            continue;
        }
        const Tally sum = tally(facts, run.range);
        if (sum.messages == 0) continue;
        const bool verbatim = run.treatment == Treatment::verbatim;
        basis.items.push_back({run.range, run.treatment, run.by, run.edit, sum.messages,
                               verbatim ? sum.tokens : run.tokens});
    }
    return basis;
}

Basis store_basis(Basis basis) {
    std::erase(basis.applied, seq_of_new);
    for (BasisItem& item : basis.items)
        if (item.by == seq_of_new) item.by = Seq{};
    return basis;
}

Basis resolve_basis(const Entry& entry) {
    PAL_ASSERT(basis_of(entry.body));
    Basis basis = *basis_of(entry.body);
    for (BasisItem& item : basis.items)
        if (item.treatment != Treatment::verbatim && item.by == Seq{}) item.by = entry.seq;
    if (kind_of(entry.body) != EntryKind::undo) basis.applied.push_back(entry.seq);
    return basis;
}

std::uint64_t tokens_of(const Basis& basis) {
    std::uint64_t tokens = 0;
    std::map<std::pair<Seq, std::uint32_t>, bool> seen;
    for (const BasisItem& item : basis.items)
        if (item.treatment == Treatment::verbatim ||
            !std::exchange(seen[{item.by, item.edit}], true))
            tokens += item.tokens;
    return tokens;
}

std::optional<Seq> undo_root(Seq target, const Body& body) {
    if (const auto* undo = std::get_if<UndoEntry>(&body)) return undo->root;
    if (basis_kinds.has(kind_of(body))) return target;
    return std::nullopt;
}

std::vector<Seq> in_force(std::span<const Entry> edit_entries) {
    std::map<Seq, bool> on;
    for (const Entry& entry : edit_entries) {
        if (const auto* undo = std::get_if<UndoEntry>(&entry.body))
            on[undo->root] = !on[undo->root];
        else
            on[entry.seq] = true;
    }
    std::vector<Seq> out;
    for (const auto& [seq, is_on] : on)
        if (is_on) out.push_back(seq);
    return out;
}

}  // namespace palimpsest
