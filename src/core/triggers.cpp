// The table of triggers, and trees of them.
#include <algorithm>

#include "core/pass_parameters.h"
#include "core/trigger.h"

namespace palimpsest {
namespace {

constexpr std::uint32_t fruitless_max = 2;  // compactions that freed nothing; then it rests
constexpr std::size_t stalls_max = 8;

std::string stall_name(const Due& due) {
    return std::string(level_name(due.level)) + " " + due.trigger;
}

auto find_stall(auto& stalls, const Fingerprint& policy, const Due& due) {
    return std::ranges::find_if(stalls, [&, name = stall_name(due)](const Stall& stall) {
        return stall.policy == policy && stall.trigger == name;
    });
}

// The tokens of the view from which on it is tried again; none: it is not due, or does not rest.
std::optional<std::uint64_t> rests_until(const Due& due, const Occasion& occasion,
                                         const Fingerprint& policy) {
    if (due.level == Level::none) return std::nullopt;
    const auto stall = find_stall(occasion.stalls, policy, due);
    if (stall == occasion.stalls.end() || stall->fruitless < fruitless_max) return std::nullopt;
    const std::uint64_t until = stall->tokens + stall->tokens / 8;
    return occasion.totals.tokens < until ? std::optional(until) : std::nullopt;
}

double seconds_since(Time then, Time now) {
    if (then == Time{} || now <= then) return 0;
    return std::chrono::duration<double>(now - then).count();
}

// So much of the window is used. Whole tokens, as the seed counts them.
bool share_used(const Occasion& o, double share) {
    const auto at = static_cast<std::uint64_t>(share * static_cast<double>(o.budget.window));
    return o.budget.window > 0 && o.budget.used(o.totals) >= at;
}

bool messages_due(const Occasion& o, double value) {
    return static_cast<double>(o.totals.messages) > value;
}
bool turns_due(const Occasion& o, double value) {
    return static_cast<double>(o.totals.turns) > value;
}
bool reasoning_turns_due(const Occasion& o, double value) {
    return static_cast<double>(o.totals.reasoning_turns) > value;
}
bool tool_uses_due(const Occasion& o, double value) {
    return static_cast<double>(o.totals.calls) > value;
}
bool tokens_due(const Occasion& o, double value) {
    return static_cast<double>(o.budget.used(o.totals)) >= value;
}
bool window_share_due(const Occasion& o, double value) {
    return share_used(o, value);
}
bool remaining_pct_due(const Occasion& o, double value) {
    return share_used(o, 1 - value);
}
bool bytes_due(const Occasion& o, double value) {
    return static_cast<double>(o.totals.bytes) >= value;
}
bool media_due(const Occasion& o, double value) {
    return static_cast<double>(o.totals.media) > value;
}
bool reported_tokens_due(const Occasion& o, double value) {
    return o.reported_tokens && static_cast<double>(*o.reported_tokens) >= value;
}
bool age_due(const Occasion& o, double value) {
    return o.totals.oldest != Time{} && seconds_since(o.totals.oldest, o.now) >= value;
}
bool idle_due(const Occasion& o, double value) {
    return o.totals.newest != Time{} && seconds_since(o.totals.newest, o.now) >= value;
}
// Found due by find_due() whether or not a policy names them.
bool window_due(const Occasion& o, double value) {
    return value > 0 && o.budget.used(o.totals) > o.budget.limit();
}
bool overflow_due(const Occasion& o, double value) {
    return value > 0 && o.overflow;
}
bool explicit_due(const Occasion& o, double value) {
    return value > 0 && o.explicitly;
}

constexpr TriggerKind kinds[] = {
    {"messages", messages_due, "more than so many messages"},
    {"turns", turns_due, "more than so many turns of the user"},
    {"reasoning_turns", reasoning_turns_due, "more than so many turns with reasoning"},
    {"tool_uses", tool_uses_due, "more than so many tool calls"},
    {"tokens", tokens_due, "a request of so many tokens"},
    {"window_share", window_share_due, "so much of the window is used, 0 to 1"},
    {"remaining_pct", remaining_pct_due, "so much of the window is left, 0 to 1"},
    {"bytes", bytes_due, "messages of so many bytes"},
    {"images", media_due, "more than so many images, documents and audio clips"},
    {"reported_tokens", reported_tokens_due, "the provider last reported so many tokens"},
    {"age_s", age_due, "the oldest message shown is so many seconds old"},
    {"idle_s", idle_due, "nothing was said for so many seconds: the cache has expired anyway"},
    {"window", window_due, "the request leaves no room for the answer"},
    {"overflow", overflow_due, "the provider refused the request as too long"},
    {"explicit", explicit_due, "someone asked for it"},
};

bool is_share(std::string_view name) {
    return name == "window_share" || name == "remaining_pct";
}

Result<double> threshold(std::string_view name, const JsonValue& value) {
    const auto bad = [&](std::string_view what) {
        return fail(ErrorCode::invalid_request,
                    "trigger \"" + std::string(name) + "\" must be " + std::string(what) +
                        "; it is " + std::string(value.raw().substr(0, 64)),
                    std::string(name));
    };
    if (name == "window" || name == "overflow" || name == "explicit") {
        const auto flag = value.boolean();
        if (!flag) return bad("true or false");
        return *flag ? 1.0 : 0.0;
    }
    const auto number = value.number();
    if (!number || *number < 0) return bad("a number, 0 or more");
    if (is_share(name) && *number > 1) return bad("between 0 and 1");
    return *number;
}

Result<Trigger> read_condition(std::string_view name, const JsonValue& value,
                               const Extensions& extensions) {
    Trigger trigger;
    trigger.kind = Trigger::Kind::condition;
    trigger.name = name;
    for (const TriggerKind& kind : kinds) {
        if (kind.name != name) continue;
        PAL_TRY(number, threshold(name, value));
        trigger.value = number;
        trigger.is_due = [check = kind.is_due, number](const Occasion& o) {
            return check(o, number);
        };
        return trigger;
    }
    for (const OwnTrigger& own : extensions.triggers) {
        if (own.name != name) continue;
        if (!value.boolean().value_or(false))
            return fail(ErrorCode::invalid_request,
                        "trigger \"" + own.name + "\" takes the value true", own.name);
        trigger.is_due = own.is_due;
        return trigger;
    }
    std::string message = "there is no trigger \"" + std::string(name) + "\"; there are";
    for (const TriggerKind& kind : kinds) message += " \"" + std::string(kind.name) + "\"";
    return fail(ErrorCode::invalid_request, std::move(message) + " and \"any\", \"all\"",
                std::string(name));
}

Result<Trigger> read_list(const JsonValue& value, Trigger::Kind kind,
                          const Extensions& extensions) {
    if (!value.is_array() || value.size() == 0)
        return fail(ErrorCode::invalid_request,
                    "\"any\" and \"all\" take a list of at least one trigger object");
    Trigger list;
    list.kind = kind;
    for (const JsonValue element : value.elements()) {
        const std::string path = "[" + std::to_string(list.parts.size()) + "]";
        PAL_TRY(part, under(path, read_trigger(element, extensions)));
        if (part.kind == Trigger::Kind::never)
            return fail(ErrorCode::invalid_request, "a trigger without a condition never fires",
                        path);
        list.parts.push_back(std::move(part));
    }
    return list;
}

}  // namespace

std::span<const TriggerKind> trigger_kinds() {
    return kinds;
}

std::string_view level_name(Level level) {
    constexpr std::string_view names[] = {"none", "soft", "hard"};
    return names[static_cast<std::size_t>(level)];
}

Result<Trigger> read_trigger(const JsonValue& value, const Extensions& extensions) {
    if (!value.is_object())
        return fail(ErrorCode::invalid_request,
                    "a trigger is an object, as in {\"tokens\": 32000}; it is " +
                        std::string(value.raw().substr(0, 64)));
    Trigger any;
    any.kind = Trigger::Kind::any;
    for (const JsonMember member : value.members()) {
        if (member.value.is_null()) continue;
        const bool is_list = member.key == "any" || member.key == "all";
        const auto kind = member.key == "all" ? Trigger::Kind::all : Trigger::Kind::any;
        PAL_TRY(part, is_list ? under(member.key, read_list(member.value, kind, extensions))
                              : read_condition(member.key, member.value, extensions));
        any.parts.push_back(std::move(part));
    }
    if (any.parts.empty()) return Trigger{};
    if (any.parts.size() == 1) return std::move(any.parts.front());
    return any;
}

Due due_in(const Trigger& trigger, Level level, const Occasion& occasion) {
    switch (trigger.kind) {
        case Trigger::Kind::never:
            return {};
        case Trigger::Kind::condition:
            if (!trigger.is_due(occasion)) return {};
            return {level, trigger.name, trigger_tokens(trigger, occasion.budget.window)};
        case Trigger::Kind::any:
            for (const Trigger& part : trigger.parts)
                if (Due due = due_in(part, level, occasion); due.level != Level::none) return due;
            return {};
        case Trigger::Kind::all:
            break;
    }
    Due all{level, {}, {}};
    for (const Trigger& part : trigger.parts) {
        const Due due = due_in(part, level, occasion);
        if (due.level == Level::none) return {};
        all.trigger += (all.trigger.empty() ? "" : "+") + due.trigger;
        if (due.at_tokens) all.at_tokens = due.at_tokens;
    }
    return all;
}

std::optional<std::uint64_t> trigger_tokens(const Trigger& trigger, std::uint64_t window) {
    if (trigger.kind == Trigger::Kind::condition) {
        if (trigger.name == "tokens" || trigger.name == "reported_tokens")
            return static_cast<std::uint64_t>(trigger.value);
        if (window == 0 || !is_share(trigger.name)) return std::nullopt;
        const double share = trigger.name == "window_share" ? trigger.value : 1 - trigger.value;
        return static_cast<std::uint64_t>(share * static_cast<double>(window));
    }
    std::optional<std::uint64_t> least;
    for (const Trigger& part : trigger.parts)
        if (const auto tokens = trigger_tokens(part, window))
            least = std::min(least.value_or(*tokens), *tokens);
    return least;
}

Due due_awake(const Trigger& trigger, Level level, const Occasion& occasion,
              const Fingerprint& policy) {
    if (trigger.kind == Trigger::Kind::any) {
        for (const Trigger& part : trigger.parts)
            if (Due due = due_awake(part, level, occasion, policy); due.level != Level::none)
                return due;
        return {};
    }
    Due due = due_in(trigger, level, occasion);
    return rests_until(due, occasion, policy) ? Due{} : due;
}

void add_resting(const Trigger& trigger, Level level, const Occasion& occasion,
                 const Fingerprint& policy, std::vector<Due::Rest>& out) {
    if (occasion.stalls.empty()) return;
    if (trigger.kind == Trigger::Kind::any) {
        for (const Trigger& part : trigger.parts) add_resting(part, level, occasion, policy, out);
        return;
    }
    Due due = due_in(trigger, level, occasion);
    if (const auto until = rests_until(due, occasion, policy))
        out.push_back({std::move(due.trigger), *until});
}

bool note_progress(std::vector<Stall>& stalls, const Fingerprint& policy, const Due& due,
                   std::uint64_t tokens, bool freed) {
    if (freed) {
        stalls.clear();
        return false;
    }
    const auto known = find_stall(stalls, policy, due);
    Stall stall{policy, stall_name(due), 0, 0};
    if (known != stalls.end()) {
        stall = *known;
        stalls.erase(known);
    }
    ++stall.fruitless;
    stall.tokens = tokens;
    // Policies come with requests: a flood of different ones must not grow it.
    if (stalls.size() == stalls_max) stalls.erase(stalls.begin());
    stalls.push_back(std::move(stall));
    return stalls.back().fruitless >= fruitless_max;
}

}  // namespace palimpsest
