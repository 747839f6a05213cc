// PromptKit's state and Koog's checkpoints: both hold chat messages in a shape of their own.
#include "base/json.h"
#include "base/json_write.h"
#include "base/time.h"
#include "engine/foreign.h"

namespace palimpsest {
namespace {

std::optional<JsonValue> either(const JsonValue& object, std::string_view a, std::string_view b) {
    const auto found = object.find(a);
    return found ? found : object.find(b);
}

std::string_view text_of(const JsonValue& object, std::string_view key) {
    const auto value = object.find(key);
    return value ? value->string() : std::string_view();
}

// The text of a list of parts, one after the other.
std::string text_of_parts(const std::optional<JsonValue>& parts, std::vector<std::string>& lost) {
    std::string text;
    if (!parts || !parts->is_array()) return text;
    for (const JsonValue part : parts->elements()) {
        if (const auto piece = part.find("text"))
            text += piece->string();
        else
            lost.push_back("a part that is no text");
    }
    return text;
}

std::string text_or_parts(const JsonValue& object, std::vector<std::string>& lost) {
    const std::string_view content = text_of(object, "content");
    return content.empty() ? text_of_parts(object.find("parts"), lost) : std::string(content);
}

void write_call(JsonWriter& out, std::string_view id, std::string_view name,
                std::string_view arguments) {
    out.begin_object().field("id", id).field("type", "function").key("function");
    out.begin_object().field("name", name).field("arguments", arguments).end_object();
    out.end_object();
}

// ---- PromptKit ----------------------------------------------------------------------------------

ForeignMessage read_kit_message(const JsonValue& message, std::vector<std::string>& lost) {
    ForeignMessage found;
    JsonWriter out(found.json);
    const auto result = message.find("tool_result"), calls = message.find("tool_calls");
    out.begin_object().field("role", text_of(message, "role"));
    if (result && result->is_object()) {
        std::string text = text_or_parts(*result, lost);
        if (text.empty()) text = text_or_parts(message, lost);
        const std::string_view error = text_of(*result, "error");
        out.field("tool_call_id", text_of(*result, "id"));
        out.field("content", error.empty() ? text : "error: " + std::string(error));
    } else {
        out.field("content", text_or_parts(message, lost));
    }
    if (calls && calls->size() > 0) {
        out.key("tool_calls").begin_array();
        for (const JsonValue call : calls->elements()) {
            const auto args = call.find("args");
            write_call(out, text_of(call, "id"), text_of(call, "name"), args ? args->raw() : "{}");
        }
        out.end_array();
    }
    out.end_object();
    if (const auto at = parse_time(text_of(message, "timestamp"))) found.at = *at;
    for (const std::string_view field : {"cost_info", "validations", "meta"})
        if (const auto value = message.find(field); value && !value->is_null())
            lost.push_back(std::string(field) + " of a message");
    return found;
}

// Fields `user.KEY` of the Redis hash hold JSON as text.
std::string metadata_of(const std::optional<JsonValue>& metadata) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    if (metadata)
        for (const auto& [key, value] : metadata->members()) {
            const bool hashed = key.starts_with("user.") && value.is_string();
            json.key(hashed ? key.substr(5) : key);
            const auto inner = hashed ? parse_json(value.string()) : parse_json(value.raw());
            inner ? json.raw(inner->root().raw()) : json.string(value.string());
        }
    json.end_object();
    return out;
}

void write_kit_message(JsonWriter& out, const JsonValue& message, Time at) {
    out.begin_object().field("role", text_of(message, "role"));
    out.field("content", text_of(message, "content"));
    if (const auto calls = message.find("tool_calls"); calls && calls->size() > 0) {
        out.key("tool_calls").begin_array();
        for (const JsonValue call : calls->elements()) {
            const auto function = call.find("function");
            const std::string_view arguments = function ? text_of(*function, "arguments") : "";
            out.begin_object().field("id", text_of(call, "id"));
            out.field("name", function ? text_of(*function, "name") : "").key("args");
            out.raw(parse_json(arguments) ? arguments : "{}").end_object();
        }
        out.end_array();
    }
    if (const std::string_view id = text_of(message, "tool_call_id"); !id.empty()) {
        out.key("tool_result").begin_object().field("id", id).key("parts").begin_array();
        out.begin_object().field("type", "text").field("text", text_of(message, "content"));
        out.end_object().end_array().end_object();
    }
    out.field("timestamp", format_time(at)).end_object();
}

// ---- Koog ---------------------------------------------------------------------------------------

ForeignMessage read_koog_message(const JsonValue& message, std::vector<std::string>& lost) {
    const std::string_view type = text_of(message, "type");
    const std::string content = text_or_parts(message, lost);
    ForeignMessage found;
    JsonWriter out(found.json);
    out.begin_object();
    if (type.ends_with("Call")) {
        out.field("role", "assistant").key("content").null().key("tool_calls").begin_array();
        write_call(out, text_of(message, "id"), text_of(message, "tool"), content);
        out.end_array();
    } else if (type.ends_with("Result")) {
        out.field("role", "tool").field("tool_call_id", text_of(message, "id"));
        out.field("content", content);
    } else {
        const bool user = type.ends_with("User"), system = type.ends_with("System");
        out.field("role", user ? "user" : system ? "system" : "assistant");
        out.field("content", content);
    }
    out.end_object();
    if (const auto info = message.find("metaInfo"))
        if (const auto at = parse_time(text_of(*info, "timestamp"))) found.at = *at;
    return found;
}

void begin_koog(JsonWriter& out, std::string_view type, std::string_view content, Time at) {
    out.begin_object().field("type", type).field("content", content);
    out.key("metaInfo").begin_object().field("timestamp", format_time(at)).end_object();
}

void write_koog_message(JsonWriter& out, const JsonValue& message, Time at) {
    const std::string_view role = text_of(message, "role"), content = text_of(message, "content");
    const auto calls = message.find("tool_calls");
    const bool has_calls = calls && calls->size() > 0;
    if (role == "tool") {
        begin_koog(out, "ToolResult", content, at);
        out.field("id", text_of(message, "tool_call_id")).field("tool", "").end_object();
        return;
    }
    if (!has_calls || !content.empty()) {
        const bool user = role == "user", system = role == "system" || role == "developer";
        begin_koog(out, user ? "User" : system ? "System" : "Assistant", content, at);
        out.end_object();
    }
    if (!has_calls) return;
    for (const JsonValue call : calls->elements()) {
        const auto function = call.find("function");
        begin_koog(out, "ToolCall", function ? text_of(*function, "arguments") : "{}", at);
        out.field("id", text_of(call, "id"));
        out.field("tool", function ? text_of(*function, "name") : "").end_object();
    }
}

Time time_of(const ForeignSource& source, std::size_t i) {
    return i < source.times.size() ? source.times[i] : source.header.updated;
}

}  // namespace

