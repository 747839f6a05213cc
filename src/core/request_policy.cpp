// What a request body's own fields ask for, as a policy: Anthropic's and OpenAI's context editing.
#include <algorithm>
#include <optional>

#include "base/json_write.h"
#include "core/pass_parameters.h"
#include "core/policy.h"

namespace palimpsest {
namespace {

constexpr std::int64_t clear_trigger_default = 100'000, clear_keep_default = 3;
constexpr std::int64_t compact_trigger_default = 150'000, compact_trigger_least = 50'000;
constexpr std::int64_t openai_threshold_least = 1000;

std::unexpected<Error> bad(std::string_view what, std::string_view param) {
    return fail(ErrorCode::invalid_request, std::string(what), std::string(param));
}

std::string_view type_of(const JsonValue& value) {
    const auto type = value.find("type");
    return type ? type->string() : std::string_view();
}

// {"type": "input_tokens", "value": 30000}
struct Counted {
    std::string type = {};
    std::int64_t value = 0;
};
Result<std::optional<Counted>> counted(const JsonValue& edit, std::string_view name,
                                       std::string_view type, std::string_view other = {}) {
    const auto value = edit.find(name);
    if (!value || value->is_null()) return std::nullopt;
    const auto number = value->is_object() ? value->find("value") : std::nullopt;
    if (!number || !number->integer() || *number->integer() < 0)
        return bad("\"" + std::string(name) + "\" must be {\"type\", \"value\"}", name);
    if (type_of(*value) != type && type_of(*value) != other)
        return bad("\"" + std::string(name) + "\" is of type " + std::string(type) +
                       (other.empty() ? "" : " or " + std::string(other)),
                   name);
    return Counted{std::string(type_of(*value)), *number->integer()};
}

struct Wishes {
    std::string triggers = {}, passes = {};
    std::string last_resort = {};  // empty: the usual one
    std::int64_t min_gain = 0;     // of all passes together
    void add(const std::string& trigger, std::string pass) {
        triggers += (triggers.empty() ? "" : ",") + trigger;
        passes += (passes.empty() ? "" : ",") + std::move(pass);
    }
};

// Folds at so many tokens, or at as many as a smaller window bears: what was meant for a larger
// model does so here too, and before the oldest would have to be dropped.
void add_fold(Wishes& parts, std::optional<std::int64_t> tokens,
              const std::optional<std::string>& instructions = {}) {
    const std::string condition =
        "{" + (tokens ? "\"tokens\":" + std::to_string(*tokens) + "," : std::string()) +
        R"("window_share":0.9,"window":true,"overflow":true})";
    parts.add(condition,
              R"({"pass":"summarize","max_tokens":1000,"when":)" + condition +
                  (instructions ? ",\"instructions\":" + json_string(*instructions) : "") + "}");
}

std::string list_of(const std::vector<std::string>& names) {
    std::string json;
    JsonWriter out(json);
    out.begin_array();
    for (const std::string& one : names) out.string(one);
    out.end_array();
    return json;
}

// Whose inputs go, as a parameter of the pass: "" those of all tools, none where nothing goes. What
// is excluded stays, also when the list of inputs names it, where a pass would let the list win.
Result<std::optional<std::string>> inputs_of(const JsonValue& edit,
                                             const std::vector<std::string>& exclude) {
    const auto inputs = edit.find("clear_tool_inputs");
    if (!inputs || inputs->is_null() || inputs->boolean() == false) return std::nullopt;
    if (inputs->boolean()) return std::string();
    if (!inputs->is_array())
        return bad("\"clear_tool_inputs\" must be true, false or a list of names",
                   "clear_tool_inputs");
    PAL_TRY(names, texts_field(edit, "clear_tool_inputs"));
    std::erase_if(names, [&](const std::string& name) {
        return std::ranges::find(exclude, lower(name), lower) != exclude.end();
    });
    if (names.empty()) return std::nullopt;
    return ",\"include_tools\":" + list_of(names);
}

Result<void> add_clear_tool_uses(Wishes& parts, const JsonValue& edit) {
    PAL_CHECK(only_fields(
        edit, {"type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"}));
    PAL_TRY(trigger, counted(edit, "trigger", "input_tokens", "tool_uses"));
    PAL_TRY(keep, counted(edit, "keep", "tool_uses"));
    PAL_TRY(least, counted(edit, "clear_at_least", "input_tokens"));
    PAL_TRY(exclude, texts_field(edit, "exclude_tools"));
    PAL_TRY(inputs, inputs_of(edit, exclude));
    const Counted when = trigger.value_or(Counted{"input_tokens", clear_trigger_default});
    const std::string condition = "{\"" +
                                  std::string(when.type == "tool_uses" ? "tool_uses" : "tokens") +
                                  "\":" + std::to_string(when.value) + "}";
    const std::string options =
        ",\"keep_tool_uses\":" + std::to_string(keep ? keep->value : clear_keep_default) +
        ",\"exclude_tools\":" + list_of(exclude) + ",\"target\":0,\"when\":" + condition;
    const std::string gain =
        least && !inputs ? ",\"min_gain\":" + std::to_string(least->value) : "";
    parts.add(condition, "{\"pass\":\"clear_tool_results\"" + options + gain + "}");
    if (!inputs) return {};
    if (least) parts.min_gain = least->value;  // Results and inputs count together.
    parts.add(condition, "{\"pass\":\"clear_tool_inputs\"" + options + *inputs + "}");
    return {};
}

Result<void> add_clear_thinking(Wishes& parts, const JsonValue& edit) {
    PAL_CHECK(only_fields(edit, {"type", "keep"}));
    const auto keep = edit.find("keep");
    if (keep && (keep->string() == "all" || type_of(*keep) == "all")) return {};
    PAL_TRY(turns, counted(edit, "keep", "thinking_turns"));
    const std::string kept = std::to_string(turns ? turns->value : 1);
    parts.add("{\"reasoning_turns\":" + kept + "}",
              "{\"pass\":\"clear_reasoning\",\"target\":0,\"keep_turns\":" + kept + "}");
    return {};
}

Result<void> add_compact(Wishes& parts, const JsonValue& edit) {
    PAL_CHECK(only_fields(edit, {"type", "trigger", "instructions", "pause_after_compaction"}));
    PAL_TRY(trigger, counted(edit, "trigger", "input_tokens"));
    PAL_TRY(pause, flag_field(edit, "pause_after_compaction"));
    if (pause.value_or(false))
        return bad("\"pause_after_compaction\" is not supported: the answer comes in the same call",
                   "pause_after_compaction");
    PAL_TRY(instructions, text_field(edit, "instructions"));
    const std::int64_t at = trigger ? trigger->value : compact_trigger_default;
    if (at < compact_trigger_least)
        return bad("the trigger of compact_20260112 is at least 50000 tokens", "trigger");
    add_fold(parts, at, instructions);
    return {};
}

Result<void> add_edit(Wishes& parts, const JsonValue& edit) {
    const std::string_view type = type_of(edit);
    if (type == "clear_tool_uses_20250919") return add_clear_tool_uses(parts, edit);
    if (type == "compact_20260112") return add_compact(parts, edit);
    if (type != "clear_thinking_20251015")
        return bad("unknown edit \"" + std::string(type) + "\"", "type");
    if (!parts.passes.empty()) return bad("clear_thinking_20251015 must be the first edit", "");
    return add_clear_thinking(parts, edit);
}

Result<void> add_anthropic(Wishes& parts, const JsonValue& management) {
    if (!management.is_object())
        return bad("\"context_management\" must be an object", "context_management");
    PAL_CHECK(under("context_management", only_fields(management, {"edits"})));
    const auto edits = management.find("edits");
    if (!edits || edits->is_null()) return {};
    if (!edits->is_array()) return bad("\"edits\" must be a list", "context_management.edits");
    std::size_t at = 0;
    for (const JsonValue edit : edits->elements())
        PAL_CHECK(
            under("context_management.edits[" + std::to_string(at++) + "]", add_edit(parts, edit)));
    return {};
}

Result<void> add_compaction(Wishes& parts, const JsonValue& entry) {
    if (type_of(entry) != "compaction")
        return bad("an entry of \"context_management\" has the type compaction", "type");
    PAL_CHECK(only_fields(entry, {"type", "compact_threshold"}));
    const auto threshold = entry.find("compact_threshold");
    const auto at = threshold ? threshold->integer() : std::nullopt;
    if (threshold && !threshold->is_null() && !at)
        return bad("\"compact_threshold\" is a number of tokens", "compact_threshold");
    if (at && *at < openai_threshold_least)
        return bad("\"compact_threshold\" is at least 1000", "compact_threshold");
    add_fold(parts, at);
    return {};
}

Result<void> add_openai(Wishes& parts, const JsonValue& management) {
    if (!management.is_array())
        return bad("\"context_management\" must be a list", "context_management");
    std::size_t at = 0;
    for (const JsonValue entry : management.elements())
        PAL_CHECK(under("context_management[" + std::to_string(at++) + "]",
                        add_compaction(parts, entry)));
    return {};
}

// Both are about what does not fit the window. Beside other wishes `auto` asks for nothing more:
// the oldest goes when they did not suffice.
Result<void> add_truncation(Wishes& parts, const JsonValue& body) {
    const auto truncation = body.find("truncation");
    if (!truncation || truncation->is_null()) return {};
    const bool drops = truncation->string() == "auto";
    if (!drops && truncation->string() != "disabled")
        return bad("\"truncation\" is auto or disabled", "truncation");
    const std::string pass = drops ? R"({"pass":"drop_oldest"})" : R"({"pass":"fail"})";
    if (!drops) parts.last_resort = "[" + pass + "]";
    if (parts.passes.empty()) parts.add(R"({"window_share":1})", pass);
    return {};
}

}  // namespace

Result<std::string> policy_of_request(std::string_view request_body, FormatId format) {
    PAL_TRY(document, parse_json(request_body));
    const JsonValue body = document.root();
    const auto management = body.find("context_management");
    Wishes parts;
    if (management && !management->is_null()) {
        if (format == FormatId::anthropic)
            PAL_CHECK(add_anthropic(parts, *management));
        else
            PAL_CHECK(add_openai(parts, *management));
    }
    if (format == FormatId::openai_responses) PAL_CHECK(add_truncation(parts, body));
    if (parts.passes.empty()) return std::string();
    const std::string gain =
        parts.min_gain > 0 ? ",\"min_gain\":" + std::to_string(parts.min_gain) : "";
    const std::string last =
        parts.last_resort.empty() ? "" : ",\"last_resort\":" + parts.last_resort;
    return R"({"name":"request","strategy":"compact","triggers":{"any":[)" + parts.triggers +
           R"(]},"passes":[)" + parts.passes + "]" + last + gain + "}";
}

}  // namespace palimpsest
