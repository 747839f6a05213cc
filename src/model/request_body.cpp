#include "model/request_body.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/json.h"
#include "base/json_write.h"
#include "format/cache_marks.h"
#include "format/check.h"
#include "format/format_table.h"
#include "format/json_edit.h"
#include "format/mend_body.h"

namespace palimpsest {
namespace {

// Fields that are ours to write.
constexpr std::array<std::string_view, 8> own_fields = {
    "model", "messages", "input", "items", "system", "instructions", "stream", "stream_options"};

struct Fields {
    std::vector<std::pair<std::string, std::string>> list = {};  // name, JSON

    void add(JsonValue object) {
        for (const JsonMember member : object.members()) {
            if (std::ranges::find(own_fields, member.key) != own_fields.end()) continue;
            const auto known = std::ranges::find(
                list, member.key, [](const auto& f) { return std::string_view(f.first); });
            if (known == list.end()) list.emplace_back(member.key, member.value.raw());
        }
    }
    void write(JsonWriter& out, std::string_view but = {}) const {
        for (const auto& [name, json] : list)
            if (name != but) out.key(name).raw(json);
    }
    bool has(std::string_view name) const {
        return std::ranges::any_of(list, [&](const auto& f) { return f.first == name; });
    }
};

std::string object_of(const ModelRequest& request) {
    std::string json;
    JsonWriter out(json);
    out.begin_object();
    if (!request.tools.empty() && request.tools != "[]") out.key("tools").raw(request.tools);
    std::string_view parameters = request.parameters;
    if (parameters.starts_with('{') && parameters.size() > 2) {
        const std::string_view inside = parameters.substr(1, parameters.size() - 2);
        if (inside.find_first_not_of(" \t\r\n") != std::string_view::npos) {
            if (json.size() > 1) json += ',';
            json += inside;
        }
    }
    return json + "}";
}

// What the fields beside the messages say of what the messages may be.
Result<CheckOptions> options_of(const Dialect& dialect, std::string_view model,
                                const Fields& fields) {
    CheckOptions options{.model = model};
    std::string json;
    JsonWriter out(json);
    out.begin_object();
    fields.write(out, dialect.cache_marks ? std::string_view() : "tools");
    out.end_object();
    PAL_TRY(document, parse_json(json));
    add_body_options(format_of(dialect.format), document.root(), options);
    return options;
}

// A format that insists on a limit is given one by conversion; what the endpoint says goes first.
Result<std::string> without_limit_put_in(const Dialect& to, const std::string& fields,
                                         ConvertedJson& converted) {
    PAL_TRY(given, parse_json(fields));
    bool has_limit = to.limit_field.empty();
    for (const Dialect& dialect : dialect_table())
        has_limit = has_limit || given.root().find(dialect.cap_field);
    if (has_limit) return std::move(converted.json);
    PAL_TRY(made, parse_json(converted.json));
    const std::string told = std::string(to.limit_field) + ":";
    std::erase_if(converted.lost, [&](const std::string& line) { return line.starts_with(told); });
    return with_member(made.root(), to.limit_field, std::nullopt);
}

// The tools and parameters in the format of the model: as they are, or carried over by way of a
// request around one word.
Result<std::string> fields_in(FormatId to, const ModelRequest& request,
                              std::vector<std::string>& lost) {
    std::string fields = object_of(request);
    if (request.fields_format == to || fields == "{}") return fields;
    const Dialect& from = dialect_of(request.fields_format);
    std::string body = "{\"model\":\"m\",\"" + std::string(from.list_field) +
                       R"(":[{"role":"user","content":"x"}],)" + fields.substr(1);
    PAL_TRY(converted, convert_json(request.fields_format, to, body));
    PAL_TRY(json, without_limit_put_in(dialect_of(to), fields, converted));
    lost.insert(lost.end(), converted.lost.begin(), converted.lost.end());
    return json;
}

// Each once, in the order in which they were called first.
Result<std::vector<std::string>> called_tools(std::span<const Message> messages) {
    std::vector<std::string> names;
    for (const Message& message : messages) {
        if (message.shape.calls.empty()) continue;
        PAL_TRY(parts, read_parts(message));
        for (const Part& part : parts.parts)
            if (const auto* call = std::get_if<ToolCall>(&part);
                call && std::ranges::find(names, call->name) == names.end())
                names.emplace_back(call->name);
    }
    return names;
}

// Where calls need tools and the request brings none, their names alone are declared, and the model
// is told to call none of them: nobody would answer. Not a repair to be told: to the model it is as
// it was, without tools.
Result<void> declare_called_tools(const Dialect& dialect, std::span<const Message> messages,
                                  Fields& fields) {
    if (!dialect.calls_need_tools || fields.has("tools")) return {};
    PAL_TRY(names, called_tools(messages));
    if (names.empty()) return {};
    std::string tools;
    JsonWriter out(tools);
    out.begin_array();
    for (const std::string& name : names)
        out.raw(R"({"type":"function","function":{"name":)" + json_string(name) +
                R"(,"parameters":{"type":"object","properties":{}}}})");
    out.end_array();
    const ModelRequest stubs{.tools = tools,
                             .parameters = R"({"tool_choice":"none"})",
                             .fields_format = FormatId::openai_chat};
    std::vector<std::string> lost;
    PAL_TRY(own, fields_in(dialect.format, stubs, lost));
    PAL_TRY(json, parse_json(own));
    std::erase_if(fields.list, [](const auto& field) { return field.first == "tool_choice"; });
    fields.add(json.root());
    return {};
}

// With a dot at its end: all that begin so.
constexpr std::string_view lost_by_nature[] = {
    "cache_control", "detail", "input_text",        "message.", "name",     "output_text",
    "reasoning",     "system", "redacted_thinking", "text",     "thinking",
};

constexpr std::string_view repaired = "repaired before it was sent: ";

// mend_body() that tells what it did in `repairs`.
std::string mend_told(FormatId format, std::string body, std::vector<std::string>& repairs) {
    std::vector<std::string> mended;
    std::string out = mend_body(format, std::move(body), mended);
    for (const std::string& line : mended) repairs.push_back(std::string(repaired) + line);
    return out;
}

// What is sent otherwise than it is stored, each kind once.
std::vector<std::string> told_repairs(const Rendered& rendered) {
    std::vector<std::string> repairs;
    for (const RepairNote& note : rendered.notes)
        repairs.push_back(std::string(repaired) + note.what);
    std::map<std::string_view, std::size_t> lost;
    for (const std::string& line : rendered.lost)
        if (!is_lost_by_nature(line)) ++lost[line];
    for (const auto& [line, times] : lost)
        repairs.push_back("not told to this model: " + std::string(line) +
                          (times > 1 ? " (" + std::to_string(times) + " times)" : ""));
    return repairs;
}

}  // namespace

