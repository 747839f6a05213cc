// The general form of a policy.
#include "core/policy.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json_write.h"
#include "core/pass.h"
#include "core/pass_parameters.h"
#include "core/strategy.h"

namespace palimpsest {
namespace {

Result<PassFunction> make_pass(std::string_view name, const JsonValue& value,
                               const Extensions& extensions) {
    for (const PassKind& kind : pass_kinds())
        if (kind.name == name) return kind.make(value);
    for (const OwnPass& own : extensions.passes)
        if (own.name == name) {
            PAL_CHECK(only_pass_fields(value, {}));
            return own.run;
        }
    std::string message = "there is no pass \"" + std::string(name) + "\"; there are";
    for (const PassKind& kind : pass_kinds()) message += " \"" + std::string(kind.name) + "\"";
    return fail(ErrorCode::invalid_request, std::move(message), "pass");
}

bool takes_oldest(std::string_view pass, const JsonValue& value) {
    if (pass == "drop_oldest") return true;
    const auto says = [&](std::string_view name, std::string_view usual) {
        const auto field = value.find(name);
        return field && !field->is_null() && field->raw() != usual;
    };
    return pass == "summarize" && !says("mode", R"("whole")") && !says("keep_turns", "") &&
           !says("from", "") && !says("keep_first_user", "false");
}

Result<PolicyPass> read_pass(const JsonValue& value, const Extensions& extensions) {
    const auto name = value.find("pass");
    if (!name || !name->is_string())
        return fail(ErrorCode::invalid_request,
                    "every element of \"passes\" is an object with a field \"pass\", a name",
                    "pass");
    PolicyPass pass;
    pass.name = name->string();
    PAL_TRY(run, make_pass(pass.name, value, extensions));
    PAL_TRY(target, amount_field(value, "target"));
    PAL_TRY(min_gain, amount_field(value, "min_gain"));
    PAL_TRY(model, text_field(value, "model"));
    pass.model = model.value_or("");
    pass.run = std::move(run);
    pass.target = target;
    pass.min_gain = min_gain;
    pass.removes_oldest = takes_oldest(pass.name, value);
    if (const auto when = present_field(value, "when")) {
        PAL_TRY(trigger, under("when", read_trigger(*when, extensions)));
        pass.when = std::move(trigger);
    }
    return pass;
}

Result<std::vector<PolicyPass>> read_passes(const JsonValue& root, std::string_view field,
                                            const Extensions& extensions) {
    std::vector<PolicyPass> passes;
    const auto list = present_field(root, field);
    if (!list) return passes;
    if (!list->is_array())
        return fail(ErrorCode::invalid_request, "\"" + std::string(field) + "\" must be a list",
                    std::string(field));
    for (const JsonValue value : list->elements()) {
        const std::string path = std::string(field) + "[" + std::to_string(passes.size()) + "]";
        PAL_TRY(pass, under(path, read_pass(value, extensions)));
        passes.push_back(std::move(pass));
    }
    return passes;
}

// {"hard": {...}, "soft": {...}}, or the hard ones alone.
Result<void> read_triggers(Policy& policy, const JsonValue& value, const Extensions& extensions) {
    if (!value.is_object())
        return fail(ErrorCode::invalid_request, "\"triggers\" must be an object");
    const auto hard = present_field(value, "hard"), soft = present_field(value, "soft");
    const bool has_levels = value.find("hard") || value.find("soft");
    if (has_levels) PAL_CHECK(only_fields(value, {"hard", "soft"}));
    if (hard) {
        PAL_TRY(read, under("hard", read_trigger(*hard, extensions)));
        policy.hard = std::move(read);
    } else if (!has_levels) {
        PAL_TRY(read, read_trigger(value, extensions));
        policy.hard = std::move(read);
    }
    if (soft) {
        PAL_TRY(read, under("soft", read_trigger(*soft, extensions)));
        policy.soft = std::move(read);
    }
    return {};
}

Result<Role> role_by_word(std::string_view word) {
    constexpr std::string_view words[] = {"system", "user", "assistant", "tool", "other"};
    const auto at = std::ranges::find(words, word);
    if (at == std::end(words))
        return fail(ErrorCode::invalid_request,
                    "\"roles\" holds \"" + std::string(word) +
                        "\"; there are system, user, assistant, tool and other",
                    "roles");
    return static_cast<Role>(at - std::begin(words));
}

Result<Protect> read_protect(const JsonValue& value) {
    if (!value.is_object())
        return fail(ErrorCode::invalid_request, "\"protect\" must be an object");
    PAL_CHECK(only_fields(value, {"turns", "tool_uses", "first_user", "roles", "tools"}));
    Protect protect;
    PAL_TRY(turns, count_field(value, "turns"));
    PAL_TRY(uses, count_field(value, "tool_uses"));
    PAL_TRY(first, flag_field(value, "first_user"));
    PAL_TRY(roles, texts_field(value, "roles"));
    PAL_TRY(tools, texts_field(value, "tools"));
    protect.turns = turns.value_or(0);
    protect.tool_uses = uses.value_or(0);
    protect.first_user = first.value_or(false);
    for (const std::string& word : roles) {
        PAL_TRY(role, role_by_word(word));
        protect.roles.push_back(role);
    }
    for (const std::string& tool : tools) protect.tools.push_back(lower(tool));
    return protect;
}

// More than that many is no other wish.
std::uint32_t capped(std::size_t count) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(count, UINT32_MAX));
}

