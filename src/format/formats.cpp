// The table of formats, and reading messages by it.
#include "palimpsest/format.h"

#include "base/json_write.h"
#include "format/fields.h"
#include "format/format_table.h"

namespace palimpsest {
namespace {

constexpr const Format* table[] = {&openai_chat_format, &openai_responses_format,
                                   &anthropic_format};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\r\n";
    const std::size_t from = text.find_first_not_of(space);
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(space) - from + 1);
}

// `where` is put before the field that an error names: "messages[3]".
std::unexpected<Error> placed(Error error, std::string_view where) {
    const std::string_view dot = error.param.empty() ? ": " : ".";
    error.message = std::string(where) + std::string(dot) + error.message;
    error.param = std::string(where) + (error.param.empty() ? "" : "." + error.param);
    return std::unexpected(std::move(error));
}

// Reads messages one after the other in the same memory.
class MessageReader {
public:
    MessageReader(const Format& format, Fingerprints fingerprints)
        : format_(format), fingerprints_(fingerprints) {}

    // All but the raw bytes; `message` is a fresh one.
    Result<void> read(JsonValue json, Message& message) {
        neutral_.clear();
        PAL_CHECK(format_.read_into(json, neutral_));
        message.format = format_.id;
        set_shape(message.shape, neutral_);
        if (fingerprints_ == Fingerprints::taken)
            message.fingerprint = fingerprint_of(neutral_, room_);
        return {};
    }

private:
    const Format& format_;
    const Fingerprints fingerprints_;
    NeutralMessage neutral_;
    std::string room_;
};

Result<std::vector<Message>> read_list(const Format& format, JsonValue list, std::string_view name,
                                       const Bytes& json, Fingerprints fingerprints) {
    MessageReader reader(format, fingerprints);
    std::vector<Message> messages;
    messages.reserve(list.size());
    const JsonElements elements = list.elements();
    for (auto at = elements.begin(); at != elements.end();) {
        const JsonValue element = *at;
        ++at;
        // The parser is far ahead: the text of the next message has left the nearest cache.
        if (at != elements.end()) __builtin_prefetch((*at).raw().data());
        Message& message = messages.emplace_back();
        auto read = reader.read(element, message);
        if (!read)
            return placed(std::move(read).error(),
                          std::string(name) + "[" + std::to_string(messages.size() - 1) + "]");
        message.raw = json.part(element.raw());
    }
    return messages;
}

Result<Message> read_one(const Format& format, JsonValue json, Bytes raw,
                         Fingerprints fingerprints = Fingerprints::taken) {
    Message message;
    auto read = MessageReader(format, fingerprints).read(json, message);
    if (!read) return placed(std::move(read).error(), "message");
    message.raw = std::move(raw);
    return message;
}

struct PartsOwner {
    std::optional<JsonDocument> document;  // none: its owner outlives the parts
    NeutralMessage message;
};

// Tools that a provider defines answer in forms of their own: their bytes say what came out, but
// for a picture's.
std::string_view result_text(const NeutralPart& part) {
    const bool own_form = part.builtin && part.inner.empty() && !part.content.starts_with('{');
    if (!own_form || !part.text.empty()) return part.text;
    return part.content.empty() ? part.json : part.content;
}

Part public_part(const NeutralPart& part) {
    switch (part.kind) {
        case PartKind::text:
        case PartKind::refusal:
            return Text{part.text};
        case PartKind::image:
        case PartKind::document:
        case PartKind::audio: {
            const auto kind = part.kind == PartKind::image      ? Media::Kind::image
                              : part.kind == PartKind::document ? Media::Kind::document
                                                                : Media::Kind::audio;
            return Media{kind, part.media_type, part.source, part.json};
        }
        case PartKind::tool_call:
            if (part.server) break;
            return ToolCall{part.id, part.name, part.arguments};
        case PartKind::tool_result:
            if (part.server) break;
            return ToolResult{part.id, result_text(part), part.content, part.is_error};
        case PartKind::reasoning:
            return Reasoning{part.text, part.signature};
        case PartKind::speech:
            if (part.text.empty()) break;
            return Text{part.text};
        case PartKind::compaction:
        case PartKind::opaque:
            break;
    }
    return Opaque{part.json};
}

