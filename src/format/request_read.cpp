#include "format/fields.h"
#include "format/format_table.h"
#include "format/request.h"

namespace palimpsest {
namespace {

std::string_view raw_of(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && !value->is_null() ? value->raw() : std::string_view();
}

// The texts of a string or of a list of text blocks.
std::string text_of(JsonValue value) {
    if (value.is_string()) return std::string(value.string());
    std::string text;
    for (const JsonValue block : value.elements()) {
        if (!text.empty()) text += "\n\n";
        text += any_string(block, "text");
    }
    return text;
}

void read_tool(NeutralRequest& request, FormatId from, JsonValue tool) {
    report_cache_control(tool, request.lost);
    const std::string_view type = any_string(tool, "type");
    const bool custom_type = type == "custom" && from != FormatId::anthropic;
    if (!type.empty() && type != "function" && type != "custom") {
        request.lost.push_back("tools: " + std::string(type) + " is a tool of the provider");
        return;
    }
    NeutralTool read{.custom = custom_type};
    // Chat Completions keeps the definition one level down.
    const auto inner = from == FormatId::openai_chat
                           ? tool.find(custom_type ? "custom" : "function")
                           : std::nullopt;
    const JsonValue body = inner.value_or(tool);
    read.name = any_string(body, "name");
    read.description = any_string(body, "description");
    read.strict = raw_of(body, "strict");
    read.schema = raw_of(body, custom_type                   ? "format"
                               : from == FormatId::anthropic ? "input_schema"
                                                             : "parameters");
    request.tools.push_back(read);
}

void read_choice(NeutralRequest& request, JsonValue choice) {
    const std::string_view word = choice.is_string() ? choice.string() : any_string(choice, "type");
    if (word == "auto" || word == "none" || word == "required") {
        request.choice = word;
    } else if (word == "any") {
        request.choice = "required";
    } else if (word == "tool" || word == "function" || word == "custom") {
        request.choice = "tool";
        const JsonValue inner = choice.find(word).value_or(choice);
        request.choice_tool = any_string(inner.is_object() ? inner : choice, "name");
    } else {
        request.lost.push_back("tool_choice: " + std::string(word) + " has no common form");
    }
    const auto disable = choice.find("disable_parallel_tool_use");
    if (disable && disable->boolean()) request.parallel = !*disable->boolean();
}

// `format` is where the schema's type stands; chat keeps name and schema one level down.
void read_output_format(NeutralRequest& request, JsonValue format) {
    const std::string_view type = any_string(format, "type");
    if (type == "json_object") request.json_object = true;
    if (type != "json_schema") return;
    const JsonValue inner = format.find("json_schema").value_or(format);
    request.schema_name = any_string(inner, "name");
    request.schema = raw_of(inner, "schema");
    request.schema_strict = raw_of(inner, "strict");
}

bool read_sampling(NeutralRequest& request, std::string_view key, JsonValue value) {
    if (key == "model")
        request.model = value.raw();
    else if (key == "max_tokens" || key == "max_completion_tokens" || key == "max_output_tokens")
        request.max_tokens = value.raw();
    else if (key == "temperature")
        request.temperature = value.raw();
    else if (key == "top_p")
        request.top_p = value.raw();
    else if (key == "stream")
        request.stream = value.raw();
    else
        return false;
    return true;
}

bool read_output_fields(NeutralRequest& request, std::string_view key, JsonValue value) {
    if (key == "response_format") {
        read_output_format(request, value);
    } else if (key == "text" || key == "output_config") {
        if (const auto format = value.find("format")) read_output_format(request, *format);
        if (const auto effort = value.find("effort")) request.effort = effort->raw();
    } else if (key == "reasoning_effort") {
        request.effort = value.raw();
    } else if (key == "reasoning") {
        request.effort = raw_of(value, "effort");
    } else {
        return false;
    }
    return true;
}

bool read_field(NeutralRequest& request, FormatId from, std::string_view key, JsonValue value) {
    if (read_sampling(request, key, value) || read_output_fields(request, key, value)) return true;
    if (key == "stop" || key == "stop_sequences") {
        if (value.is_string()) request.stop.push_back(value.raw());
        for (const JsonValue each : value.elements()) request.stop.push_back(each.raw());
    } else if (key == "tools") {
        for (const JsonValue tool : value.elements()) read_tool(request, from, tool);
    } else if (key == "tool_choice") {
        read_choice(request, value);
    } else if (key == "parallel_tool_calls") {
        request.parallel = value.boolean();
    } else if (key == "system" || key == "instructions") {
        request.system = text_of(value);
        for (const JsonValue block : value.elements()) report_cache_control(block, request.lost);
    } else {
        return false;
    }
    return true;
}

}  // namespace

NeutralRequest read_request_fields(FormatId from, JsonValue body) {
    NeutralRequest request;
    const auto list = find_body_list(format_of(from), body);
    request.only_system = true;
    for (const JsonMember& member : body.members()) {
        if ((list && member.key == list->field) || member.value.is_null()) continue;
        if (member.key != "system") request.only_system = false;
        if (!read_field(request, from, member.key, member.value))
            request.lost.push_back(std::string(member.key) + ": has no common form");
    }
    return request;
}

}  // namespace palimpsest
