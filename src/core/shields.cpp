// What no pass may touch: pins, open groups, the newest group, the latest user message, the past
// that a provider has compacted itself, and what the policy protects.
#include <algorithm>

#include "core/pass.h"
#include "core/pass_parameters.h"
#include "core/policy.h"
#include "core/tool_pass.h"
#include "core/tool_uses.h"

namespace palimpsest {
namespace {

// The user's own words, also when they came together with tool results.
bool has_user_words(std::span<const Item> items, const Group& group) {
    for (std::size_t i = group.first; i <= group.last; ++i) {
        const Shape& shape = items[i].message.shape;
        if (items[i].kind != ItemKind::summary && shape.role == Role::user &&
            (shape.results.empty() || shape.text))
            return true;
    }
    return false;
}

// A bit for each, because every item of a long past is held against them.
std::uint8_t bits_of(const std::vector<Role>& roles) {
    std::uint8_t bits = 0;
    for (const Role role : roles) bits |= bit_of(role);
    return bits;
}

bool has_item_of(std::span<const ItemFacts> facts, const Group& group, std::uint8_t roles) {
    for (std::size_t i = group.first; i <= group.last; ++i)
        if ((roles & facts[i].roles) != 0 && facts[i].treatment != Treatment::folded) return true;
    return false;
}

bool has_wanted_item(std::span<const Item> items, const Group& group, const Protect& protect) {
    if (!protect.predicate) return false;
    for (std::size_t i = group.first; i <= group.last; ++i)
        if (protect.predicate(items[i])) return true;
    return false;
}

bool calls_protected_tool(std::span<const Item> items, const Group& group, const Protect& protect,
                          const MessageTools* tools) {
    if (protect.tools.empty() || !tools) return false;
    for (std::size_t i = group.first; i <= group.last; ++i) {
        const Shape& shape = items[i].message.shape;
        if (shape.calls.empty() && !tools->may_hold_results(items[i].message)) continue;
        const auto content = tools->read(items[i].message);
        if (!content) continue;
        for (const ContentPart& part : content->parts)
            if (!part.tool.empty() && is_among(protect.tools, part.tool, part.hosted)) return true;
    }
    return false;
}

std::size_t calls_in(std::span<const Item> items, const Group& group) {
    std::size_t calls = 0;
    for (std::size_t i = group.first; i <= group.last; ++i) calls += tool_uses(items[i].message);
    return calls;
}

// The newest group that holds a provider's own compaction: what came before it may be told nowhere
// else. It stands for the older ones too.
std::size_t sealed_past(std::span<const Item> items, const Scan& scan, const MessageTools* tools) {
    for (std::size_t g = scan.groups.size(); scan.may_be_sealed && tools && g-- > 0;)
        for (std::size_t i = scan.groups[g].first; i <= scan.groups[g].last; ++i)
            if (scan.facts[i].may_be_sealed && tools->is_sealed_past(items[i].message)) return g;
    return scan.groups.size();
}

// Providers want a run of calls that began with reasoning to begin with some still: of what is
// said before the first answer of the newest run that stays, the newest thought stays too.
std::size_t start_of_run(std::span<const Item> items, const Scan& scan,
                         std::span<const Shield> shields) {
    if (scan.turns.empty()) return scan.groups.size();
    const Turn& newest = scan.turns.back();
    const auto answers = [&](std::size_t g) {
        return items[scan.groups[g].first].message.shape.role == Role::assistant;
    };
    std::size_t kept = newest.first;
    while (kept < newest.last && (shields[kept] == Shield::none || !answers(kept))) ++kept;
    for (std::size_t g = kept + 1; g-- > newest.first;)
        if (scan.groups[g].reasoning && binds_run(items[scan.groups[g].first])) return g;
    return scan.groups.size();
}

// The first group of the newest `count` turns.
std::size_t turns_from(std::span<const Turn> turns, std::size_t groups, std::size_t count) {
    if (count == 0) return groups;
    return count >= turns.size() ? 0 : turns[turns.size() - count].first;
}

}  // namespace

std::vector<Shield> shields(std::span<const Item> items, const Scan& scan, const Protect& protect,
                            const MessageTools* tools) {
    const std::vector<Group>& groups = scan.groups;
    std::vector<Shield> out(groups.size(), Shield::none);
    const std::size_t kept_from = turns_from(scan.turns, groups.size(), protect.turns);
    // A long past in which nothing can be protected is not looked at.
    const bool anywhere =
        scan.pins || !protect.roles.empty() || protect.predicate || !protect.tools.empty();
    const std::uint8_t roles = bits_of(protect.roles);
    std::size_t tool_uses = 0;
    bool user_seen = false;
    const bool asks_items = protect.predicate || !protect.tools.empty();
    const auto stays_verbatim = [&](const Group& group) {
        if (group.pinned || group.open || has_item_of(scan.facts, group, roles)) return true;
        return asks_items && (has_wanted_item(items, group, protect) ||
                              calls_protected_tool(items, group, protect, tools));
    };
    std::size_t g = groups.size();
    for (; g > 0; --g) {
        const bool near =
            g > std::min(kept_from, scan.live) || !user_seen || tool_uses < protect.tool_uses;
        if (!near) break;
        const Group& group = groups[g - 1];
        const bool latest_user = !user_seen && has_user_words(items, group);
        user_seen |= latest_user;
        const std::size_t calls = tool_uses < protect.tool_uses ? calls_in(items, group) : 0;
        const bool recent = g > kept_from || calls > 0;
        tool_uses += calls;
        if (g == groups.size() || latest_user || recent) out[g - 1] = Shield::kept;
        if (stays_verbatim(group)) out[g - 1] = Shield::verbatim;
    }
    for (; g > 0 && anywhere; --g)
        if (stays_verbatim(groups[g - 1])) out[g - 1] = Shield::verbatim;
    const std::size_t first = first_user_start(items, groups);
    if (protect.first_user && first < groups.size())
        out[first] = std::max(out[first], Shield::kept);
    const std::size_t start = protect.run_start ? start_of_run(items, scan, out) : groups.size();
    if (start < groups.size()) out[start] = std::max(out[start], Shield::stays);
    if (const std::size_t sealed = sealed_past(items, scan, tools); sealed < groups.size())
        out[sealed] = Shield::verbatim;
    return out;
}

bool has_calls(std::span<const Item> items, const Group& group) {
    for (std::size_t i = group.first; i <= group.last; ++i)
        if (!items[i].message.shape.calls.empty()) return true;
    return false;
}

std::size_t cut_at_thought(const PassInput& input, std::size_t at) {
    const std::size_t end = input.groups.size();
    if (input.turns.empty() || at >= end) return at;
    const auto thinks = [&](std::size_t g) {
        return binds_run(input.items[input.groups[g].first]);
    };
    bool lost = false;
    for (std::size_t g = input.turns.back().first; g < at && !lost; ++g)
        lost = input.shields[g] == Shield::none && thinks(g);
    if (!lost) return at;
    for (std::size_t g = at; g < end; ++g) {
        if (thinks(g)) return g;
        if (input.shields[g] != Shield::none) return at;
    }
    return at;
}

std::string tool_of(const PassInput& input, const Group& group, std::string_view call_id) {
    for (std::size_t i = group.first; i <= group.last && input.tools; ++i) {
        const auto& calls = input.items[i].message.shape.calls;
        if (std::ranges::find(calls, call_id) == calls.end()) continue;
        const auto content = input.tools->read(input.items[i].message);
        if (!content) return {};
        for (const ContentPart& part : content->parts)
            if (part.kind == ContentKind::tool_call && part.id == call_id)
                return std::string(part.tool);
    }
    return {};
}

}  // namespace palimpsest
