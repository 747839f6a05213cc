// OpenAI Chat Completions: messages of role system/developer, user, assistant and tool.
//
// Results of parallel calls are one `tool` message each; a tool message carries text only.
#include <cstring>

#include "base/json_write.h"
#include "format/fields.h"
#include "format/openai_chat/openai_chat.h"

namespace palimpsest {
namespace {

Result<void> read_image(NeutralPart& part, JsonValue json, const Path& path) {
    const auto image = json.find("image_url");
    if (!image) return expected_at({&path, "image_url"}, "an object with a url");
    part.kind = PartKind::image;
    // Some clients send the bare URL.
    set_url(part, image->is_string() ? image->string() : any_string(*image, "url"));
    part.detail = any_string(*image, "detail");
    return {};
}

void read_audio(NeutralPart& part, JsonValue json) {
    part.kind = PartKind::audio;
    const auto audio = json.find("input_audio");
    if (!audio) return;
    part.source_kind = SourceKind::base64;
    part.source = any_string(*audio, "data");
    part.media_type = any_string(*audio, "format");
}

void read_file(NeutralPart& part, JsonValue json) {
    part.kind = PartKind::document;
    const auto file = json.find("file");
    if (!file) return;
    part.name = any_string(*file, "filename");
    part.source = any_string(*file, "file_id");
    part.source_kind = SourceKind::file_id;
    if (part.source.empty()) set_url(part, any_string(*file, "file_data"));
}

Result<void> read_part(NeutralPart& part, JsonValue json, const Path& path) {
    PAL_CHECK(begin_part(part, json, path, "a content part (an object)"));
    if (part.type == "text") {
        part.kind = PartKind::text;
        PAL_TRY(text, required_string(json, "text", path));
        part.text = text;
    } else if (part.type == "refusal") {
        part.kind = PartKind::refusal;
        part.text = any_string(json, "refusal");
    } else if (part.type == "image_url") {
        PAL_CHECK(read_image(part, json, path));
    } else if (part.type == "input_audio") {
        read_audio(part, json);
    } else if (part.type == "file") {
        read_file(part, json);
    }
    return {};
}

Result<void> read_content(std::vector<NeutralPart>& parts, JsonValue content) {
    if (content.is_null()) return {};
    return read_part_list(parts, content, {nullptr, "content"},
                          "a string, null or a list of content parts", read_part);
}

// text == word, compared in registers: keys are asked for this in every message.
template <std::size_t N>
bool is_word(std::string_view text, const char (&word)[N]) {
    return text.size() == N - 1 && std::memcmp(text.data(), word, N - 1) == 0;
}

// Members are found in one walk and kept as places on the tape; no member is at 0.
bool set_string(std::string_view& text, JsonValue object, std::uint32_t place) {
    const JsonValue value = object.at_place(place);
    text = value.string();
    return place != 0 && value.is_string();
}

Result<void> read_function(NeutralPart& part, JsonValue json, const Path& path) {
    std::uint32_t name = 0, arguments = 0;
    for (const JsonMember& member : json.members()) {
        if (is_word(member.key, "name"))
            name = member.value.place();
        else if (part.custom ? is_word(member.key, "input") : is_word(member.key, "arguments"))
            arguments = member.value.place();
    }
    if (!set_string(part.name, json, name)) return expected_at({&path, "name"}, "a string");
    if (!set_string(part.arguments, json, arguments))
        return expected_at({&path, part.custom ? "input" : "arguments"}, "a string");
    return {};
}

Result<void> read_call(NeutralPart& part, JsonValue json, const Path& path) {
    if (!json.is_object()) return expected_at(path, "a tool call (an object)");
    part.kind = PartKind::tool_call;
    part.json = json.raw();
    std::uint32_t id = 0, type = 0, function = 0, custom = 0;
    for (const JsonMember& member : json.members()) {
        const std::uint32_t place = member.value.place();
        if (is_word(member.key, "id"))
            id = place;
        else if (is_word(member.key, "type"))
            type = place;
        else if (is_word(member.key, "function"))
            function = place;
        else if (is_word(member.key, "custom"))
            custom = place;
    }
    if (!set_string(part.id, json, id)) return expected_at({&path, "id"}, "a string");
    (void)set_string(part.type, json, type);
    part.custom = is_word(part.type, "custom");
    const std::uint32_t body = part.custom ? custom : function;
    const Path inside{&path, part.custom ? "custom" : "function"};
    if (body == 0 || !json.at_place(body).is_object()) return expected_at(inside, "an object");
    return read_function(part, json.at_place(body), inside);
}

Result<void> read_calls(NeutralMessage& message, JsonValue calls) {
    if (calls.is_null()) return {};
    const Path path{nullptr, "tool_calls"};
    if (!calls.is_array()) return expected_at(path, "a list of tool calls");
    message.empty_calls = calls.size() == 0;
    std::size_t index = 0;
    for (const JsonValue element : calls.elements())
        PAL_CHECK(read_call(message.parts.emplace_back(), element, {&path, {}, index++}));
    return {};
}

// The fields of a message.
struct ChatFields {
    JsonValue message;
    std::uint32_t role = 0, content = 0, tool_calls = 0, tool_call_id = 0, refusal = 0;
    // What compatible servers add; OpenAI has neither.
    std::uint32_t reasoning_content = 0, reasoning = 0;
    std::uint32_t audio = 0, function_call = 0;