Result<ForeignConversation> read_promptkit(std::string_view text) {
    PAL_TRY(document, parse_json(text));
    const JsonValue root = document.root();
    // Decomposed: the fields of the state are under `meta`.
    const JsonValue state = root.find("meta").value_or(root);
    const auto messages = either(root, "messages", "Messages");
    if (!messages || !messages->is_array())
        return fail(ErrorCode::invalid_request, "this is no state of PromptKit: no messages");
    const auto field = [&](std::string_view small, std::string_view large) {
        const auto value = either(state, small, large);
        return std::string(value ? value->string() : std::string_view());
    };
    ForeignConversation found{.id = field("id", "ID"),
                              .owner = field("user_id", "UserID"),
                              .system_prompt = field("system_prompt", "SystemPrompt")};
    found.metadata = metadata_of(either(root, "metadata", "Metadata"));
    for (const JsonValue message : messages->elements())
        found.messages.push_back(read_kit_message(message, found.lost));
    if (const auto summaries = either(root, "summaries", "Summaries"))
        if (summaries->size() > 0)
            found.lost.push_back(std::to_string(summaries->size()) +
                                 " summaries: what they sum up is there itself");
    return found;
}

Result<ForeignText> write_promptkit(const ForeignSource& source) {
    PAL_TRY(rendered, render(FormatId::openai_chat, source.messages));
    ForeignText done{.lost = rendered.lost};
    const Header& header = source.header;
    JsonWriter out(done.text);
    out.begin_object().field("id", header.name.id).field("user_id", header.owner);
    out.field("system_prompt", header.system_prompt).key("messages").begin_array();
    for (std::size_t i = 0; i < rendered.messages.size(); ++i) {
        PAL_TRY(document, parse_json(view_of(rendered.messages[i].raw)));
        write_kit_message(out, document.root(), time_of(source, i));
    }
    out.end_array().field("last_accessed_at", format_time(header.accessed));
    out.key("metadata").raw(header.metadata).end_object();
    return done;
}

Result<ForeignConversation> read_koog(std::string_view text) {
    PAL_TRY(document, parse_json(text));
    const JsonValue root = document.root();
    const auto history = root.find("messageHistory");
    if (!history || !history->is_array())
        return fail(ErrorCode::invalid_request, "this is no checkpoint of Koog: no messageHistory");
    ForeignConversation found{.id = std::string(text_of(root, "checkpointId"))};
    for (const JsonValue message : history->elements())
        found.messages.push_back(read_koog_message(message, found.lost));
    std::string metadata;
    JsonWriter out(metadata);
    out.begin_object();
    for (const std::string_view key : {"checkpointId", "createdAt", "nodePath", "version"})
        if (const auto value = root.find(key)) out.key(key).raw(value->raw());
    out.end_object();
    found.metadata = metadata;
    for (const std::string_view key : {"lastInput", "lastOutput", "storage", "properties"})
        if (const auto value = root.find(key); value && !value->is_null())
            found.lost.push_back(std::string(key) + ": the position in a graph is not kept");
    return found;
}

Result<ForeignText> write_koog(const ForeignSource& source) {
    PAL_TRY(rendered, render(FormatId::openai_chat, source.messages));
    ForeignText done{.lost = rendered.lost};
    const Header& header = source.header;
    JsonWriter out(done.text);
    out.begin_object().field("checkpointId", header.name.id);
    out.field("createdAt", format_time(header.updated)).field("nodePath", "");
    out.key("messageHistory").begin_array();
    for (std::size_t i = 0; i < rendered.messages.size(); ++i) {
        PAL_TRY(document, parse_json(view_of(rendered.messages[i].raw)));
        write_koog_message(out, document.root(), time_of(source, i));
    }
    out.end_array().key("version").number(header.end.value).end_object();
    return done;
}

}  // namespace palimpsest
