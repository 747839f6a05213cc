// Fields of a Responses request: tools are flat, structured output stands in `text`.
#include "format/fields.h"
#include "format/openai_request.h"
#include "format/openai_responses/openai_responses.h"

namespace palimpsest {
namespace {

void read_reasoning(NeutralRequest& request, JsonValue value) {
    request.effort = raw_of(value, "effort");
    report_others(request, "reasoning", value, {"effort"});
}

void read_text(NeutralRequest& request, JsonValue value) {
    if (const auto format = value.find("format")) read_output_format(request, *format);
    report_others(request, "text", value, {"format"});
}

void write_tools(JsonWriter& out, const NeutralRequest& request) {
    if (request.tools.empty()) return;
    out.key("tools").begin_array();
    for (const NeutralTool& tool : request.tools) {
        out.begin_object().field("type", tool.custom ? "custom" : "function");
        write_openai_definition(out, tool);
        out.end_object();
    }
    out.end_array();
    if (!write_openai_choice(out, request)) return;
    out.begin_object().field("type", "function").field("name", request.choice_tool).end_object();
}

void write_output(JsonWriter& out, const NeutralRequest& request) {
    if (!request.effort.empty())
        out.key("reasoning").begin_object().key("effort").raw(request.effort).end_object();
    if (!request.json_object && request.schema.empty()) return;
    out.key("text").begin_object().key("format").begin_object();
    out.field("type", request.schema.empty() ? "json_object" : "json_schema");
    if (!request.schema.empty()) write_schema_fields(out, request, true);
    out.end_object().end_object();
}

}  // namespace

bool read_openai_responses_field(NeutralRequest& request, std::string_view key, JsonValue value) {
    if (key == "max_output_tokens")
        request.max_tokens = value.raw();
    else if (key == "instructions")
        read_system(request, value);
    else if (key == "reasoning")
        read_reasoning(request, value);
    else if (key == "text")
        read_text(request, value);
    else if (key == "store")
        request.store = value.raw();
    else
        return read_openai_tool_field(request, key, value);
    return true;
}

std::string write_openai_responses_body(const NeutralRequest& request, std::string_view list,
                                        std::vector<std::string>& lost) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    raw_field(out, "model", request.model);
    if (!request.system.empty()) out.field("instructions", request.system);
    out.key("input").raw(list);
    write_tools(out, request);
    raw_field(out, "max_output_tokens", request.max_tokens);
    write_sampling(out, request);
    if (!request.stop.empty()) lost.push_back("stop: Responses has no stop sequences");
    write_output(out, request);
    raw_field(out, "store", request.store);
    raw_field(out, "stream", request.stream);
    out.end_object();
    return text;
}

void read_openai_responses_options(JsonValue body, CheckOptions& options) {
    for (const std::string_view key : {"previous_response_id", "conversation"})
        if (!raw_of(body, key).empty()) options.continued = true;
    const auto store = body.find("store");
    if (store && store->boolean() == false) options.unstored = true;
}

}  // namespace palimpsest