    std::optional<JsonValue> operator[](std::uint32_t place) const {
        return place == 0 ? std::nullopt : std::optional(message.at_place(place));
    }
};

ChatFields fields_of(JsonValue json) {
    ChatFields fields{.message = json};
    for (const JsonMember& member : json.members()) {
        const std::uint32_t place = member.value.place();
        if (is_word(member.key, "role"))
            fields.role = place;
        else if (is_word(member.key, "content"))
            fields.content = place;
        else if (is_word(member.key, "tool_calls"))
            fields.tool_calls = place;
        else if (is_word(member.key, "tool_call_id"))
            fields.tool_call_id = place;
        else if (is_word(member.key, "refusal"))
            fields.refusal = place;
        else if (is_word(member.key, "reasoning_content"))
            fields.reasoning_content = place;
        else if (is_word(member.key, "reasoning"))
            fields.reasoning = place;
        else if (is_word(member.key, "audio"))
            fields.audio = place;
        else if (is_word(member.key, "function_call"))
            fields.function_call = place;
    }
    return fields;
}

// A part that is a field of the message.
void add_field_part(NeutralMessage& message, PartKind kind, std::string_view name,
                    const std::optional<JsonValue>& value) {
    if (!value || value->string().empty()) return;
    NeutralPart& part = message.parts.emplace_back();
    part.kind = kind;
    part.field = true;
    part.type = name;
    part.text = value->string();
}

void add_object_part(NeutralMessage& message, PartKind kind, std::string_view name,
                     const std::optional<JsonValue>& value) {
    if (!value || !value->is_object()) return;
    NeutralPart& part = message.parts.emplace_back();
    part.kind = kind;
    part.field = true;
    part.type = name;
    part.json = value->raw();
    if (kind != PartKind::speech) return;
    part.source = any_string(*value, "id");
    part.text = any_string(*value, "transcript");
    const auto expires = value->find("expires_at");
    part.expires_s = expires ? expires->integer().value_or(0) : 0;
}

Result<void> read_result(NeutralMessage& message, const ChatFields& fields) {
    NeutralPart& result = message.parts.emplace_back();
    result.kind = PartKind::tool_result;
    result.type = "tool";
    result.json = fields.message.raw();
    if (!set_string(result.id, fields.message, fields.tool_call_id))
        return expected_at({nullptr, "tool_call_id"}, "a string");
    if (const auto content = fields[fields.content]) {
        result.content = content->raw();
        PAL_CHECK(read_content(result.inner, *content));
    }
    result.text = joined_text(message, result.inner);
    return {};
}

Result<void> read_assistant(NeutralMessage& message, const ChatFields& fields) {
    add_field_part(message, PartKind::reasoning, "reasoning_content",
                   fields[fields.reasoning_content]);
    if (message.parts.empty())
        add_field_part(message, PartKind::reasoning, "reasoning", fields[fields.reasoning]);
    if (const auto content = fields[fields.content])
        PAL_CHECK(read_content(message.parts, *content));
    add_field_part(message, PartKind::refusal, "refusal", fields[fields.refusal]);
    add_object_part(message, PartKind::speech, "audio", fields[fields.audio]);
    // The way before there were tools. It has no id, and its result neither.
    add_object_part(message, PartKind::opaque, "function_call", fields[fields.function_call]);
    if (const auto calls = fields[fields.tool_calls]) PAL_CHECK(read_calls(message, *calls));
    return {};
}

// ---- writing --------------------------------------------------------------------------------

void write_file(JsonWriter& out, const NeutralPart& part) {
    out.begin_object().field("type", "file").key("file").begin_object();
    if (part.source_kind == SourceKind::file_id) {
        out.field("file_id", part.source);
    } else {
        out.field("filename", part.name.empty() ? "file" : part.name).key("file_data");
        out.string(url_of(part));
    }
    out.end_object().end_object();
}

// The format's word for a clip's type: "audio/mpeg" is "mp3" here.
std::string_view audio_format(std::string_view type) {
    if (type.starts_with("audio/")) type.remove_prefix(6);
    return type == "mpeg" ? "mp3" : type == "x-wav" ? "wav" : type;
}

bool write_media(JsonWriter& out, const NeutralPart& part) {
    const bool inline_data = part.source_kind == SourceKind::base64;
    if (part.kind == PartKind::image && (inline_data || part.source_kind == SourceKind::url)) {
        out.begin_object().field("type", "image_url").key("image_url").begin_object();
        out.field("url", url_of(part));
        if (!part.detail.empty()) out.field("detail", part.detail);
        out.end_object().end_object();
        return true;
    }
    if (part.kind == PartKind::audio && inline_data) {
        out.begin_object().field("type", "input_audio").key("input_audio").begin_object();
        out.field("data", part.source).field("format", audio_format(part.media_type));
        out.end_object().end_object();
        return true;
    }
    if (part.kind == PartKind::document &&
        (inline_data || part.source_kind == SourceKind::file_id)) {
        write_file(out, part);
        return true;
    }
    return false;
}

void write_text_part(JsonWriter& out, std::string_view text) {
    out.begin_object().field("type", "text").field("text", text).end_object();
}

std::string write_result(const NeutralPart& part, std::vector<std::string>& lost) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("role", "tool").field("tool_call_id", part.id);
    if (part.is_error) lose(lost, part, "a tool message has no error flag");
    std::size_t texts = 0;
    for (const NeutralPart& inner : part.inner) {
        if (is_textual(inner))
            ++texts;
        else
            lose(lost, inner, "a tool message carries text only");
    }
    out.key("content");
    if (texts == 1 || part.inner.empty()) {
        for (const NeutralPart& inner : part.inner)
            if (is_textual(inner)) out.string(textual(inner));
        if (part.inner.empty()) out.string(part.text);
    } else {
        out.begin_array();
        for (const NeutralPart& inner : part.inner)
            if (is_textual(inner)) write_text_part(out, textual(inner));
        if (texts == 0) write_text_part(out, "[content left out]");
        out.end_array();
    }
    out.end_object();
    return text;
}

// Texts and media; one text alone is a string.
void write_content(JsonWriter& out, const std::vector<const NeutralPart*>& parts,
                   std::vector<std::string>& lost) {
    if (parts.size() == 1 && is_textual(*parts[0])) {
        out.string(textual(*parts[0]));
        return;
    }
    out.begin_array();
    std::size_t written = 0;
    for (const NeutralPart* part : parts) {
        if (is_textual(*part)) {
            write_text_part(out, textual(*part));
            ++written;
        } else if (write_media(out, *part)) {
            ++written;
        } else {
            lose(lost, *part, "its source has no form in Chat Completions");
        }
    }
    if (written == 0) write_text_part(out, "[content left out]");
    out.end_array();
}

void write_call(JsonWriter& out, const NeutralPart& part) {
    const PlainArguments arguments = plain_arguments(part);
    const std::string_view type = arguments.custom ? "custom" : "function";
    out.begin_object().field("id", part.id).field("type", type).key(type).begin_object();
    out.field("name", part.name);
    out.field(arguments.custom ? "input" : "arguments", arguments.text);
    out.end_object().end_object();
}

// What an assistant message has no room for is reported; gives the texts.
std::vector<const NeutralPart*> assistant_texts(const NeutralMessage& message,
                                                std::vector<std::string>& lost) {
    std::vector<const NeutralPart*> texts;
    for (const NeutralPart& part : message.parts) {
        if (part.annotated) lose(lost, part, "citations are not carried over");
        if (is_textual(part))
            texts.push_back(&part);
        else if (part.kind == PartKind::reasoning)
            lose(lost, part, "reasoning is not carried over");
        else if (part.server || part.builtin)
            lose(lost, part, "a tool of another provider");
        else if (part.kind != PartKind::refusal && part.kind != PartKind::tool_call)
            lose(lost, part, "has no form in an assistant message");
    }
    return texts;
}

std::string write_assistant(const NeutralMessage& message, std::vector<std::string>& lost) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("role", "assistant").key("content");
    const std::vector<const NeutralPart*> texts = assistant_texts(message, lost);
    bool calls = false;
    const NeutralPart* refusal = nullptr;
    for (const NeutralPart& part : message.parts) {
        calls = calls || is_function_call(part);
        if (part.kind == PartKind::refusal) refusal = &part;
    }
    if (!texts.empty()) {
        write_content(out, texts, lost);
    } else if (calls || refusal) {
        out.null();
    } else {
        out.string("");
    }
    if (refusal) out.field("refusal", refusal->text);
    if (calls) {
        out.key("tool_calls").begin_array();
        for (const NeutralPart& part : message.parts)
            if (is_function_call(part)) write_call(out, part);
        out.end_array();
    }
    out.end_object();
    return text;
}

