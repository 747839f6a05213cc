#include "engine/tool_calls.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"
#include "engine/tool_dialects.h"
#include "format/canonical.h"
#include "palimpsest/format.h"
#include "palimpsest/search.h"

namespace palimpsest {
namespace {

constexpr std::string_view any_object = R"({"type":"object","properties":{}})";

std::string definition(const ToolDialect& dialect, const Tool& tool) {
    const std::string_view schema = tool.schema.empty() ? any_object : tool.schema;
    std::string out(dialect.tool_open);
    out += "\"name\":" + json_string(tool.name) +
           ",\"description\":" + json_string(tool.description) + ",\"" +
           std::string(dialect.schema_field) + "\":";
    out += schema;
    out += dialect.tool_close;
    return out;
}

bool is_recall_name(std::string_view name) {
    return name == recall_tool_name || name == search_tool_name;
}

// Of a tool as a caller defines it, in any format.
std::string_view name_of_definition(JsonValue tool) {
    const auto inner = tool.find("function");
    const auto name = (inner ? *inner : tool).find("name");
    return name ? name->string() : std::string_view();
}

std::unexpected<Error> two_tools_named(std::string_view name) {
    return fail(ErrorCode::invalid_request, "two tools are named " + std::string(name), "tools");
}

Result<void> check_tools(const ChatOptions& options) {
    for (const Tool& tool : options.tools) {
        const auto same = [&](const Tool& other) { return other.name == tool.name; };
        if (tool.name.empty() || !tool.run)
            return fail(ErrorCode::invalid_request, "a tool needs a name and something to run",
                        "tools");
        if (std::ranges::count_if(options.tools, same) > 1 ||
            (options.recall && is_recall_name(tool.name)))
            return two_tools_named(tool.name);
        if (tool.schema.empty()) continue;
        auto schema = parse_json(tool.schema);
        if (!schema || !schema->root().is_object())
            return fail(ErrorCode::invalid_request,
                        "the schema of the tool " + tool.name + " is not a JSON object", "tools");
    }
    return {};
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
    if (results.empty()) return "";
    const ToolDialect& dialect = tool_dialect_of(format);
    std::string out(dialect.results_open);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (i > 0) out += ',';
        out += dialect.result_id;
        append_json_string(out, results[i].id);
        out += dialect.result_text;
        append_json_string(out, results[i].text);
        if (results[i].is_error) out += dialect.result_error;
        out += '}';
    }
    return out + std::string(dialect.results_close);
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
        for (const JsonValue one : list.root().elements()) {
            if (options.recall && is_recall_name(name_of_definition(one)))
                return two_tools_named(name_of_definition(one));
            out.raw(one.raw());
        }
    }
    for (const Tool& tool : options.tools) out.raw(definition(tool_dialect_of(format), tool));
    if (options.recall) out.raw(recall_tool(format)).raw(search_tool(format));
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
