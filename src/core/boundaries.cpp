// Where a conversation can be cut: between groups, best at the start of a turn.
#include <algorithm>

#include "base/assert.h"
#include "palimpsest/compaction.h"

namespace palimpsest {
namespace {

bool frees_something(const PassInput& input, std::size_t start) {
    for (std::size_t g = 0; g < start; ++g)
        if (input.shields[g] == Shield::none) return true;
    return false;
}

}  // namespace

std::size_t group_of(std::span<const Group> groups, std::size_t item) {
    const auto at = std::lower_bound(groups.begin(), groups.end(), item,
                                     [](const Group& g, std::size_t i) { return g.last < i; });
    return static_cast<std::size_t>(at - groups.begin());
}

std::size_t turn_of(std::span<const Turn> turns, std::size_t group) {
    const auto at = std::lower_bound(turns.begin(), turns.end(), group,
                                     [](const Turn& t, std::size_t g) { return t.last < g; });
    return static_cast<std::size_t>(at - turns.begin());
}

std::size_t first_user_start(std::span<const Item> items, std::span<const Group> groups) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const Item& item = items[groups[g].first];
        if (item.kind != ItemKind::summary && item.message.shape.starts_turn()) return g;
    }
    return groups.size();
}

std::size_t safe_start(const PassInput& input, std::size_t nominal) {
    PAL_ASSERT(input.shields.size() == input.groups.size());
    if (nominal >= input.groups.size()) return input.groups.size();
    const std::size_t turn = turn_of(input.turns, nominal);
    const std::size_t back = input.turns[turn].first;
    if (frees_something(input, back)) return back;
    if (turn + 1 < input.turns.size()) return input.turns[turn + 1].first;
    // One long turn: any boundary between its groups will do, but reasoning that is kept must
    // begin at the start of what is kept.
    const auto kept = input.groups.subspan(nominal);
    const bool reasons =
        std::any_of(kept.begin(), kept.end(), [](const Group& g) { return g.reasoning; });
    if (!reasons) return nominal;
    std::size_t start = nominal;
    while (start > back && !input.groups[start].reasoning) --start;
    if (frees_something(input, start)) return start;
    start = nominal;
    while (start < input.groups.size() && !input.groups[start].reasoning) ++start;
    return start;
}

}  // namespace palimpsest