std::string_view written_role(const NeutralMessage& message) {
    if (message.role != Role::system) return "user";
    return message.role_text == "developer" ? "developer" : "system";
}

}  // namespace

Result<void> read_openai_chat(JsonValue json, NeutralMessage& message) {
    if (!json.is_object())
        return fail(ErrorCode::invalid_request, "expected a message (an object)");
    const ChatFields fields = fields_of(json);
    if (!set_string(message.role_text, json, fields.role))
        return expected_at({nullptr, "role"}, "a string");
    message.role = role_by_name(message.role_text);
    if (message.role == Role::tool) return read_result(message, fields);
    if (message.role == Role::assistant) return read_assistant(message, fields);
    if (const auto content = fields[fields.content])
        PAL_CHECK(read_content(message.parts, *content));
    if (message.role == Role::other)
        message.parts.push_back({.type = message.role_text, .json = json.raw()});
    return {};
}

std::vector<std::string> write_openai_chat(const NeutralMessage& message,
                                           std::vector<std::string>& lost) {
    std::vector<std::string> written;
    if (message.role == Role::assistant) {
        written.push_back(write_assistant(message, lost));
        return written;
    }
    std::vector<const NeutralPart*> rest;
    for (const NeutralPart& part : message.parts) {
        if (is_function_result(part))
            written.push_back(write_result(part, lost));
        else if (is_textual(part) || is_media(part))
            rest.push_back(&part);
        else
            lose(lost, part, "has no form in Chat Completions");
    }
    if (rest.empty() && !written.empty()) return written;
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("role", written_role(message)).key("content");
    if (rest.empty())
        out.string("");
    else
        write_content(out, rest, lost);
    out.end_object();
    written.push_back(std::move(text));
    return written;
}

}  // namespace palimpsest