Result<SummaryInjection> read_injection(const JsonValue& value) {
    if (!value.is_object())
        return fail(ErrorCode::invalid_request, "\"injection\" must be an object");
    PAL_CHECK(only_fields(value, {"on", "max_age_days", "max_chars"}));
    SummaryInjection injection;
    PAL_TRY(on, flag_field(value, "on"));
    PAL_TRY(days, count_field(value, "max_age_days"));
    PAL_TRY(chars, count_field(value, "max_chars"));
    injection.on = on.value_or(true);
    if (days) injection.max_age_days = capped(*days);
    if (chars) injection.max_chars = capped(*chars);
    return injection;
}

// {"tokens": N, "least_share": S}
Result<RecallBudget> read_recall(const JsonValue& value) {
    if (!value.is_object()) return fail(ErrorCode::invalid_request, "\"recall\" must be an object");
    PAL_CHECK(only_fields(value, {"tokens", "least_share"}));
    RecallBudget recall;
    PAL_TRY(tokens, count_field(value, "tokens"));
    PAL_TRY(share, share_field(value, "least_share"));
    recall.tokens = tokens.value_or(1000);
    recall.least_share = share.value_or(recall.least_share);
    return recall;
}

Result<void> read_numbers(Policy& policy, const JsonValue& root) {
    PAL_TRY(target, amount_field(root, "target"));
    PAL_TRY(dollars, dollars_field(root, "min_gain"));
    PAL_TRY(min_gain, dollars
                          ? Result<Amount>(Amount{})
                          : amount_field(root, "min_gain", {"tokens", "window_share", "dollars"}));
    PAL_TRY(pays, count_field(root, "pays_within_calls"));
    PAL_TRY(window, count_field(root, "window_tokens"));
    PAL_TRY(reply, count_field(root, "reply_tokens"));
    policy.target = target;
    policy.min_gain = min_gain;
    policy.min_gain_dollars = dollars.value_or(0);
    policy.pays_within_calls = capped(pays.value_or(0));
    policy.window_tokens = window.value_or(0);
    policy.reply_tokens = reply.value_or(0);
    return {};
}

Result<void> read_words(Policy& policy, const JsonValue& root) {
    PAL_TRY(name, text_field(root, "name"));
    PAL_TRY(strategy, text_field(root, "strategy"));
    PAL_TRY(model, text_field(root, "summarizer_model"));
    policy.name = name.value_or("");
    policy.strategy = strategy.value_or("own");
    policy.summarizer_model = model.value_or("");
    return {};
}

constexpr std::uint64_t any_window = 1'000'000;  // Shares are compared in any one.

// Part of it is an `all`: what else it waits for lets the request grow beyond its tokens.
bool waits(const Trigger& trigger) {
    return trigger.kind == Trigger::Kind::all || std::ranges::any_of(trigger.parts, waits);
}