Parts parts_of(const Message& message, PartsOwner owned) {
    const auto owner = std::make_shared<PartsOwner>(std::move(owned));
    Parts parts{.raw = message.raw, .arena = Bytes(owner, {})};
    parts.parts.reserve(owner->message.parts.size());
    for (const NeutralPart& part : owner->message.parts) parts.parts.push_back(public_part(part));
    return parts;
}

}  // namespace

std::span<const Format* const> format_table() {
    return table;
}

const Format& format_of(FormatId id) {
    return *table[static_cast<std::size_t>(id) - 1];
}

std::optional<BodyList> find_body_list(const Format& format, JsonValue body) {
    if (body.find("role") || body.find("type")) return std::nullopt;
    for (const std::string_view field : format.list_fields)
        if (const auto list = field.empty() ? std::nullopt : body.find(field))
            if (list->is_array() || (list->is_string() && field == format.text_field))
                return BodyList{field, *list};
    return std::nullopt;
}

std::string_view format_name(FormatId format) {
    return format_of(format).name;
}

std::optional<FormatId> format_by_name(std::string_view name) {
    for (const Format* format : table)
        if (format->name == name) return format->id;
    return std::nullopt;
}

Result<FormatId> parse_format_name(std::string_view name) {
    if (const auto format = format_by_name(name)) return *format;
    std::string names;
    for (const Format* format : table)
        names += (names.empty() ? "" : ", ") + std::string(format->name);
    return fail(ErrorCode::invalid_request,
                "unknown format \"" + std::string(name) + "\": expected one of " + names, "format");
}

std::string_view role_name(Role role) {
    constexpr std::string_view names[] = {"system", "user", "assistant", "tool", "other"};
    return names[static_cast<std::size_t>(role)];
}

Result<Message> read_message(FormatId format, Bytes raw) {
    const std::string_view text = trimmed(view_of(raw));
    raw = raw ? raw.part(text) : make_bytes("");
    PAL_TRY(document, parse_json(*raw));
    return read_one(format_of(format), document.root(), std::move(raw));
}

Result<Message> read_message(FormatId format, JsonValue json, Bytes raw) {
    return read_one(format_of(format), json, std::move(raw));
}

Result<std::vector<Message>> read_messages(FormatId id, Bytes json, Fingerprints fingerprints) {
    const Format& format = format_of(id);
    PAL_TRY(document, parse_json(view_of(json)));
    const JsonValue root = document.root();
    if (root.is_array()) return read_list(format, root, "messages", json, fingerprints);
    const auto list = find_body_list(format, root);
    if (list && list->value.is_array())
        return read_list(format, list->value, list->field, json, fingerprints);
    std::vector<Message> messages;
    if (list) {
        std::string raw = "{\"role\":\"user\",\"content\":" + std::string(list->value.raw()) + "}";
        PAL_TRY(message, read_message(id, make_bytes(std::move(raw))));
        messages.push_back(std::move(message));
    } else {
        PAL_TRY(message, read_one(format, root, json.part(root.raw()), fingerprints));
        messages.push_back(std::move(message));
    }
    return messages;
}

Result<Parts> read_parts(const Message& message) {
    PAL_TRY(document, parse_json(view_of(message.raw)));
    PAL_TRY(neutral, format_of(message.format).read(document.root()));
    return parts_of(message, {std::move(document), std::move(neutral)});
}

Result<Parts> read_parts(const Message& message, JsonValue json) {
    PAL_TRY(neutral, format_of(message.format).read(json));
    return parts_of(message, {std::nullopt, std::move(neutral)});
}

Result<Message> make_message(FormatId format, Role role, std::string_view text) {
    if (role == Role::tool || role == Role::other)
        return fail(ErrorCode::invalid_request,
                    "a plain text message is of role system, user or assistant", "role");
    std::string raw;
    JsonWriter(raw)
        .begin_object()
        .field("role", role_name(role))
        .field("content", text)
        .end_object();
    return read_message(format, make_bytes(std::move(raw)));
}

}  // namespace palimpsest
