#include "engine/tool_calls.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"
#include "format/canonical.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr std::string_view any_object = R"({"type":"object","properties":{}})";

void write_definition(JsonWriter& out, FormatId format, const Tool& tool) {
    const std::string_view schema = tool.schema.empty() ? any_object : tool.schema;
    out.begin_object();
    if (format == FormatId::anthropic) {
        out.field("name", tool.name).field("description", tool.description);
        out.key("input_schema").raw(schema).end_object();
        return;
    }
    out.field("type", "function");
    if (format == FormatId::openai_chat) out.key("function").begin_object();
    out.field("name", tool.name).field("description", tool.description);
    out.key("parameters").raw(schema);
    // There it is the default, and refuses schemas that are not written for it.
    if (format == FormatId::openai_responses) out.key("strict").boolean(false);
    if (format == FormatId::openai_chat) out.end_object();
    out.end_object();
}

Result<void> check_tools(const ChatOptions& options) {
    for (const Tool& tool : options.tools) {
        const auto same = [&](const Tool& other) { return other.name == tool.name; };
        if (tool.name.empty() || !tool.run)
            return fail(ErrorCode::invalid_request, "a tool needs a name and something to run",
                        "tools");
        if (std::ranges::count_if(options.tools, same) > 1 ||
            (options.recall && tool.name == recall_tool_name))
            return fail(ErrorCode::invalid_request, "two tools are named " + tool.name, "tools");
        if (tool.schema.empty()) continue;
        auto schema = parse_json(tool.schema);
        if (!schema || !schema->root().is_object())
            return fail(ErrorCode::invalid_request,
                        "the schema of the tool " + tool.name + " is not a JSON object", "tools");
    }
    return {};
}

void write_anthropic_results(JsonWriter& out, std::span<const CallResult> results) {
    out.begin_object().field("role", "user").key("content").begin_array();
    for (const CallResult& result : results) {
        out.begin_object().field("type", "tool_result").field("tool_use_id", result.id);
        out.field("content", result.text);
        if (result.is_error) out.key("is_error").boolean(true);
        out.end_object();
    }
    out.end_array().end_object();
}

}  // namespace

Result<std::vector<PendingCall>> calls_of(std::span<const Message> answer) {
    std::vector<PendingCall> calls;
    for (const Message& message : answer) {
        if (message.shape.calls.empty()) continue;
        PAL_TRY(parts, read_parts(message));
        for (const Part& part : parts.parts) {
            const auto* call = std::get_if<ToolCall>(&part);
            if (!call ||
                std::ranges::find(message.shape.calls, call->id) == message.shape.calls.end())
                continue;
            calls.push_back(
                {std::string(call->id), std::string(call->name), std::string(call->arguments)});
        }
    }
    return calls;
}

Result<std::string> text_of_answer(std::span<const Message> answer) {
    std::string text;
    for (const Message& message : answer) {
        if (!message.shape.text) continue;
        PAL_TRY(parts, read_parts(message));
        for (const Part& part : parts.parts)
            if (const auto* piece = std::get_if<Text>(&part)) text += piece->text;
    }
    return text;
}

std::string write_results(FormatId format, std::span<const CallResult> results) {
    std::string json;
    JsonWriter out(json);
    if (results.empty()) return json;
    if (format == FormatId::anthropic) {
        write_anthropic_results(out, results);
        return json;
    }
    for (const CallResult& result : results) {
        if (!json.empty()) json += ',';
        JsonWriter one(json);
        one.begin_object();
        if (format == FormatId::openai_chat)
            one.field("role", "tool")
                .field("tool_call_id", result.id)
                .field("content", result.text);
        else
            one.field("type", "function_call_output")
                .field("call_id", result.id)
                .field("output", result.text);
        one.end_object();
    }
    return json;
}

Result<std::string> write_tools(FormatId format, std::string_view given,
                                const ChatOptions& options) {
    PAL_CHECK(check_tools(options));
    std::string json;
    JsonWriter out(json);
    out.begin_array();
    if (!given.empty()) {
        PAL_TRY(list, parse_json(given));
        if (!list.root().is_array())
            return fail(ErrorCode::invalid_request, "tools must be a JSON list", "tools");
        for (const JsonValue one : list.root().elements()) out.raw(one.raw());
    }
    for (const Tool& tool : options.tools) write_definition(out, format, tool);
    if (options.recall) out.raw(recall_tool(format));
    out.end_array();
    return json == "[]" ? std::string() : json;
}

std::string canonical_calls(std::span<const PendingCall> calls) {
    std::string line;
    for (const PendingCall& call : calls) {
        append_json_string(line, call.name);
        append_canonical(line, call.arguments, JsonKeep::all);
    }
    return line;
}

}  // namespace palimpsest
