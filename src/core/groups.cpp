// Groups and turns: what must stay together.
//
// One walk gives every item its group: a call opens a group, results join the group of the newest
// call with their id, everything else is a group by itself. Sending groups in the order of their
// first items is what keeps pairs together when two turns were written at the same time.
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "core/scan.h"
#include "palimpsest/view.h"

namespace palimpsest {
namespace {

struct Membership {
    std::vector<std::uint32_t> group_of;    // by item
    std::vector<std::uint32_t> unanswered;  // by group: calls without a result
};

Treatment treatment_of(ItemKind kind) {
    switch (kind) {
        case ItemKind::cleared:
            return Treatment::cleared;
        case ItemKind::shortened:
            return Treatment::shortened;
        case ItemKind::summary:
            return Treatment::folded;
        case ItemKind::verbatim:
        case ItemKind::recalled:
            break;
    }
    return Treatment::verbatim;
}

bool starts_turn(const Item& item) {
    return item.kind != ItemKind::summary && item.message.shape.starts_turn();
}

ItemFacts facts_of(const Item& item) {
    const Shape& shape = item.message.shape;
    return {.from = item.range.from,
            .tokens = item.tokens,
            .treatment = treatment_of(item.kind),
            .role = shape.role,
            .pinned = item.pinned,
            .reasoning = shape.reasoning,
            .starts_turn = starts_turn(item),
            .answers = shape.role == Role::assistant && shape.calls.empty(),
            .results = !shape.results.empty()};
}

// The calls made so far, and which of them a result answers: the newest one with its id. Results
// mostly follow their calls at once, so an index of all ids is made only when one does not.
class Calls {
public:
    struct Call {
        std::string_view id;
        std::uint32_t group = 0;
        bool answered = false;
    };
    // The calls of one message.
    void add(const std::vector<std::string>& ids, std::uint32_t group) {
        if (ids.empty()) return;
        newest_ = all_.size();
        for (const std::string& id : ids) all_.push_back({id, group, false});
    }
    Call* find(std::string_view id) {
        for (std::size_t n = all_.size(); n-- > newest_;)
            if (all_[n].id == id) return &all_[n];
        for (; indexed_ < all_.size(); ++indexed_) index_[all_[indexed_].id] = indexed_;
        const auto at = index_.find(id);
        return at == index_.end() ? nullptr : &all_[at->second];
    }

private:
    std::vector<Call> all_;
    std::size_t newest_ = 0, indexed_ = 0;
    std::unordered_map<std::string_view, std::size_t> index_;
};

constexpr std::size_t ahead = 8;  // items

// With `scan`, all that is asked of items later is taken down on the way.
Membership assign_groups(std::span<const Item> items, Scan* scan = nullptr) {
    PAL_ASSERT(items.size() < UINT32_MAX);
    Membership out;
    out.group_of.reserve(items.size());
    out.unanswered.reserve(items.size());
    if (scan) scan->facts.reserve(items.size());
    Seq last;
    Calls calls;
    for (const Item& item : items) {
        const Item& soon = items[std::min(out.group_of.size() + ahead, items.size() - 1)];
        __builtin_prefetch(&soon.kind);
        __builtin_prefetch(&soon.message.shape);
        if (scan) {
            scan->facts.push_back(facts_of(item));
            scan->in_order &= item.range.from > last;
            last = item.range.to;
        }
        const Shape& shape = item.message.shape;
        std::optional<std::uint32_t> group;
        for (const std::string& id : shape.results) {
            Calls::Call* call = calls.find(id);
            if (!call) continue;
            if (!group) group = call->group;
            if (!std::exchange(call->answered, true)) --out.unanswered[call->group];
        }
        if (!group) {
            group = static_cast<std::uint32_t>(out.unanswered.size());
            out.unanswered.push_back(0);
        }
        out.group_of.push_back(*group);
        calls.add(shape.calls, *group);
        out.unanswered[*group] += static_cast<std::uint32_t>(shape.calls.size());
    }
    PAL_ASSERT(out.group_of.size() == items.size());
    return out;
}

// The first group of the newest turn that was answered: an unanswered call before it has been left
// behind by the conversation, one after it may still get its result.
std::size_t first_live_group(std::span<const ItemFacts> facts, std::span<const Group> groups) {
    bool answered = false;
    for (std::size_t g = groups.size(); g-- > 0;) {
        answered |= facts[groups[g].last].answers;
        if (answered && facts[groups[g].first].starts_turn) return g;
    }
    return 0;
}

}  // namespace

std::string_view item_kind_name(ItemKind kind) {
    constexpr std::string_view names[] = {"verbatim", "cleared", "shortened", "summary",
                                          "recalled"};
    return names[static_cast<std::size_t>(kind)];
}

std::vector<Item> arrange(std::vector<Item> items) {
    // Moving an item can make a call known to a result that stood before it, and so move another:
    // a few rounds settle every history that is not malformed, and find_groups() takes the rest.
    for (int round = 0; round < 4; ++round) {
        const Membership members = assign_groups(items);
        if (std::is_sorted(members.group_of.begin(), members.group_of.end())) break;
        std::vector<std::size_t> order(items.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return members.group_of[a] < members.group_of[b];
        });
        std::vector<Item> out;
        out.reserve(items.size());
        for (const std::size_t i : order) out.push_back(std::move(items[i]));
        items = std::move(out);
    }
    return items;
}

