// What is known of each item of a view, and the group that it belongs to.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "core/recollect.h"
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

// How what a model says at once is told: all in one message, or also in several in a row, as
// Responses has an item for each call and each piece of reasoning and Anthropic takes both.
struct RowRule {
    FormatId format;
    bool in_a_row;
    bool mixes_compaction;       // its provider's compactions may stand beside words
    bool begins_with_reasoning;  // a run of calls whose first one reasoned must begin with it still
    bool has_nameless_results;   // the role `function`, of the way before there were tools
};
constexpr RowRule row_rules[] = {
    {FormatId::openai_chat, false, false, false, true},
    {FormatId::openai_responses, true, false, false, false},
    {FormatId::anthropic, true, true, true, false},
};

const RowRule& row_rule(const Message& message) {
    const auto rule = std::ranges::find(row_rules, message.format, &RowRule::format);
    return rule == std::end(row_rules) ? row_rules[0] : *rule;
}

bool can_stand_in_row(const Item& item) {
    const Shape& shape = item.message.shape;
    if (item.kind == ItemKind::summary || shape.role != Role::assistant || !shape.results.empty())
        return false;
    return row_rule(item.message).in_a_row;
}

// A result that names no call: it answers what the model said right before it.
bool is_nameless_result(const Message& message) {
    return message.shape.role == Role::other && row_rule(message).has_nameless_results &&
           !is_recalled(message);
}
bool is_nameless_result(const Item& item) {
    return item.kind != ItemKind::summary && is_nameless_result(item.message);
}

// Results are the tool's words, whoever brings them: Anthropic's format has them in messages of the
// user, who may say something beside.
std::uint8_t roles_in(const Item& item) {
    const Shape& shape = item.message.shape;
    if (is_nameless_result(item)) return bit_of(Role::tool) | bit_of(Role::other);
    if (shape.results.empty()) return bit_of(shape.role);
    return bit_of(Role::tool) | (shape.text ? bit_of(shape.role) : std::uint8_t{0});
}

// Cheap, and never wrongly no: whether a provider's own compaction may be in it. Alone it has
// neither words nor calls nor anything else that we can read.
bool may_be_sealed(const Item& item) {
    const Shape& shape = item.message.shape;
    if (shape.role != Role::assistant || item.kind == ItemKind::summary) return false;
    return row_rule(item.message).mixes_compaction ||
           (!shape.text && !shape.reasoning && shape.media == 0 && shape.calls.empty() &&
            shape.results.empty());
}

}  // namespace

bool binds_run(const Item& item) {
    return row_rule(item.message).begins_with_reasoning && item.message.shape.reasoning;
}

bool may_pair_without_id(const Message& message) {
    const bool may_call =
        message.shape.role == Role::assistant && row_rule(message).has_nameless_results;
    return may_call || is_nameless_result(message);
}

bool tells_more(std::span<const Item> items, const Group& group) {
    const Item& item = items[group.first];
    if (item.kind != ItemKind::summary) return false;
    const std::size_t next = group.last + 1;
    const bool parted = next < items.size() && items[next].range.from < item.range.to;
    return parted || item.tells.value_or(item.range) != item.range;
}

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
                    .roles = roles_in(item),
                    .pinned = item.pinned,
                    .reasoning = shape.reasoning,
                    .starts_turn = starts_turn(item),
                    .answers = shape.role == Role::assistant && shape.calls.empty(),
                    .results = !shape.results.empty(),
                    .may_be_sealed = may_be_sealed(item),
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
    if (!group) group = row_.joined_by(item);
    facts.group = group ? *group : groups_++;
    row_.add(item, facts.group);
    calls_.add(shape.calls, facts.group);
    return facts;
}

// Reasoning belongs to what it led to, up to the next reasoning; calls that wait for their results
// belong together with all that was said beside them.
std::optional<std::uint32_t> Row::joined_by(const Item& item) const {
    const Shape& shape = item.message.shape;
    if (is_nameless_result(item)) return format_ == item.message.format ? said_ : std::nullopt;
    if (!group_ || format_ != item.message.format || !can_stand_in_row(item)) return std::nullopt;
    if (shape.reasoning) return calls_ || !led_ ? group_ : std::nullopt;
    return reasoned_ || calls_ || !shape.calls.empty() ? group_ : std::nullopt;
}

void Row::add(const Item& item, std::uint32_t group) {
    const Shape& shape = item.message.shape;
    const bool goes_on = group_ == group && joined_by(item);
    const bool only_reasons = shape.reasoning && shape.calls.empty() && !shape.text;
    reasoned_ = shape.reasoning || (goes_on && reasoned_);
    calls_ = !shape.calls.empty() || (goes_on && calls_);
    led_ = !only_reasons || (goes_on && led_);
    format_ = item.message.format;
    if (!is_nameless_result(item)) said_.reset();
    if (shape.role == Role::assistant && item.kind != ItemKind::summary) said_ = group;
    if (can_stand_in_row(item) && (reasoned_ || calls_))
        group_ = group;
    else
        group_.reset();
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