// Whether a request at the trigger is below the amount, whatever the window is. Tokens and shares
// are not compared.
bool lies_above(const Amount& amount, const Trigger& trigger) {
    const auto at = trigger_tokens(trigger, amount.tokens ? 0 : any_window);
    const auto tokens = amount.in(any_window);
    const bool mixed = !amount.tokens && trigger_tokens(trigger, 0);
    return !waits(trigger) && at && tokens && !mixed && *tokens > *at;
}

// A target that lies above what fires it is met from the start: nothing would ever happen.
Result<void> check_targets(const Policy& policy) {
    const auto refuse = [](const std::string& where) {
        return fail(ErrorCode::invalid_request,
                    "\"target\" is above the trigger that it is to be reached from: it would never "
                    "do anything",
                    where + "target");
    };
    if (lies_above(policy.target, policy.hard)) return refuse("");
    for (std::size_t p = 0; p < policy.passes.size(); ++p)
        if (lies_above(policy.passes[p].target, policy.hard))
            return refuse("passes[" + std::to_string(p) + "].");
    return {};
}

// Nothing else than these can fire it.
bool fires_by(const Trigger& trigger, std::string_view name) {
    if (trigger.kind == Trigger::Kind::condition) return trigger.name == name;
    return trigger.kind == Trigger::Kind::any &&
           std::ranges::all_of(trigger.parts,
                               [&](const Trigger& part) { return fires_by(part, name); });
}

// What is done in the background comes before what a turn must wait for, or never.
Result<void> check_levels(const Policy& policy) {
    if (policy.strategy != "own") return {};  // The strategy object has rules of its own.
    for (const auto& [name, window] :
         {std::pair<std::string_view, std::uint64_t>{"tokens", 0}, {"window_share", any_window}}) {
        if (!fires_by(policy.soft, name) || !fires_by(policy.hard, name)) continue;
        const auto soft = trigger_tokens(policy.soft, window),
                   hard = trigger_tokens(policy.hard, window);
        if (!soft || !hard || *soft <= *hard) continue;
        return fail(ErrorCode::invalid_request,
                    "the soft trigger is above the hard one: it would never be first; give "
                    "\"soft\" the smaller number",
                    "triggers.soft");
    }
    return {};
}

Result<void> check_does_something(const Policy& policy, const JsonValue& root) {
    if (!policy.passes.empty()) return {};
    if (present_field(root, "triggers"))
        return fail(ErrorCode::invalid_request,
                    "the policy has triggers and no \"passes\": it would never do anything; name "
                    "some, as in [{\"pass\":\"drop_oldest\"}]",
                    "passes");
    if (!present_field(root, "passes") && !policy.injection.on && policy.recall.tokens == 0)
        return fail(ErrorCode::invalid_request,
                    "the policy has no \"passes\": it would never do anything; name some, as in "
                    "[{\"pass\":\"drop_oldest\"}], or use \"none\"",
                    "passes");
    return {};
}

Result<Policy> read_general(const JsonValue& root, const Extensions& extensions) {
    PAL_CHECK(only_fields(root, {"name", "strategy", "triggers", "passes", "last_resort", "target",
                                 "min_gain", "pays_within_calls", "protect", "window_tokens",
                                 "reply_tokens", "summarizer_model", "injection", "recall"}));
    Policy policy;
    PAL_CHECK(read_words(policy, root));
    PAL_CHECK(read_numbers(policy, root));
    if (const auto triggers = present_field(root, "triggers"))
        PAL_CHECK(under("triggers", read_triggers(policy, *triggers, extensions)));
    if (const auto value = present_field(root, "protect")) {
        PAL_TRY(protect, under("protect", read_protect(*value)));
        policy.protect = std::move(protect);
    }
    if (const auto value = present_field(root, "injection")) {
        PAL_TRY(injection, under("injection", read_injection(*value)));
        policy.injection = injection;
    }
    if (const auto value = present_field(root, "recall")) {
        PAL_TRY(recall, under("recall", read_recall(*value)));
        policy.recall = recall;
    }
    PAL_TRY(passes, read_passes(root, "passes", extensions));
    policy.passes = std::move(passes);
    PAL_TRY(last, read_passes(root, "last_resort", extensions));
    policy.last_resort = std::move(last);
    PAL_CHECK(check_does_something(policy, root));
    PAL_CHECK(check_levels(policy));
    PAL_CHECK(check_targets(policy));
    return policy;
}