bool is_lost_by_nature(std::string_view line) {
    const std::string_view name = line.substr(0, line.find(": "));
    return std::ranges::any_of(lost_by_nature, [&](std::string_view known) {
        return name == known || (known.ends_with('.') && name.starts_with(known));
    });
}

Result<RequestBody> write_model_request(const Dialect& dialect, std::string_view model,
                                        const ModelRequest& request, std::string_view defaults,
                                        std::uint32_t output_tokens, bool stream) {
    RequestBody body;
    PAL_TRY(own, fields_in(dialect.format, request, body.lost));
    Fields fields;
    PAL_TRY(own_json, parse_json(own));
    fields.add(own_json.root());
    PAL_TRY(default_json, parse_json(defaults.empty() ? "{}" : defaults));
    fields.add(default_json.root());
    PAL_TRY(options, options_of(dialect, model, fields));
    PAL_TRY(rendered, render(dialect.format, request.messages, options));
    body.lost.insert(body.lost.begin(), rendered.lost.begin(), rendered.lost.end());
    body.repairs = told_repairs(rendered);
    PAL_CHECK(declare_called_tools(dialect, rendered.messages, fields));

    JsonWriter out(body.json);
    out.begin_object().field("model", model);
    if (!rendered.system.empty()) out.key("system").raw(system_json(rendered));
    fields.write(out);
    if (!dialect.limit_field.empty() && !fields.has(dialect.limit_field))
        out.key(dialect.limit_field).number(std::uint64_t{output_tokens});
    out.key(dialect.list_field).raw(write_list(rendered.messages));
    body.json += stream ? "," + std::string(dialect.stream_fields) + "}" : "}";
    body.json = mend_told(dialect.format, std::move(body.json), body.repairs);
    if (request.cache_key.empty()) return body;
    const std::size_t behind =
        request.behind_edit == 0
            ? 0
            : rendered_behind(rendered, request.messages.size(), request.behind_edit);
    PAL_TRY(hinted, with_cache_hints(dialect, std::move(body.json), request.cache_key, behind));
    body.json = std::move(hinted);
    return body;
}

std::vector<std::string> repairs_of(FormatId format, std::string_view model,
                                    const ModelRequest& request) {
    std::vector<std::string> lost;
    const auto fields = fields_in(format, request, lost);
    const auto document = fields ? parse_json(*fields) : fail({}, "");
    CheckOptions options{.model = model};
    if (document) add_body_options(format_of(format), document->root(), options);
    const auto rendered = render(format, request.messages, options);
    if (!rendered) return {};
    std::vector<std::string> repairs = told_repairs(*rendered);
    if (!document || !may_need_mending(format, *fields)) return repairs;
    mend_told(format,
              with_member(document->root(), dialect_of(format).list_field,
                          write_list(rendered->messages)),
              repairs);
    return repairs;
}

Result<std::string> with_defaults(std::string_view body, std::string_view defaults) {
    if (defaults.empty() || defaults == "{}") return std::string(body);
    PAL_TRY(given, parse_json(body));
    PAL_TRY(more, parse_json(defaults));
    std::string out(body.substr(0, body.rfind('}')));
    bool first = given.root().size() == 0;
    for (const JsonMember member : more.root().members()) {
        if (given.root().find(member.key)) continue;
        out += (first ? "" : ",") + json_string(member.key) + ":" + std::string(member.value.raw());
        first = false;
    }
    return out + "}";
}

Result<std::string> with_cache_hints(const Dialect& dialect, std::string body,
                                     std::string_view cache_key, std::size_t behind_edit) {
    if (dialect.cache_marks) return with_cache_marks(body, behind_edit);
    const std::string field = json_string(dialect.cache_key_field);
    if (dialect.cache_key_field.empty() || body.find(field + ":") != body.npos) return body;
    return "{" + field + ":" + json_string(cache_key) + "," + body.substr(1);
}

}  // namespace palimpsest
