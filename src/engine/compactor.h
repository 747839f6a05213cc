// One compaction, from what is due to what is written: the occasion, the plan, the wording of its
// summaries, its report, and its entries. Decides nothing about when: begin, finish, compact, jobs
// and shrink do.
//
// The plan is pure and complete before a summariser is asked; whatever that one does (fails, is
// late, writes nonsense) the deterministic text stands, and the report says so.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/plan.h"
#include "engine/policies.h"
#include "engine/state.h"
#include "engine/wording.h"

namespace palimpsest {

// What is sent beside the view.
struct Beside {
    std::string_view model = {}, tools = {}, parameters = {};
    std::span<const Message> preamble = {};
    std::span<const Item> items = {};  // the view itself, for triggers that look at it
};

// Reads sums only, of a view that was counted for the model (measure.h); `now` is the clock's.
Occasion make_occasion(Memory::State& state, const ViewTotals& totals, const CallState& calls,
                       const Beside& beside);

struct Planned {
    Plan plan = {};
    PolicyInForce in_force = {};
    CompactionReport report = {};
    // What the report is made from.
    Budget budget = {};
    ViewTotals totals = {};
    Bill bill = {};
};

// `view` is what is compacted, counted for the occasion's model; `occasion` has its totals.
Planned plan_compaction(Memory::State& state, const View& view, const Occasion& occasion,
                        const PolicyInForce& in_force, const Due& due, const SummaryWait& patience);

// A message was put in front of `at`, which is not written yet: what the plan says of that one and
// of those behind it moves on.
void make_room(Planned& planned, Seq at);

// The same edits on a view that has more or less beside what they cover: what is told follows.
void move_to(Planned& planned, const View& view);

// What is told of it.
Compaction told_of(const Planned& planned, Seq seq = {});

// The compaction entry, without its basis, and the note that stands behind it with the report; of
// one by hand also with a digest of what was asked for.
CompactionEntry entry_of(const Planned& planned, Cause cause);
NoteEntry report_note(const CompactionReport& report, std::string_view digest = {});
std::string digest_in(const NoteEntry& note);
// What the note says; the report of an entry that has none is empty.
CompactionReport read_report_note(const NoteEntry& note);

// Counts it, and writes its line to the log.
void announce(Memory::State& state, const ConversationId& name, const Compaction& compaction);

// The view that these edits make of one, without writing them. `internal` when a result cannot be
// read.
Result<View> with_edits(const View& view, std::span<const Edit> edits);

}  // namespace palimpsest
