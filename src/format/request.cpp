#include "format/request.h"

#include <algorithm>

#include "format/fields.h"
#include "format/format_table.h"

namespace palimpsest {

std::string_view raw_of(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && !value->is_null() ? value->raw() : std::string_view();
}

bool read_common_field(NeutralRequest& request, std::string_view key, JsonValue value) {
    if (key == "model")
        request.model = value.raw();
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

void read_stop(NeutralRequest& request, JsonValue value) {
    if (value.is_string()) request.stop.push_back(value.raw());
    for (const JsonValue each : value.elements()) request.stop.push_back(each.raw());
}

void read_system(NeutralRequest& request, JsonValue value) {
    request.system = value.string();
    for (const JsonValue block : value.elements()) {
        report_cache_control(block, request.lost);
        if (!request.system.empty()) request.system += "\n\n";
        request.system += any_string(block, "text");
    }
}

std::optional<NeutralTool> read_tool(NeutralRequest& request, JsonValue tool,
                                     std::string_view custom_type) {
    report_cache_control(tool, request.lost);
    const std::string_view type = any_string(tool, "type");
    if (!type.empty() && type != "function" && type != "custom") {
        request.lost.push_back("tools: " + std::string(type) + " is a tool of the provider");
        return std::nullopt;
    }
    return NeutralTool{.custom = !custom_type.empty() && type == custom_type};
}

void report_others(NeutralRequest& request, std::string_view name, JsonValue object,
                   std::initializer_list<std::string_view> read) {
    for (const JsonMember& member : object.members())
        if (!member.value.is_null() && std::ranges::find(read, member.key) == read.end())
            request.lost.push_back(std::string(name) + "." + std::string(member.key) +
                                   ": has no common form");
}

void read_definition(NeutralRequest& request, NeutralTool& read, JsonValue body,
                     std::string_view schema_field) {
    read.name = any_string(body, "name");
    read.description = any_string(body, "description");
    read.strict = raw_of(body, "strict");
    const std::string_view schema = read.custom ? "format" : schema_field;
    read.schema = raw_of(body, schema);
    report_others(request, "tools", body,
                  {"type", "name", "description", "strict", "cache_control", schema});
}

void read_output_format(NeutralRequest& request, JsonValue format) {
    const std::string_view type = any_string(format, "type");
    if (type == "json_object") request.json_object = true;
    if (type == "json_object" || type == "text" || format.is_null()) return;
    const JsonValue inner = format.find("json_schema").value_or(format);
    const auto schema = inner.find("schema");
    if (type != "json_schema" || !schema || !schema->is_object()) {
        const std::string found(type == "json_schema" ? "json_schema without a schema"
                                : type.empty()        ? "an object without a type"
                                                      : type);
        request.lost.push_back("response_format: " + found + " has no common form");
        return;
    }
    request.schema_name = any_string(inner, "name");
    request.schema = raw_of(inner, "schema");
    request.schema_strict = raw_of(inner, "strict");
    report_others(request, "json_schema", inner, {"type", "name", "schema", "strict"});
}

void read_choice_word(NeutralRequest& request, JsonValue choice) {
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
}

NeutralRequest read_request_fields(const Format& format, JsonValue body) {
    NeutralRequest request;
    const auto list = find_body_list(format, body);
    request.only_system = true;
    for (const JsonMember& member : body.members()) {
        if ((list && member.key == list->field) || member.value.is_null()) continue;
        if (format.cut.system_field.empty() || member.key != format.cut.system_field)
            request.only_system = false;
        if (!read_common_field(request, member.key, member.value) &&
            !format.read_field(request, member.key, member.value))
            request.lost.push_back(std::string(member.key) + ": has no common form");
    }
    return request;
}

void raw_field(JsonWriter& out, std::string_view key, std::string_view json) {
    if (!json.empty()) out.key(key).raw(json);
}

void write_sampling(JsonWriter& out, const NeutralRequest& request) {
    raw_field(out, "temperature", request.temperature);
    raw_field(out, "top_p", request.top_p);
}

void write_stop(JsonWriter& out, std::string_view field, const NeutralRequest& request) {
    if (request.stop.empty()) return;
    out.key(field).begin_array();
    for (const std::string_view stop : request.stop) out.raw(stop);
    out.end_array();
}

void write_schema_fields(JsonWriter& out, const NeutralRequest& request, bool named) {
    if (named) out.field("name", request.schema_name.empty() ? "output" : request.schema_name);
    raw_field(out, "schema", request.schema);
    if (named) raw_field(out, "strict", request.schema_strict);
}

}  // namespace palimpsest