// What one plan reads of a policy stays small: it is planned with on a thread that others wait for,
// and stands in the header of every conversation that it was given to.
struct SizeLimits {
    std::size_t bytes = std::size_t{64} << 10;
    std::size_t steps = 64;  // of passes, of the parts of a trigger
    std::size_t names = 1024;
};

bool lists_steps(std::string_view field) {
    return field == "passes" || field == "last_resort" || field == "any" || field == "all";
}

// What is there already is allowed.
void allow_lists(SizeLimits& limits, const JsonValue& value, std::string_view field) {
    std::size_t& most = lists_steps(field) ? limits.steps : limits.names;
    if (value.is_array()) most = std::max(most, value.size());
    if (value.is_array())
        for (const JsonValue element : value.elements()) allow_lists(limits, element, {});
    if (value.is_object())
        for (const JsonMember member : value.members())
            allow_lists(limits, member.value, member.key);
}

// The lists of a policy, wherever they stand in it.
Result<void> check_lists(const SizeLimits& limits, const JsonValue& value, std::string_view field) {
    const std::size_t most = lists_steps(field) ? limits.steps : limits.names;
    if (value.is_array() && value.size() > most)
        return fail(ErrorCode::invalid_request, "the list has " + std::to_string(value.size()) +
                                                    " entries; in a policy it may have " +
                                                    std::to_string(most));
    std::size_t at = 0;
    if (value.is_array())
        for (const JsonValue element : value.elements())
            PAL_CHECK(under("[" + std::to_string(at++) + "]", check_lists(limits, element, {})));
    if (value.is_object())
        for (const JsonMember member : value.members())
            PAL_CHECK(under(member.key, check_lists(limits, member.value, member.key)));
    return {};
}

std::unexpected<Error> no_preset(std::string_view name) {
    std::string message = "there is no policy \"" + std::string(name) + "\"; there are";
    for (const Preset& one : presets()) message += " \"" + std::string(one.name) + "\"";
    return fail(ErrorCode::invalid_request, std::move(message), "policy");
}

}  // namespace

std::string policy_json(std::string_view policy) {
    if (policy.empty()) return "null";
    const bool json = policy.starts_with('{') || policy.starts_with('"');
    return json ? std::string(policy) : json_string(policy);
}

Result<void> check_policy_size(std::string_view given, std::string_view standing) {
    SizeLimits limits;
    limits.bytes = std::max(limits.bytes, standing.size());
    if (const auto document = parse_json(standing)) allow_lists(limits, document->root(), {});
    if (given.size() > limits.bytes)
        return fail(ErrorCode::invalid_request,
                    "the policy has " + std::to_string(given.size()) + " bytes; it may have " +
                        std::to_string(limits.bytes),
                    "policy");
    const auto document = parse_json(given);
    return document ? check_lists(limits, document->root(), {}) : Result<void>();
}

Result<std::string> expand_policy(std::string_view json) {
    if (const std::string_view preset = find_preset(json); !preset.empty())
        return std::string(preset);
    auto document = parse_json(json);
    if (!document && json.find('{') == std::string_view::npos) return no_preset(json);
    if (!document)
        return fail(ErrorCode::invalid_request,
                    "the policy is not JSON: " + document.error().message, "policy");
    const JsonValue root = document->root();
    if (root.is_string()) {
        const std::string_view preset = find_preset(root.string());
        if (!preset.empty()) return std::string(preset);
        return no_preset(root.string());
    }
    if (!root.is_object())
        return fail(ErrorCode::invalid_request,
                    "a policy must be a JSON object or the name of a preset", "policy");
    if (is_strategy(root)) return general_of_strategy(root);
    return without_strategy_nulls(root);
}

Result<Policy> parse_policy(std::string_view json, const Extensions& extensions) {
    PAL_TRY(general, expand_policy(json));
    PAL_TRY(document, parse_json(general));
    PAL_TRY(policy, read_general(document.root(), extensions));
    policy.protect.predicate = extensions.protect;
    policy.print = hash_bytes(json);
    return policy;
}

std::string_view choose_policy(const PolicyLevels& levels) {
    for (const std::string_view level :
         {levels.request, levels.conversation, levels.agent, levels.server})
        if (!level.empty() && level != "null") return level;
    return {};
}

}  // namespace palimpsest
