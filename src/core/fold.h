// The fold: from what the entries in force say to the runs of the view.
//
// All of it is arithmetic over seqs. Edits are absolute statements about ranges; per message the
// strongest in force wins, of equals the later; pinned means verbatim whatever the edits say.
// A summary that tells of anything which was taken back after it (retract, rewind) is not shown:
// what it stood for and was not taken back is as the other edits say.
// Two ways lead to a basis and must agree (tests/core/fold_test.cpp holds them to it):
// from the previous basis and one new entry, and from all entries in force.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "palimpsest/entry.h"

namespace palimpsest {

// What one edit entry says, without bytes or reasons.
struct Change {
    struct Statement {
        Treatment treatment = Treatment::dropped;
        Range range = {};
        std::uint64_t tokens = 0;  // of its result
    };
    Seq seq = {};
    std::vector<Statement> statements = {};
    std::vector<Seq> pin_targets = {};
    bool pin_on = true;
    std::vector<Range> taken_back = {};  // of these nothing said before this entry tells any more
};
// Of a compaction, pin, retract or rewind; other bodies say nothing by themselves.
Change change_of(Seq seq, const Body& body);

// A stretch of seqs that fare alike. Runs of one fold are ascending, disjoint and without gaps:
// dropped stretches are in it.
struct Run {
    Range range = {};
    Treatment treatment = Treatment::verbatim;
    Seq by = {};
    std::uint32_t edit = 0;
    std::uint64_t tokens = 0;  // of the edit's result
    bool operator==(const Run&) const = default;
};

// One message, as much of it as the fold needs.
struct MessageFact {
    Seq seq = {};
    std::uint32_t tokens = 0;
};

// A fold under way: what is in force up to `upto`.
struct Fold {
    Seq upto = {};
    std::vector<Run> runs = {};
    std::vector<Seq> applied = {};
    std::vector<Seq> pinned = {};
};

// Everything verbatim.
Fold empty_fold(Seq upto);
// The fold that a basis stands for, with the messages after it up to `upto` verbatim.
Fold resume_fold(const Basis& basis, Seq upto);
// Adds an entry that is newer than all that is in force. What uncovers something cannot be added:
// see needs_refold().
void apply_change(Fold& fold, const Change& change);
// From scratch; changes ascending. Gives the same as applying them one by one.
Fold refold(std::span<const Change> in_force, Seq upto);
// Whether what lies beneath is needed, an unpin or words taken back where a summary stands, so that
// the fold must be made anew from all in force.
bool needs_refold(const Fold& fold, const Change& change);
// Whether a summary of these messages, of the entry `by`, tells what one of the changes took back.
bool is_untold(Range summary, Seq by, std::span<const Change> changes);

// The ranges whose message facts seal_basis() needs beyond what `old` already counted.
std::vector<Range> facts_needed(const Fold& fold, const Basis* old);
// Counts the runs and leaves out the empty ones. `facts` are ascending and cover facts_needed().
Basis seal_basis(const Fold& fold, const Basis* old, std::span<const MessageFact> facts,
                 std::uint16_t scheme);

// An entry is planned before its seq is known. It is folded under the name `seq_of_new`, and stored
// without it: store_basis() takes the name out, resolve_basis() puts the real seq in.
constexpr Seq seq_of_new = seq_max;
Basis store_basis(Basis basis);
Basis resolve_basis(const Entry& entry);  // of an entry that carries one

// The tokens of the whole view that a basis describes (up to its `upto`).
std::uint64_t tokens_of(const Basis& basis);

// What an undo of `target` would switch: the root of its chain. Null: it is not an edit entry.
// `body` is the target's.
std::optional<Seq> undo_root(Seq target, const Body& body);
// Every entry in force after the given edit entries (ascending, bodies of the basis kinds): the
// long way, for refolding from scratch.
std::vector<Seq> in_force(std::span<const Entry> edit_entries);

}  // namespace palimpsest
