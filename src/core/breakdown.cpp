#include "core/breakdown.h"

#include <algorithm>

namespace palimpsest {
namespace {

std::uint64_t& place_of(Breakdown& out, const Item& item) {
    if (item.kind == ItemKind::summary) return out.summaries;
    const Shape& shape = item.message.shape;
    if (shape.role == Role::tool || !shape.results.empty()) return out.tool_results;
    switch (shape.role) {
        case Role::system:
            return out.system;
        case Role::user:
            return out.user;
        case Role::assistant:
            return out.assistant;
        case Role::tool:
        case Role::other:
            break;
    }
    return out.other;
}

void set_money(Breakdown& out, const ModelFacts& model) {
    const auto dollars = [&](double price) { return static_cast<double>(out.used) * price / 1e6; };
    if (model.input_price >= 0) out.cost = dollars(model.input_price);
    if (model.cached_price >= 0) out.cost_cached = dollars(model.cached_price);
}

// The condition of the tree that fires at the least number of tokens.
void find_nearest(const Trigger& trigger, std::uint64_t window, Breakdown& out) {
    for (const Trigger& part : trigger.parts) find_nearest(part, window, out);
    if (trigger.kind != Trigger::Kind::condition) return;
    const auto at = trigger_tokens(trigger, window);
    if (!at || (out.trigger_at && *out.trigger_at <= *at)) return;
    out.trigger_at = at;
    out.trigger = trigger.name;
}

}  // namespace

Breakdown break_down(std::span<const Item> items, const Occasion& occasion, const Policy& policy) {
    const Budget budget = budget_under(policy, occasion.budget);
    Breakdown out;
    out.system = budget.system;
    out.tools = budget.tools;
    for (const Item& item : items) place_of(out, item) += item.tokens;
    out.framing = budget.per_request + std::uint64_t{budget.per_message} * items.size();
    out.used = budget.used(occasion.totals);
    out.reply = budget.reply;
    out.window = budget.window;
    out.free = budget.window > out.used + out.reply ? budget.window - out.used - out.reply : 0;
    set_money(out, occasion.model);
    for (const Trigger* trigger : {&policy.hard, &policy.soft})
        find_nearest(*trigger, budget.window, out);
    if (out.trigger_at) out.until_trigger = *out.trigger_at - std::min(*out.trigger_at, out.used);
    return out;
}

}  // namespace palimpsest