namespace {

// Where groups are interlaced all the same they count as one: a border stands only where no group
// has members on both sides. Gives, by item, whether a group begins there.
std::vector<bool> find_borders(const std::vector<std::uint32_t>& group_of) {
    std::vector<bool> begins(group_of.size());
    std::vector<std::uint32_t> least(group_of.size());
    for (std::size_t i = group_of.size(); i-- > 0;)
        least[i] = i + 1 < group_of.size() ? std::min(group_of[i], least[i + 1]) : group_of[i];
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < group_of.size(); ++i) {
        begins[i] = i == 0 || least[i] > most;
        most = std::max(most, group_of[i]);
    }
    return begins;
}

}  // namespace

Scan scan_items(std::span<const Item> items) {
    Scan scan;
    const Membership members = assign_groups(items, &scan);
    const bool sorted = std::is_sorted(members.group_of.begin(), members.group_of.end());
    const std::vector<bool> borders = sorted ? std::vector<bool>() : find_borders(members.group_of);
    std::vector<Group>& groups = scan.groups;
    groups.reserve(members.unanswered.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        const ItemFacts& facts = scan.facts[i];
        const bool begins =
            !sorted ? borders[i] : i == 0 || members.group_of[i] != members.group_of[i - 1];
        if (begins) groups.push_back({.first = i, .last = i});
        Group& group = groups.back();
        group.last = i;
        group.open |= members.unanswered[members.group_of[i]] > 0;
        group.pinned |= facts.pinned;
        group.reasoning |= facts.reasoning;
        group.tokens += facts.tokens;
    }
    for (std::size_t g = first_live_group(scan.facts, groups); g-- > 0;) groups[g].open = false;
    scan.turns = turns_of(scan.facts, groups);
    return scan;
}

std::vector<Group> find_groups(std::span<const Item> items) {
    return scan_items(items).groups;
}

std::vector<Turn> turns_of(std::span<const ItemFacts> facts, std::span<const Group> groups) {
    std::vector<Turn> turns;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (turns.empty() || facts[groups[g].first].starts_turn) turns.push_back({g, g});
        turns.back().last = g;
    }
    return turns;
}

std::vector<Turn> find_turns(std::span<const Item> items, std::span<const Group> groups) {
    std::vector<Turn> turns;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (turns.empty() || starts_turn(items[groups[g].first])) turns.push_back({g, g});
        turns.back().last = g;
    }
    return turns;
}

}  // namespace palimpsest
