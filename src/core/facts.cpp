// What is known of each item of a view, and the group that it belongs to.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "core/scan.h"

namespace palimpsest {
namespace {

constexpr std::size_t ahead = 8;  // items

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

// How calls that are made at once are told: all in one message, or also in several in a row, as
// Responses has an item for each and Anthropic takes both.
struct CallRule {
    FormatId format;
    bool in_a_row;
};
constexpr CallRule call_rules[] = {
    {FormatId::openai_chat, false},
    {FormatId::openai_responses, true},
    {FormatId::anthropic, true},
};

bool calls_in_a_row(const Item& item) {
    if (item.message.shape.calls.empty() || item.kind == ItemKind::summary) return false;
    const auto rule = std::ranges::find(call_rules, item.message.format, &CallRule::format);
    return rule != std::end(call_rules) && rule->in_a_row;
}

}  // namespace

bool starts_turn(const Item& item) {
    return item.kind != ItemKind::summary && item.message.shape.starts_turn();
}

void Calls::add(const std::vector<std::string>& ids, std::uint32_t group) {
    if (ids.empty()) return;
    newest_ = all_.size();
    for (const std::string& id : ids) all_.push_back({id, group, false});
}

Calls::Call* Calls::find(std::string_view id) {
    for (std::size_t n = all_.size(); n-- > newest_;)
        if (all_[n].id == id) return &all_[n];
    for (; indexed_ < all_.size(); ++indexed_) index_[all_[indexed_].id] = indexed_;
    const auto at = index_.find(id);
    return at == index_.end() ? nullptr : &all_[at->second];
}

ItemFacts FactTaker::take(const Item& item) {
    const Shape& shape = item.message.shape;
    ItemFacts facts{.from = item.range.from,
                    .tokens = item.tokens,
                    .calls = static_cast<std::uint32_t>(shape.calls.size()),
                    .treatment = treatment_of(item.kind),
                    .role = shape.role,
                    .pinned = item.pinned,
                    .reasoning = shape.reasoning,
                    .starts_turn = starts_turn(item),
                    .answers = shape.role == Role::assistant && shape.calls.empty(),
                    .results = !shape.results.empty(),
                    .in_order = item.range.from > last_};
    last_ = item.range.to;
    std::optional<std::uint32_t> group;
    for (const std::string& id : shape.results) {
        Calls::Call* const call = calls_.find(id);
        if (!call) continue;
        if (!group) group = call->group;
        if (std::exchange(call->answered, true)) continue;
        if (call->group == *group)
            ++facts.closes;
        else
            facts.closes_elsewhere = true;
    }
    PAL_ASSERT(groups_ < UINT32_MAX);
    const bool calling = calls_in_a_row(item) && shape.results.empty();
    if (calling && calling_ && calling_format_ == item.message.format) group = calling_;
    facts.group = group ? *group : groups_++;
    calling_ = calling ? std::optional(facts.group) : std::nullopt;
    calling_format_ = item.message.format;
    calls_.add(shape.calls, facts.group);
    return facts;
}

std::vector<ItemFacts> facts_of(std::span<const Item> items) {
    std::vector<ItemFacts> out;
    out.reserve(items.size());
    FactTaker taker;
    for (const Item& item : items) {
        const Item& soon = items[std::min(out.size() + ahead, items.size() - 1)];
        __builtin_prefetch(&soon.kind);
        __builtin_prefetch(&soon.message.shape);
        out.push_back(taker.take(item));
    }
    return out;
}

std::vector<std::uint32_t> count_unanswered(std::span<const Item> items,
                                            std::span<const ItemFacts> facts) {
    std::vector<std::uint32_t> out;
    if (facts.empty()) return out;
    const std::uint32_t first = facts.front().group;
    bool elsewhere = false;
    for (const ItemFacts& one : facts) {
        if (one.group - first == out.size()) out.push_back(0);
        out[one.group - first] += one.calls - one.closes;  // Calls come before what answers them.
        elsewhere |= one.closes_elsewhere;
    }
    Calls calls;
    for (std::size_t i = 0; elsewhere && i < items.size(); ++i) {
        const Shape& shape = items[i].message.shape;
        for (const std::string& id : shape.results) {
            Calls::Call* const call = calls.find(id);
            if (!call || std::exchange(call->answered, true)) continue;
            if (call->group != facts[i].group) --out[call->group - first];
        }
        calls.add(shape.calls, facts[i].group);
    }
    return out;
}

}  // namespace palimpsest
