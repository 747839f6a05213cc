// The judge of folds: naive on purpose, it asks every edit in force about every message. What the
// product shows must be what the judge shows.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "core/fold.h"

namespace palimpsest::judge {

// What is shown, in order: a message with its treatment, or a summary at its first message.
struct Shown {
    Seq at = {};
    Treatment treatment = Treatment::verbatim;
    Seq by = {};
    std::uint32_t edit = 0;
    bool operator==(const Shown&) const = default;
};

struct Picture {
    std::vector<Shown> shown = {};
    std::uint64_t tokens = 0;
    bool operator==(const Picture&) const = default;
};

using Log = std::vector<Entry>;

inline std::vector<Entry> edits_upto(const Log& log, Seq at) {
    std::vector<Entry> out;
    for (const Entry& entry : log)
        if (entry.seq <= at && basis_kinds.has(kind_of(entry.body))) out.push_back(entry);
    return out;
}

inline std::vector<Change> changes_in_force(const Log& log, Seq at) {
    std::map<Seq, int> switched;
    for (const Entry& entry : edits_upto(log, at))
        if (const auto* undo = std::get_if<UndoEntry>(&entry.body)) ++switched[undo->root];
    std::vector<Change> out;
    for (const Entry& entry : edits_upto(log, at))
        if (!std::holds_alternative<UndoEntry>(entry.body) && switched[entry.seq] % 2 == 0)
            out.push_back(change_of(entry.seq, entry.body));
    return out;
}

// Of a summary: something that it tells was taken back after it was made.
inline bool tells_what_went(Range summary, Seq made, const std::vector<Change>& changes) {
    for (const Change& change : changes)
        for (Seq seq = summary.from; change.seq > made && seq <= summary.to; seq = seq + 1)
            for (const Range& gone : change.taken_back)
                if (gone.contains(seq)) return true;
    return false;
}

// `cost` gives the tokens of a message.
template <class Cost>
Picture picture_of(const Log& log, Seq at, Cost message_cost) {
    const std::vector<Change> changes = changes_in_force(log, at);
    std::set<Seq> pinned;
    for (const Change& change : changes)
        for (const Seq seq : change.pin_targets)
            change.pin_on ? void(pinned.insert(seq)) : void(pinned.erase(seq));
    Picture picture;
    std::set<std::pair<Seq, std::uint32_t>> summaries;
    for (const Entry& entry : log) {
        if (entry.seq > at || kind_of(entry.body) != EntryKind::message) continue;
        Shown best{entry.seq, Treatment::verbatim, Seq{}, 0};
        std::uint64_t cost = message_cost(entry);
        if (!pinned.contains(entry.seq))
            for (const Change& change : changes)
                for (std::uint32_t i = 0; i < change.statements.size(); ++i) {
                    const auto& said = change.statements[i];
                    if (!said.range.contains(entry.seq) || said.treatment < best.treatment)
                        continue;
                    if (said.treatment == Treatment::folded &&
                        tells_what_went(said.range, change.seq, changes))
                        continue;
                    best = {entry.seq, said.treatment, change.seq, i};
                    cost = said.tokens;
                }
        if (best.treatment == Treatment::dropped) continue;
        const bool first =
            best.treatment == Treatment::verbatim || summaries.insert({best.by, best.edit}).second;
        if (best.treatment == Treatment::folded && !first) continue;
        if (first) picture.tokens += cost;
        picture.shown.push_back(best);
    }
    return picture;
}

}  // namespace palimpsest::judge
