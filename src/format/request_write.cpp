#include "base/json_write.h"
#include "format/request.h"

namespace palimpsest {
namespace {

void raw_field(JsonWriter& out, std::string_view key, std::string_view json) {
    if (!json.empty()) out.key(key).raw(json);
}

constexpr std::string_view empty_schema = R"({"type":"object","properties":{}})";

// Name, description, schema and strictness, as both of OpenAI's formats spell them.
void write_openai_definition(JsonWriter& out, const NeutralTool& tool) {
    out.field("name", tool.name);
    if (!tool.description.empty()) out.field("description", tool.description);
    if (!tool.schema.empty()) out.key(tool.custom ? "format" : "parameters").raw(tool.schema);
    raw_field(out, "strict", tool.strict);
}

void write_tool(JsonWriter& out, FormatId to, const NeutralTool& tool,
                std::vector<std::string>& lost) {
    const std::string_view type = tool.custom ? "custom" : "function";
    out.begin_object();
    if (to == FormatId::anthropic) {
        out.field("name", tool.name);
        if (!tool.description.empty()) out.field("description", tool.description);
        out.key("input_schema")
            .raw(tool.custom || tool.schema.empty() ? empty_schema : tool.schema);
        if (tool.custom)
            lost.push_back("tools: " + std::string(tool.name) +
                           " takes free text, sent as a field");
    } else if (to == FormatId::openai_chat) {
        out.field("type", type).key(type).begin_object();
        write_openai_definition(out, tool);
        out.end_object();
    } else {
        out.field("type", type);
        write_openai_definition(out, tool);
    }
    out.end_object();
}

void write_anthropic_choice(JsonWriter& out, const NeutralRequest& request) {
    if (request.choice.empty() && !(request.parallel == false)) return;
    out.key("tool_choice").begin_object();
    out.field("type", request.choice == "required" ? "any"
                      : request.choice.empty()     ? "auto"
                                                   : request.choice);
    if (request.choice == "tool") out.field("name", request.choice_tool);
    if (request.parallel == false && request.choice != "none")
        out.key("disable_parallel_tool_use").boolean(true);
    out.end_object();
}

void write_choice(JsonWriter& out, FormatId to, const NeutralRequest& request) {
    if (to == FormatId::anthropic) return write_anthropic_choice(out, request);
    if (request.parallel) out.key("parallel_tool_calls").boolean(*request.parallel);
    if (request.choice.empty()) return;
    out.key("tool_choice");
    if (request.choice != "tool") {
        out.string(request.choice);
        return;
    }
    out.begin_object().field("type", "function");
    if (to == FormatId::openai_chat)
        out.key("function").begin_object().field("name", request.choice_tool).end_object();
    else
        out.field("name", request.choice_tool);
    out.end_object();
}

void write_schema_fields(JsonWriter& out, const NeutralRequest& request, bool named) {
    if (named) out.field("name", request.schema_name.empty() ? "output" : request.schema_name);
    raw_field(out, "schema", request.schema);
    if (named) raw_field(out, "strict", request.schema_strict);
}

void write_chat_output(JsonWriter& out, const NeutralRequest& request) {
    raw_field(out, "reasoning_effort", request.effort);
    if (request.json_object)
        out.key("response_format").begin_object().field("type", "json_object").end_object();
    if (request.schema.empty()) return;
    out.key("response_format").begin_object().field("type", "json_schema");
    out.key("json_schema").begin_object();
    write_schema_fields(out, request, true);
    out.end_object().end_object();
}

void write_responses_output(JsonWriter& out, const NeutralRequest& request) {
    if (!request.effort.empty())
        out.key("reasoning").begin_object().key("effort").raw(request.effort).end_object();
    if (!request.json_object && request.schema.empty()) return;
    out.key("text").begin_object().key("format").begin_object();
    out.field("type", request.schema.empty() ? "json_object" : "json_schema");
    if (!request.schema.empty()) write_schema_fields(out, request, true);
    out.end_object().end_object();
}

void write_anthropic_output(JsonWriter& out, const NeutralRequest& request,
                            std::vector<std::string>& lost) {
    if (request.json_object) lost.push_back("response_format: json_object has no form in Messages");
    if (request.effort.empty() && request.schema.empty()) return;
    out.key("output_config").begin_object();
    raw_field(out, "effort", request.effort);
    if (!request.schema.empty()) {
        out.key("format").begin_object().field("type", "json_schema");
        write_schema_fields(out, request, false);
        out.end_object();
    }
    out.end_object();
}

void write_stop(JsonWriter& out, FormatId to, const NeutralRequest& request,
                std::vector<std::string>& lost) {
    if (request.stop.empty()) return;
    if (to == FormatId::openai_responses) {
        lost.push_back("stop: Responses has no stop sequences");
        return;
    }
    out.key(to == FormatId::anthropic ? "stop_sequences" : "stop").begin_array();
    for (const std::string_view stop : request.stop) out.raw(stop);
    out.end_array();
}

void write_max_tokens(JsonWriter& out, FormatId to, const NeutralRequest& request,
                      std::vector<std::string>& lost) {
    constexpr std::string_view names[] = {"max_completion_tokens", "max_output_tokens",
                                          "max_tokens"};
    std::string_view value = request.max_tokens;
    if (value.empty() && to == FormatId::anthropic) {
        lost.push_back("max_tokens: Messages requires it, 4096 was put in");
        value = "4096";
    }
    raw_field(out, names[static_cast<std::size_t>(to) - 1], value);
}

}  // namespace

std::string write_request(FormatId to, const NeutralRequest& request, std::string_view list,
                          std::vector<std::string>& lost) {
    lost.insert(lost.end(), request.lost.begin(), request.lost.end());
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    raw_field(out, "model", request.model);
    if (!request.system.empty())
        out.field(to == FormatId::openai_responses ? "instructions" : "system", request.system);
    out.key(to == FormatId::openai_responses ? "input" : "messages").raw(list);
    if (!request.tools.empty()) {
        out.key("tools").begin_array();
        for (const NeutralTool& tool : request.tools) write_tool(out, to, tool, lost);
        out.end_array();
        write_choice(out, to, request);
    }
    write_max_tokens(out, to, request, lost);
    raw_field(out, "temperature", request.temperature);
    raw_field(out, "top_p", request.top_p);
    write_stop(out, to, request, lost);
    if (to == FormatId::openai_chat) write_chat_output(out, request);
    if (to == FormatId::openai_responses) write_responses_output(out, request);
    if (to == FormatId::anthropic) write_anthropic_output(out, request, lost);
    raw_field(out, "stream", request.stream);
    out.end_object();
    return text;
}

}  // namespace palimpsest
