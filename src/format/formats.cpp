// The table of formats, and reading messages by it.
#include "palimpsest/format.h"

#include "base/json_write.h"
#include "format/fields.h"
#include "format/format_table.h"

namespace palimpsest {
namespace {

constexpr Format table[] = {
    {FormatId::openai_chat,
     "openai_chat",
     read_openai_chat,
     write_openai_chat,
     check_openai_chat,
     repair_openai_chat,
     {"messages", "items", ""}},
    {FormatId::openai_responses,
     "openai_responses",
     read_openai_responses,
     write_openai_responses,
     check_openai_responses,
     repair_openai_responses,
     {"input", "items", "output"}},
    {FormatId::anthropic,
     "anthropic",
     read_anthropic,
     write_anthropic,
     check_anthropic,
     repair_anthropic,
     {"messages", "items", ""}},
};

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
    explicit MessageReader(const Format& format) : format_(format) {}

    // Shape and fingerprint; `view` is a fresh one.
    Result<void> read(JsonValue json, MessageView& view) {
        PAL_TRY(neutral, format_.read_into(json, std::move(blank_)));
        set_shape(view.shape, neutral);
        view.fingerprint = fingerprint_of(neutral, room_);
        view.raw = json.raw();
        blank_ = std::move(neutral);
        blank_.clear();
        return {};
    }

private:
    const Format& format_;
    NeutralMessage blank_;
    std::string room_;
};

Message message_of(const Format& format, MessageView&& view, Bytes raw) {
    return {.format = format.id,
            .shape = std::move(view.shape),
            .raw = std::move(raw),
            .fingerprint = view.fingerprint};
}

Result<std::vector<MessageView>> scan_list(const Format& format, JsonValue list,
                                           std::string_view name) {
    MessageReader reader(format);
    std::vector<MessageView> views;
    views.reserve(list.size());
    for (const JsonValue element : list.elements()) {
        auto read = reader.read(element, views.emplace_back());
        if (!read)
            return placed(std::move(read).error(),
                          std::string(name) + "[" + std::to_string(views.size() - 1) + "]");
    }
    return views;
}

std::string user_message(std::string_view json_text) {
    return "{\"role\":\"user\",\"content\":" + std::string(json_text) + "}";
}

Result<MessageView> scan_one(const Format& format, JsonValue json) {
    MessageView view;
    auto read = MessageReader(format).read(json, view);
    if (!read) return placed(std::move(read).error(), "message");
    return view;
}

struct PartsOwner {
    std::string text;
    JsonDocument document;
    NeutralMessage message;
};

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
            return ToolResult{part.id, part.text, part.content, part.is_error};
        case PartKind::reasoning:
            return Reasoning{part.text, part.signature};
        case PartKind::compaction:
        case PartKind::opaque:
            break;
    }
    return Opaque{part.json};
}

}  // namespace

std::span<const Format> format_table() {
    return table;
}

const Format& format_of(FormatId id) {
    return table[static_cast<std::size_t>(id) - 1];
}

std::optional<BodyList> find_body_list(const Format& format, JsonValue body) {
    if (body.find("role") || body.find("type")) return std::nullopt;
    for (const std::string_view field : format.list_fields)
        if (const auto list = field.empty() ? std::nullopt : body.find(field))
            if (list->is_array() || (list->is_string() && field == "input"))
                return BodyList{field, *list};
    return std::nullopt;
}

std::string_view format_name(FormatId format) {
    return format_of(format).name;
}

std::optional<FormatId> format_by_name(std::string_view name) {
    for (const Format& format : table)
        if (format.name == name) return format.id;
    return std::nullopt;
}

Result<FormatId> parse_format_name(std::string_view name) {
    if (const auto format = format_by_name(name)) return *format;
    std::string names;
    for (const Format& format : table)
        names += (names.empty() ? "" : ", ") + std::string(format.name);
    return fail(ErrorCode::invalid_request,
                "unknown format \"" + std::string(name) + "\": expected one of " + names, "format");
}

std::string_view role_name(Role role) {
    constexpr std::string_view names[] = {"system", "user", "assistant", "tool", "other"};
    return names[static_cast<std::size_t>(role)];
}

Result<Message> read_message(FormatId format, Bytes raw) {
    const std::string_view text = trimmed(view_of(raw));
    if (!raw || text.size() != raw->size()) raw = make_bytes(std::string(text));
    PAL_TRY(document, parse_json(*raw));
    PAL_TRY(view, scan_one(format_of(format), document.root()));
    return message_of(format_of(format), std::move(view), std::move(raw));
}

Result<std::vector<MessageView>> scan_messages(FormatId id, std::string_view json) {
    const Format& format = format_of(id);
    PAL_TRY(document, parse_json(json));
    const JsonValue root = document.root();
    if (root.is_array()) return scan_list(format, root, "messages");
    const auto list = find_body_list(format, root);
    if (list && !list->value.is_string()) return scan_list(format, list->value, list->field);
    MessageView view;
    if (list) {
        PAL_TRY(message, read_message(id, make_bytes(user_message(list->value.raw()))));
        view = {std::move(message.shape), message.fingerprint, list->value.raw()};
    } else {
        PAL_TRY(one, scan_one(format, root));
        view = std::move(one);
    }
    return std::vector<MessageView>{std::move(view)};
}

Result<std::vector<Message>> read_messages(FormatId id, Bytes json) {
    PAL_TRY(views, scan_messages(id, view_of(json)));
    std::vector<Message> messages;
    messages.reserve(views.size());
    for (MessageView& view : views) {
        // Only a string as `input` begins with a quote: it becomes the message that it stands for.
        std::string raw =
            view.raw.starts_with('"') ? user_message(view.raw) : std::string(view.raw);
        messages.push_back(message_of(format_of(id), std::move(view), make_bytes(std::move(raw))));
    }
    return messages;
}

Result<Parts> read_parts(const Message& message) {
    PAL_TRY(document, parse_json(view_of(message.raw)));
    PAL_TRY(neutral, format_of(message.format).read(document.root()));
    const auto owner =
        std::make_shared<PartsOwner>(PartsOwner{{}, std::move(document), std::move(neutral)});
    Parts parts{.raw = message.raw, .arena = Bytes(owner, &owner->text)};
    parts.parts.reserve(owner->message.parts.size());
    for (const NeutralPart& part : owner->message.parts) parts.parts.push_back(public_part(part));
    return parts;
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
