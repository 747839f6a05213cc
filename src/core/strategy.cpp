// From the memory strategy object to a general policy.
//
// Defaults and corrections are the seed's: without a budget a fifth of the window must remain,
// shares are clamped to 0..1, a negative compact_keep is 2, negative numbers of turns are none.
#include "core/strategy.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/json_write.h"
#include "core/pass_parameters.h"
#include "core/policy.h"

namespace palimpsest {
namespace {

constexpr std::int64_t default_window = 400'000;
constexpr std::int64_t default_keep = 2;
constexpr double default_remaining = 0.2;

enum class FieldKind : std::uint8_t { mode, integer, number, flag, text, texts, object };
struct Field {
    std::string_view name;
    FieldKind kind;
};
constexpr Field fields[] = {
    {"mode", FieldKind::mode},
    {"compact_keep", FieldKind::integer},
    {"compact_trigger_turns", FieldKind::integer},
    {"token_budget", FieldKind::integer},
    {"token_soft_budget", FieldKind::integer},
    {"context_window_tokens", FieldKind::integer},
    {"token_remaining_pct", FieldKind::number},
    {"token_soft_remaining_pct", FieldKind::number},
    {"compact_clear_tool_inputs", FieldKind::flag},
    {"compact_exclude_tools", FieldKind::texts},
    {"compact_include_tools", FieldKind::texts},
    {"max_user_turns", FieldKind::integer},
    {"keep_last_user_turns", FieldKind::integer},
    {"summarizer_model", FieldKind::text},
    {"summary_max_tokens", FieldKind::integer},
    {"summary_max_chars", FieldKind::integer},
    {"summary_prefix", FieldKind::text},
    {"memory_injection", FieldKind::flag},
    {"keep_tool_uses", FieldKind::integer},
    {"keep_identifiers", FieldKind::integer},
    {"min_gain_tokens", FieldKind::integer},
    {"recall", FieldKind::object},
};
// Other names that the seed takes.
struct Alias {
    std::string_view name, field;
};
constexpr Alias aliases[] = {
    {"strategy", "mode"},
    {"memory_strategy", "mode"},
    {"keep_last_turns", "keep_last_user_turns"},
    {"clear_tool_inputs", "compact_clear_tool_inputs"},
    {"exclude_tools", "compact_exclude_tools"},
    {"include_tools", "compact_include_tools"},
};
// Those that are no fields of a strategy, too.
constexpr std::string_view general_fields[] = {
    "name",     "triggers",          "passes",  "last_resort",   "target",
    "min_gain", "pays_within_calls", "protect", "window_tokens", "reply_tokens",
    "injection"};
constexpr std::string_view modes[] = {"none", "trim", "summarize", "compact"};

const Field* find_field(std::string_view name) {
    const auto at = std::ranges::find(fields, name, &Field::name);
    return at == std::end(fields) ? nullptr : at;
}

std::string_view field_name(std::string_view name) {
    const auto at = std::ranges::find(aliases, name, &Alias::name);
    return at == std::end(aliases) ? name : at->field;
}

// By whichever of its names.
bool names_field(const JsonValue& object, std::string_view name) {
    for (const JsonMember member : object.members())
        if (field_name(member.key) == field_name(name)) return true;
    return false;
}

bool has_value(const JsonValue& object) {
    for (const JsonMember member : object.members())
        if (!member.value.is_null()) return true;
    return false;
}

bool is_texts(const JsonValue& value) {
    if (!value.is_array()) return false;
    for (const JsonValue element : value.elements())
        if (!element.is_string()) return false;
    return true;
}

// What the value should have been, or "" if it is that.
std::string_view complaint(FieldKind kind, const JsonValue& value) {
    if (value.is_null()) return "";
    switch (kind) {
        case FieldKind::mode:
            return std::ranges::find(modes, value.string()) != std::end(modes)
                       ? ""
                       : "one of \"none\", \"trim\", \"summarize\" and \"compact\"";
        case FieldKind::integer:
            return value.integer() ? "" : "a whole number";
        case FieldKind::number:
            return value.number() ? "" : "a number";
        case FieldKind::flag:
            return value.boolean() ? "" : "true or false";
        case FieldKind::text:
            return value.is_string() ? "" : "a string";
        case FieldKind::texts:
            return is_texts(value) ? "" : "a list of strings";
        case FieldKind::object:
            return value.is_object() ? "" : "an object";
    }
    return "";
}

Result<void> check_fields(const JsonValue& object) {
    for (const JsonMember member : object.members()) {
        const std::string name(member.key);
        const bool general =
            std::ranges::find(general_fields, member.key) != std::end(general_fields);
        if (general && member.value.is_null()) continue;
        if (general)
            return fail(ErrorCode::invalid_request,
                        "\"" + name +
                            "\" belongs to the general form of a policy and cannot stand beside "
                            "the fields of a memory strategy",
                        name);
        const Field* field = find_field(field_name(member.key));
        if (!field) {
            std::string message = "unknown field \"" + name + "\"; known are";
            for (const Field& one : fields) message += " \"" + std::string(one.name) + "\"";
            return fail(ErrorCode::invalid_request, std::move(message), name);
        }
        if (const std::string_view what = complaint(field->kind, member.value); !what.empty())
            return fail(ErrorCode::invalid_request,
                        "\"" + name + "\" must be " + std::string(what) + "; it is " +
                            std::string(member.value.raw().substr(0, 64)),
                        name);
    }
    return {};
}

class Strategy {
public:
    explicit Strategy(const JsonValue& object) : object_(object) {}

