// Fields of a Chat Completions request: tools one level down, structured output as response_format.
#include "format/openai_chat/openai_chat.h"
#include "format/openai_request.h"

namespace palimpsest {
namespace {

void write_tools(JsonWriter& out, const NeutralRequest& request) {
    if (request.tools.empty()) return;
    out.key("tools").begin_array();
    for (const NeutralTool& tool : request.tools) {
        const std::string_view type = tool.custom ? "custom" : "function";
        out.begin_object().field("type", type).key(type).begin_object();
        write_openai_definition(out, tool);
        out.end_object().end_object();
    }
    out.end_array();
    if (!write_openai_choice(out, request)) return;
    out.begin_object().field("type", "function").key("function").begin_object();
    out.field("name", request.choice_tool).end_object().end_object();
}

void write_output(JsonWriter& out, const NeutralRequest& request) {
    raw_field(out, "reasoning_effort", request.effort);
    if (request.json_object)
        out.key("response_format").begin_object().field("type", "json_object").end_object();
    if (request.schema.empty()) return;
    out.key("response_format").begin_object().field("type", "json_schema");
    out.key("json_schema").begin_object();
    write_schema_fields(out, request, true);
    out.end_object().end_object();
}

}  // namespace

bool read_openai_chat_field(NeutralRequest& request, std::string_view key, JsonValue value) {
    if (key == "max_tokens" || key == "max_completion_tokens")
        request.max_tokens = value.raw();
    else if (key == "stop")
        read_stop(request, value);
    else if (key == "response_format")
        read_output_format(request, value);
    else if (key == "reasoning_effort")
        request.effort = value.raw();
    else if (key == "store")
        request.store = value.raw();
    else
        return read_openai_tool_field(request, key, value);
    return true;
}

std::string write_openai_chat_body(const NeutralRequest& request, std::string_view list,
                                   std::vector<std::string>&) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    raw_field(out, "model", request.model);
    out.key("messages").raw(list);
    write_tools(out, request);
    raw_field(out, "max_completion_tokens", request.max_tokens);
    write_sampling(out, request);
    write_stop(out, "stop", request);
    write_output(out, request);
    if (request.store == "true") raw_field(out, "store", request.store);  // else not: its default
    raw_field(out, "stream", request.stream);
    out.end_object();
    return text;
}

}  // namespace palimpsest
