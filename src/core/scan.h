// What planning asks of the items of a view again and again. Items lie far apart in memory: this is
// put next to each other, once, when an item is added to its view.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "palimpsest/compaction.h"
#include "palimpsest/view.h"

namespace palimpsest {

struct ItemFacts {
    Seq from = {};  // of its range
    std::uint32_t tokens = 0;
    std::uint32_t group = 0;   // counted in the order in which they begin
    std::uint32_t calls = 0;   // that it makes
    std::uint32_t closes = 0;  // calls of its own group that it is the first to answer
    Treatment treatment = Treatment::verbatim;  // folded: it is a summary
    std::uint8_t roles = 0;                     // a bit for each that speaks in it
    bool pinned : 1 = false, reasoning : 1 = false;
    bool starts_turn : 1 = false;
    bool answers : 1 = false;           // an assistant's message without calls
    bool results : 1 = false;           // it carries results of tools
    bool may_be_sealed : 1 = false;     // a provider's own compaction may be in it
    bool in_order : 1 = true;           // its seqs are behind those of the item before
    bool closes_elsewhere : 1 = false;  // it answers calls of other groups as well
};

bool starts_turn(const Item& item);
// A summary that stands for less than it tells of. It is not folded again: the new one would tell
// of what it does not stand for, and the rest of the old one would stay.
bool tells_more(std::span<const Item> items, const Group& group);
// A call that a message of the role `function` answers, or such an answer: neither has an id, and
// only what stands right beside it can belong to it. Never wrongly false.
bool may_pair_without_id(const Message& message);
constexpr std::uint8_t bit_of(Role role) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(role));
}
// It reasons, and a run of calls that it began must begin with it still when it is sent.
bool binds_run(const Item& item);

// The calls made so far, and which of them a result answers: the newest one with its id. Results
// mostly follow their calls at once, so an index of all ids is made only when one does not. Looks
// into the ids it was given.
class Calls {
public:
    struct Call {
        std::string_view id;
        std::uint32_t group = 0;
        bool answered = false;
    };
    void add(const std::vector<std::string>& ids, std::uint32_t group);  // of one message
    Call* find(std::string_view id);

private:
    std::vector<Call> all_;
    std::size_t newest_ = 0, indexed_ = 0;
    std::unordered_map<std::string_view, std::size_t> index_;
};

// What the model said at once in several items, and what answers it without naming it: the group
// that the next item may belong to.
class Row {
public:
    std::optional<std::uint32_t> joined_by(const Item& item) const;
    void add(const Item& item, std::uint32_t group);

private:
    std::optional<std::uint32_t> group_;
    std::optional<std::uint32_t>
        said_;  // of what the model said last, where it may still be answered
    bool reasoned_ = false;
    bool calls_ = false;  // there are some that somebody must answer
    bool led_ = false;    // to something beside reasoning
    FormatId format_ = {};
};

// Takes down the facts of one item after the other. The items must outlive it.
class FactTaker {
public:
    ItemFacts take(const Item& item);

private:
    Calls calls_;
    std::uint32_t groups_ = 0;
    Seq last_;
    Row row_;
};
std::vector<ItemFacts> facts_of(std::span<const Item> items);

// By group, counted from that of the first item, whose group must begin with it: calls without a
// result. The items are the last ones of a view, or all.
std::vector<std::uint32_t> count_unanswered(std::span<const Item> items,
                                            std::span<const ItemFacts> facts);

struct Scan {
    std::vector<ItemFacts> own = {};        // when they had to be found
    std::span<const ItemFacts> facts = {};  // by item
    std::vector<Group> groups = {};
    std::vector<Turn> turns = {};
    std::size_t live = 0;        // only from this group on can one be open
    bool in_order = true;        // items stand in the order of their seqs
    bool pins = false;           // there is one
    bool may_be_sealed = false;  // one may be
};
// `known` are the facts of the items, if they are kept with them (Items::facts).
Scan scan_items(std::span<const Item> items, std::span<const ItemFacts> known = {});

std::vector<Turn> turns_of(std::span<const ItemFacts> facts, std::span<const Group> groups);

// Items that stand next to each other.
struct ItemRun {
    std::size_t first = 0, last = 0;  // inclusive
};
// Adds `run`, which stands behind all that are there.
inline void add_run(std::vector<ItemRun>& runs, const ItemRun& run) {
    if (!runs.empty() && runs.back().last + 1 == run.first)
        runs.back().last = run.last;
    else
        runs.push_back(run);
}

// The seqs of ascending runs, as few ranges as can be: gaps between chosen items hold nothing that
// is shown, so they go along. `in_order`: items stand in the order of their seqs; then every run
// has one range, and they stand in the same order.
std::vector<Range> ranges_of(std::span<const Item> items, std::span<const ItemRun> runs,
                             bool in_order);

}  // namespace palimpsest