    std::optional<std::int64_t> integer(std::string_view name) const {
        const auto value = object_.find(name);
        return value ? value->integer() : std::nullopt;
    }
    // Above 0, or none.
    std::optional<std::int64_t> positive(std::string_view name) const {
        const auto number = integer(name);
        return number && *number > 0 ? number : std::nullopt;
    }
    std::optional<double> share(std::string_view name) const {
        const auto value = object_.find(name);
        const auto number = value ? value->number() : std::nullopt;
        return number ? std::optional(std::clamp(*number, 0.0, 1.0)) : std::nullopt;
    }
    bool flag(std::string_view name) const {
        const auto value = object_.find(name);
        return value && value->boolean().value_or(false);
    }
    std::string_view text(std::string_view name, std::string_view otherwise) const {
        const auto value = object_.find(name);
        return value && value->is_string() ? value->string() : otherwise;
    }
    std::string_view raw(std::string_view name) const {
        const auto value = object_.find(name);
        return value && !value->is_null() ? value->raw() : std::string_view();
    }

private:
    JsonValue object_;
};

void put(JsonWriter& out, std::string_view name, std::optional<std::int64_t> value) {
    if (value) out.key(name).number(*value);
}

void write_triggers(JsonWriter& out, const Strategy& in, std::string_view turns_field) {
    const auto budget = in.integer("token_budget");
    auto remaining = in.share("token_remaining_pct");
    if (!budget && !remaining) remaining = default_remaining;
    out.key("triggers").begin_object().key("hard").begin_object();
    put(out, "turns", in.positive(turns_field));
    if (budget) put(out, "tokens", std::max<std::int64_t>(*budget, 0));
    if (remaining) out.key("remaining_pct").number(*remaining);
    out.end_object();
    const auto soft_budget = in.integer("token_soft_budget");
    const auto soft_remaining = in.share("token_soft_remaining_pct");
    if (soft_budget || soft_remaining) {
        out.key("soft").begin_object();
        if (soft_budget) put(out, "tokens", std::max<std::int64_t>(*soft_budget, 0));
        if (soft_remaining) out.key("remaining_pct").number(*soft_remaining);
        out.end_object();
    }
    out.end_object();
}

void write_trim(JsonWriter& out, const Strategy& in) {
    const auto keep = in.positive("keep_last_user_turns");
    const auto most = in.positive("max_user_turns");
    if (keep || most) {
        out.begin_object().field("pass", "keep_last");
        put(out, "turns", keep ? keep : most);
        out.end_object();
    } else {
        out.begin_object().field("pass", "drop_oldest").end_object();
    }
}

void write_summarize(JsonWriter& out, const Strategy& in) {
    out.begin_object().field("pass", "summarize");
    out.key("keep_turns").number(in.positive("keep_last_user_turns").value_or(1));
    const auto cap = in.integer("summary_max_tokens");
    out.key("max_tokens").number(std::max<std::int64_t>(cap.value_or(300), 1));
    out.field("prefix", in.text("summary_prefix", "[summary]"));
    if (!in.raw("summarizer_model").empty()) out.key("model").raw(in.raw("summarizer_model"));
    out.end_object();
}

// All that is eligible goes at once: the seed does not stop at the budget.
void write_clear(JsonWriter& out, const Strategy& in, std::string_view pass) {
    const std::int64_t keep = in.integer("compact_keep").value_or(default_keep);
    out.begin_object().field("pass", pass).key("keep_turns").number(keep < 0 ? default_keep : keep);
    const auto uses = in.integer("keep_tool_uses");
    if (uses && *uses >= 0) put(out, "keep_tool_uses", uses);
    if (!in.raw("compact_include_tools").empty())
        out.key("include_tools").raw(in.raw("compact_include_tools"));
    if (!in.raw("compact_exclude_tools").empty())
        out.key("exclude_tools").raw(in.raw("compact_exclude_tools"));
    if (pass == "clear_tool_results") put(out, "keep_identifiers", in.positive("keep_identifiers"));
    out.key("min_tokens").number(0).key("target").number(0).end_object();
}

void write_injection(JsonWriter& out, const Strategy& in) {
    out.key("injection").begin_object().key("on").boolean(in.flag("memory_injection"));
    const auto chars = in.integer("summary_max_chars");
    out.key("max_chars").number(std::max<std::int64_t>(chars.value_or(4000), 1)).end_object();
}

}  // namespace

bool is_strategy(const JsonValue& object) {
    if (object.size() == 0) return true;
    // "strategy" is a name of "mode" here and a word for reports in the general form.
    const bool says_something = has_value(object);
    bool only_fields = true, only_shared = true;
    for (const JsonMember member : object.members()) {
        if (says_something && member.value.is_null()) continue;
        const bool shared = member.key == "summarizer_model" || member.key == "recall";
        if (!shared && find_field(member.key)) return true;
        only_fields &= find_field(field_name(member.key)) != nullptr;
        only_shared &= shared;
    }
    return only_fields && !only_shared;
}

std::vector<std::string_view> strategy_names() {
    std::vector<std::string_view> names;
    for (const Field& field : fields) names.push_back(field.name);
    for (const Alias& alias : aliases) names.push_back(alias.name);
    return names;
}

Result<std::string> with_usual_names(const JsonValue& object) {
    std::string json;
    JsonWriter out(json);
    out.begin_object();
    for (const JsonMember member : object.members()) {
        if (member.value.is_null()) continue;
        const std::string_view name = field_name(member.key);
        const auto usual = object.find(name);
        if (name != member.key && usual && !usual->is_null())
            return fail(ErrorCode::invalid_request,
                        "\"" + std::string(member.key) + "\" is another name of \"" +
                            std::string(name) + "\"; give one of them",
                        std::string(member.key));
        out.key(name).raw(member.value.raw());
    }
    out.end_object();
    return json;
}

std::string without_strategy_nulls(const JsonValue& general) {
    std::string json;
    JsonWriter out(json);
    out.begin_object();
    bool changed = false;
    for (const JsonMember member : general.members()) {
        const bool absent = member.value.is_null() && find_field(field_name(member.key));
        changed |= absent;
        if (!absent) out.key(member.key).raw(member.value.raw());
    }
    out.end_object();
    return changed ? json : std::string(general.raw());
}

Result<std::string> general_of_strategy(const JsonValue& given) {
    PAL_CHECK(check_fields(given));
    PAL_TRY(usual, with_usual_names(given));
    PAL_TRY(document, parse_json(usual));
    const JsonValue object = document.root();
    const Strategy in(object);
    const std::string_view mode = in.text("mode", "none");
    std::string json;
    JsonWriter out(json);
    out.begin_object().field("name", mode).field("strategy", mode);
    const auto window = in.positive("context_window_tokens");
    out.key("window_tokens").number(window.value_or(default_window));
    if (mode != "none")
        write_triggers(out, in, mode == "compact" ? "compact_trigger_turns" : "max_user_turns");
    put(out, "min_gain", in.positive("min_gain_tokens"));
    out.key("passes").begin_array();
    if (mode == "trim") write_trim(out, in);
    if (mode == "summarize") write_summarize(out, in);
    if (mode == "compact") write_clear(out, in, "clear_tool_results");
    if (mode == "compact" && in.flag("compact_clear_tool_inputs"))
        write_clear(out, in, "clear_tool_inputs");
    out.end_array();
    if (!in.raw("summarizer_model").empty())
        out.key("summarizer_model").raw(in.raw("summarizer_model"));
    if (!in.raw("recall").empty()) out.key("recall").raw(in.raw("recall"));
    write_injection(out, in);
    out.end_object();
    return json;
}

Result<std::string> patch_strategy(std::string_view strategy, std::string_view patch) {
    PAL_TRY(changes, parse_json(patch));
    if (!changes.root().is_object())
        return fail(ErrorCode::invalid_request, "a memory strategy must be a JSON object");
    PAL_TRY(old, parse_json(strategy.empty() ? "{}" : strategy));
    if (changes.root().size() == 0) return std::string(strategy);
    // Only as a whole: what of it would go on beside another field, nobody has said.
    if (old.root().is_string() && !names_field(changes.root(), "mode"))
        return fail(ErrorCode::invalid_request,
                    "the strategy is the preset " + std::string(old.root().raw()) +
                        ", which has no fields to change: set a mode with them, or clear it with "
                        "\"mode\": null",
                    "mode");
    std::string json;
    JsonWriter out(json);
    out.begin_object();
    std::size_t written = 0;
    for (const JsonMember member : old.root().members())
        if (!names_field(changes.root(), member.key) && ++written > 0)
            out.key(member.key).raw(member.value.raw());
    for (const JsonMember member : changes.root().members())
        if (!member.value.is_null() && ++written > 0) out.key(member.key).raw(member.value.raw());
    out.end_object();
    if (written == 0) return std::string();
    PAL_CHECK(parse_policy(json));
    return json;
}

}  // namespace palimpsest
