// Fields of a Messages request: the system prompt is a field, max_tokens is required.
#include "format/request.h"
#include "format/anthropic/anthropic.h"
#include "format/fields.h"

namespace palimpsest {
namespace {

constexpr std::string_view empty_schema = R"({"type":"object","properties":{}})";

void read_tools(NeutralRequest& request, JsonValue tools) {
    for (const JsonValue tool : tools.elements()) {
        auto read = read_tool(request, tool, {});
        if (!read) continue;
        read_definition(request, *read, tool, "input_schema");
        request.tools.push_back(*read);
    }
}

void read_choice(NeutralRequest& request, JsonValue choice) {
    read_choice_word(request, choice);
    const auto disable = choice.find("disable_parallel_tool_use");
    if (disable && disable->boolean()) request.parallel = !*disable->boolean();
}

void read_output_config(NeutralRequest& request, JsonValue config) {
    if (const auto format = config.find("format")) read_output_format(request, *format);
    request.effort = raw_of(config, "effort");
    report_others(request, "output_config", config, {"format", "effort"});
}

void write_choice(JsonWriter& out, const NeutralRequest& request) {
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

void write_tools(JsonWriter& out, const NeutralRequest& request, std::vector<std::string>& lost) {
    if (request.tools.empty()) return;
    out.key("tools").begin_array();
    for (const NeutralTool& tool : request.tools) {
        out.begin_object().field("name", tool.name);
        if (!tool.description.empty()) out.field("description", tool.description);
        out.key("input_schema")
            .raw(tool.custom || tool.schema.empty() ? empty_schema : tool.schema);
        if (!tool.custom) raw_field(out, "strict", tool.strict);
        out.end_object();
        if (tool.custom)
            lost.push_back("tools: " + std::string(tool.name) +
                           " takes free text, sent as a field");
    }
    out.end_array();
    write_choice(out, request);
}

void write_output(JsonWriter& out, const NeutralRequest& request, std::vector<std::string>& lost) {
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

}  // namespace

bool read_anthropic_field(NeutralRequest& request, std::string_view key, JsonValue value) {
    if (key == "max_tokens")
        request.max_tokens = value.raw();
    else if (key == "system")
        read_system(request, value);
    else if (key == "stop_sequences")
        read_stop(request, value);
    else if (key == "tools")
        read_tools(request, value);
    else if (key == "tool_choice")
        read_choice(request, value);
    else if (key == "output_config")
        read_output_config(request, value);
    else
        return false;
    return true;
}

std::string write_anthropic_body(const NeutralRequest& request, std::string_view list,
                                 std::vector<std::string>& lost) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    raw_field(out, "model", request.model);
    if (!request.system.empty()) out.field("system", request.system);
    out.key("messages").raw(list);
    write_tools(out, request, lost);
    if (request.max_tokens.empty())
        lost.push_back("max_tokens: Messages requires it, 4096 was put in");
    raw_field(out, "max_tokens", request.max_tokens.empty() ? "4096" : request.max_tokens);
    write_sampling(out, request);
    write_stop(out, "stop_sequences", request);
    write_output(out, request, lost);
    if (request.store == "true") lost.push_back("store: Messages keeps nothing");
    raw_field(out, "stream", request.stream);
    out.end_object();
    return text;
}

}  // namespace palimpsest
