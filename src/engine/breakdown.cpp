// Where the tokens of the next request go, and how far away each trigger is.
#include <algorithm>
#include <chrono>

#include "engine/next_request.h"
#include "engine/turn.h"
#include "palimpsest/memory.h"

namespace palimpsest {
namespace {

double seconds_since(Time then, Time now) {
    if (then == Time{} || now <= then) return 0;
    return std::chrono::duration<double>(now - then).count();
}

// What a condition compares its value with.
double present_value(std::string_view name, const Occasion& o) {
    const auto used = static_cast<double>(o.budget.used(o.totals));
    const auto window = static_cast<double>(o.budget.window);
    if (name == "messages") return static_cast<double>(o.totals.messages);
    if (name == "turns") return static_cast<double>(o.totals.turns);
    if (name == "tokens") return used;
    if (name == "window_share") return window > 0 ? used / window : 0;
    if (name == "remaining_pct") return window > 0 ? std::max(0.0, 1 - used / window) : 1;
    if (name == "bytes") return static_cast<double>(o.totals.bytes);
    if (name == "images") return static_cast<double>(o.totals.media);
    if (name == "reported_tokens") return static_cast<double>(o.reported_tokens.value_or(0));
    if (name == "age_s") return seconds_since(o.totals.oldest, o.now);
    if (name == "idle_s") return seconds_since(o.totals.newest, o.now);
    return 0;
}

void add_distances(const Trigger& trigger, std::string_view level, const Occasion& occasion,
                   std::vector<TokenBreakdown::Distance>& out) {
    if (trigger.kind == Trigger::Kind::condition)
        out.push_back({trigger.name, std::string(level), present_value(trigger.name, occasion),
                       trigger.value, trigger.is_due(occasion)});
    for (const Trigger& part : trigger.parts) add_distances(part, level, occasion, out);
}

}  // namespace

Result<TokenBreakdown> Memory::breakdown(const ConversationId& name,
                                         const BreakdownOptions& options) {
    PAL_TRY(header, head(name));
    PAL_TRY(footing, footing_of(*state_, header));
    PAL_TRY(sent, sent_beside(*state_, header, footing.calls, options.model, options.tools));
    const HotViewPtr measured = state_->measures->view(sent.model, footing.view);
    const ViewTotals& totals = measured->totals;
    Occasion occasion = make_occasion(*state_, totals, footing.calls, sent.beside(measured->items));
    PAL_TRY(in_force, policy_of(*state_, header, options.policy));
    if (in_force.policy) occasion.budget = budget_under(*in_force.policy, occasion.budget);
    const Budget& budget = occasion.budget;
    TokenBreakdown out;
    out.model = sent.model;
    out.window = budget.window;
    out.reserved = budget.reply;
    out.used = budget.used(totals);
    const double price = std::max(occasion.model.input_price, 0.0) / 1e6;
    const auto add = [&](std::string_view part, std::uint64_t tokens, bool paid = true) {
        out.parts.push_back(
            {std::string(part), tokens, paid ? static_cast<double>(tokens) * price : 0.0});
    };
    add("system", budget.system);
    add("tools", budget.tools);
    add("messages", totals.tokens - totals.summary_tokens);
    add("summaries", totals.summary_tokens);
    add("framing", budget.per_request + budget.per_message * totals.messages);
    const std::uint64_t taken = out.used + out.reserved;
    add("free", out.window > taken ? out.window - taken : 0, false);
    if (in_force.policy) {
        add_distances(in_force.policy->hard, "hard", occasion, out.triggers);
        add_distances(in_force.policy->soft, "soft", occasion, out.triggers);
    }
    return out;
}

}  // namespace palimpsest
