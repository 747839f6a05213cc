// Groups and turns: what must stay together.
//
// Every item has its group (facts.cpp): a call opens a group, results join the group of the newest
// call with their id, everything else is a group by itself. Parallel calls that their format tells
// in several items are one group, and so is reasoning with what it led to, and what the model said
// with the message of the role `function` right behind it, whose call has no id. Sending groups in
// the order of their first items is what keeps pairs together when two turns were written at the
// same time.
#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "core/scan.h"
#include "palimpsest/view.h"

namespace palimpsest {
namespace {

bool is_sorted_by_group(std::span<const ItemFacts> facts) {
    return std::ranges::is_sorted(facts, {}, &ItemFacts::group);
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
        const std::vector<ItemFacts> facts = facts_of(items);
        if (is_sorted_by_group(facts)) break;
        std::vector<std::size_t> order(items.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return facts[a].group < facts[b].group;
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
std::vector<bool> find_borders(std::span<const ItemFacts> facts) {
    std::vector<bool> begins(facts.size());
    std::vector<std::uint32_t> least(facts.size());
    for (std::size_t i = facts.size(); i-- > 0;)
        least[i] = i + 1 < facts.size() ? std::min(facts[i].group, least[i + 1]) : facts[i].group;
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        begins[i] = i == 0 || least[i] > most;
        most = std::max(most, facts[i].group);
    }
    return begins;
}

// Only what no later turn has left behind can be open.
void mark_open(std::span<const Item> items, Scan& scan) {
    const std::size_t live = first_live_group(scan.facts, scan.groups);
    scan.live = live;
    if (live == scan.groups.size()) return;
    const std::size_t from = scan.groups[live].first;
    const auto facts = scan.facts.subspan(from);
    const auto unanswered = count_unanswered(items.subspan(from), facts);
    for (std::size_t g = live; g < scan.groups.size(); ++g)
        for (std::size_t i = scan.groups[g].first; i <= scan.groups[g].last; ++i)
            scan.groups[g].open |= unanswered[scan.facts[i].group - facts.front().group] > 0;
}

// A group begins at each border; without borders, where the group of the facts is another. False:
// groups are interlaced, and borders are needed.
bool add_groups(Scan& scan, const std::vector<bool>* borders) {
    std::vector<Group>& groups = scan.groups;
    groups.reserve(scan.facts.size());
    std::uint32_t before = UINT32_MAX;  // the group of the item before
    for (std::size_t i = 0; i < scan.facts.size(); ++i) {
        const ItemFacts& facts = scan.facts[i];
        if (!borders && i > 0 && facts.group < before) return false;
        scan.in_order &= facts.in_order;
        if (borders ? (*borders)[i] : facts.group != before)
            groups.push_back({.first = i, .last = i});
        before = facts.group;
        Group& group = groups.back();
        group.last = i;
        group.pinned |= facts.pinned;
        group.reasoning |= facts.reasoning;
        group.tokens += facts.tokens;
        scan.pins |= facts.pinned;
        scan.may_be_sealed |= facts.may_be_sealed;
    }
    return true;
}

}  // namespace

Scan scan_items(std::span<const Item> items, std::span<const ItemFacts> known) {
    PAL_ASSERT(known.empty() || known.size() == items.size());
    Scan scan;
    if (known.empty()) scan.own = facts_of(items);
    scan.facts = known.empty() ? std::span<const ItemFacts>(scan.own) : known;
    if (!add_groups(scan, nullptr)) {
        scan.groups.clear();
        const std::vector<bool> borders = find_borders(scan.facts);
        add_groups(scan, &borders);
    }
    mark_open(items, scan);
    scan.turns = turns_of(scan.facts, scan.groups);
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
