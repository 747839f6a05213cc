#include "server/left_out.h"

#include <algorithm>

#include "base/json_write.h"
#include "format/request.h"
#include "model/request_body.h"
#include "palimpsest/format.h"
#include "server/openai_input.h"
#include "server/openai_items.h"

namespace palimpsest {
namespace {

// ---- the table ----------------------------------------------------------------------------------

enum class Lost : std::uint8_t {
    unsaid,   // asks for what every answer has, or for nothing: not worth a word
    told,     // a hint, or what has no meaning for another model: x-warnings says so
    refused,  // the answer would be another one
};
struct Rule {
    std::string_view name;  // as conversion calls it; with a dot at its end: all that begin so
    Lost lost;
    std::string_view param = {};  // what the request calls it; empty: the same
};
// What is not here is refused.
constexpr Rule field_rules[] = {
    {"max_tokens", Lost::unsaid},  // of the other format, put in where it insists
    {"store", Lost::unsaid},       // nothing but Responses stores
    {"prompt_cache_key", Lost::told},
    {"prompt_cache_options", Lost::told},
    {"prompt_cache_retention", Lost::told},
    {"reasoning.generate_summary", Lost::told},
    {"reasoning.summary", Lost::told},
    {"safety_identifier", Lost::told},
    {"service_tier", Lost::told},
    {"text.verbosity", Lost::told},
    {"user", Lost::told},
    {"tools",
     Lost::told},  // free text that goes as a field; tools of a provider are refused before
    {"tools.", Lost::told},
    {"json_schema.", Lost::told},
    {"response_format", Lost::refused, "text.format"},
};
constexpr Rule include_rules[] = {
    {"message.input_image.image_url", Lost::unsaid},
    {"computer_call_output.output.image_url", Lost::unsaid},
    {"code_interpreter_call.outputs", Lost::told},
    {"file_search_call.results", Lost::told},
    {"reasoning.encrypted_content", Lost::told},
    {"web_search_call.action.sources", Lost::told},
    {"web_search_call.results", Lost::told},
};

Rule rule_of(std::span<const Rule> rules, std::string_view name) {
    const auto fits = [&](const Rule& rule) {
        return rule.name == name || (rule.name.ends_with('.') && name.starts_with(rule.name));
    };
    const auto row = std::ranges::find_if(rules, fits);
    return row == rules.end() ? Rule{name, Lost::refused} : *row;
}

// "NAME: why", as conversion tells it.
std::string_view name_of(std::string_view line) {
    return line.substr(0, line.find(": "));
}

std::unexpected<Error> refuse(const Model& model, const std::string& what, std::string param) {
    return fail(ErrorCode::invalid_request,
                "the model " + std::string(model.name()) + " cannot be told " + what +
                    "; leave it out, or name a model whose server speaks Responses",
                std::move(param));
}

// ---- fields -------------------------------------------------------------------------------------

// Those that other formats could lose. What asks for nothing is nothing to lose.
Result<std::vector<std::string>> lost_fields(const Call& call, const Model& model,
                                             const std::string& parameters) {
    PAL_TRY(given, parse_json(parameters));
    const auto tools = call.field("tools");
    std::string body = R"({"model":"m","input":[{"role":"user","content":"x"}])";
    if (tools) body += ",\"tools\":" + std::string(tools->raw());
    for (const JsonMember member : given.root().members()) {
        if (member.key == "include") continue;
        if (member.key == "top_logprobs" && member.value.integer() == 0) continue;
        body += "," + json_string(member.key) + ":" + std::string(member.value.raw());
    }
    PAL_TRY(converted, convert_json(item_format, model.format(), body + "}"));
    return std::move(converted.lost);
}

Result<void> look_at_fields(const Call& call, const Model& model, const std::string& parameters,
                            std::vector<std::string>& out) {
    PAL_TRY(lost, lost_fields(call, model, parameters));
    for (std::string& line : lost) {
        const Rule rule = rule_of(field_rules, name_of(line));
        const std::string param(rule.param.empty() ? name_of(line) : rule.param);
        if (rule.lost == Lost::refused) return refuse(model, "'" + param + "'", param);
        if (rule.lost == Lost::told) out.push_back(std::move(line));
    }
    return {};
}

Result<void> look_at_include(const Call& call, const Model& model, std::vector<std::string>& out) {
    const auto include = call.field("include");
    if (!include) return {};
    std::size_t index = 0;
    for (const JsonValue value : include->elements()) {
        const std::string name(value.string());
        const Lost lost = rule_of(include_rules, name).lost;
        if (lost == Lost::refused)
            return refuse(model, "to include '" + name + "'",
                          "include[" + std::to_string(index) + "]");
        if (lost == Lost::told) out.push_back("include: " + name + ": its answers have none");
        ++index;
    }
    return {};
}

// ---- items --------------------------------------------------------------------------------------

std::string_view text_at(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && value->is_string() ? value->string() : std::string_view();
}

bool is_plain_text(JsonValue part) {
    const std::string_view type = text_at(part, "type");
    const auto notes = part.find("annotations");
    return (type == "input_text" || type == "output_text") && (!notes || notes->size() == 0);
}

bool is_plain_content(const std::optional<JsonValue>& content) {
    if (!content || content->is_string()) return true;
    for (const JsonValue part : content->elements())
        if (!is_plain_text(part)) return false;
    return true;
}

// The usual items, which every format has, known without converting them.
bool is_usual(JsonValue item) {
    const std::string_view type = text_at(item, "type");
    if (type.empty() || type == "message") {
        const std::string_view role = text_at(item, "role");
        const bool known = role == "user" || role == "assistant" || role == "system" ||
                           role == "developer" || item.size() == 1;
        return known && is_plain_content(item.find("content"));
    }
    if (type == "function_call_output") return is_plain_content(item.find("output"));
    return type == "function_call" || type == "item_reference" || is_own_compaction(item);
}

// What conversion says of one item; nothing of one that cannot be read: its reader says why.
std::vector<std::string> lost_of(JsonValue item, FormatId to) {
    const auto read = read_messages(item_format, make_bytes("[" + std::string(item.raw()) + "]"),
                                    Fingerprints::left_out);
    if (!read || read->empty()) return {};
    if (read->front().shape.role == Role::other) {
        const std::string_view type = text_at(item, "type"), role = text_at(item, "role");
        return {std::string(role.empty() ? type : role) + ": is not known"};
    }
    const auto converted = convert_messages(to, *read);
    return converted ? converted->lost : std::vector<std::string>();
}

Result<void> look_at_items(const Call& call, const Model& model, std::vector<std::string>& out) {
    const auto input = call.field("input");
    if (!input || !input->is_array()) return {};
    std::size_t index = 0;
    for (const JsonValue item : input->elements()) {
        const std::string place = "input[" + std::to_string(index++) + "]";
        if (is_usual(item)) continue;
        for (const std::string& line : lost_of(item, model.format())) {
            if (!is_lost_by_nature(line)) return refuse(model, place + " (" + line + ")", place);
            out.push_back(place + ": " + line);
        }
    }
    return {};
}

}  // namespace

Result<std::vector<std::string>> left_out(const Call& call, const Model& model,
                                          const std::string& parameters) {
    std::vector<std::string> lines;
    if (model.format() == item_format) return lines;
    PAL_CHECK(look_at_fields(call, model, parameters, lines));
    PAL_CHECK(look_at_include(call, model, lines));
    PAL_CHECK(look_at_items(call, model, lines));
    return lines;
}

}  // namespace palimpsest
