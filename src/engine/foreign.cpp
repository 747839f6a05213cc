// The table of foreign kinds, how one is recognised, and those that are our own formats.
#include "engine/foreign.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"

namespace palimpsest {
namespace {

// The first line, or all of it when it is one JSON text.
std::optional<JsonDocument> first_document(std::string_view text) {
    if (auto whole = parse_json(text)) return std::move(*whole);
    while (!text.empty() && (text.front() == '\n' || text.front() == ' ')) text.remove_prefix(1);
    if (auto line = parse_json(text.substr(0, text.find('\n')))) return std::move(*line);
    return std::nullopt;
}

bool has_all(std::string_view text, std::initializer_list<std::string_view> keys) {
    const auto document = first_document(text);
    return document && std::ranges::all_of(keys, [&](std::string_view key) {
               return document->root().find(key).has_value();
           });
}

bool is_goaitools(std::string_view text) {
    return has_all(text, {"version", "provider", "messages"});
}
bool is_ailoop(std::string_view text) {
    return has_all(text, {"version", "messages", "pinned"});
}
bool is_koog(std::string_view text) {
    return has_all(text, {"checkpointId", "messageHistory"});
}
bool is_promptkit(std::string_view text) {
    return has_all(text, {"messages", "user_id"}) || has_all(text, {"messages", "meta"}) ||
           has_all(text, {"Messages", "UserID"});
}
bool is_claude_code(std::string_view text) {
    return has_all(text, {"sessionId", "type"}) || has_all(text, {"type", "leafUuid"});
}
bool is_codex(std::string_view text) {
    return has_all(text, {"timestamp", "type", "payload"});
}
bool is_responses(std::string_view text) {
    const auto document = first_document(text);
    if (!document) return false;
    auto root = document->root();
    if (const auto items = root.find("items")) root = *items;
    if (!root.is_array() || root.size() == 0) return false;
    const JsonValue first = *root.elements().begin();
    const auto type = first.find("type");
    return type && !first.find("role") ? true : type && type->string() == "message";
}
bool is_anthropic(std::string_view text) {
    return text.find("\"tool_use\"") != text.npos || text.find("\"tool_result\"") != text.npos;
}
bool is_anything(std::string_view) {
    return true;
}

template <FormatId format>
Result<ForeignConversation> read_own(std::string_view text) {
    ForeignConversation found{.format = format};
    PAL_TRY(messages, read_messages(format, make_bytes(std::string(text))));
    for (const Message& message : messages)
        found.messages.push_back({.json = std::string(view_of(message.raw))});
    return found;
}

template <FormatId format>
Result<ForeignText> write_own(const ForeignSource& source) {
    PAL_TRY(rendered, render(format, source.messages));
    return ForeignText{write_list(rendered.messages) + "\n", rendered.lost};
}

// In the order in which they are tried.
constexpr ForeignKind kinds[] = {
    {"goaitools", "state blob of goaitools", is_goaitools, read_goaitools, write_goaitools},
    {"ailoop", "ConversationSnapshot of ailoop", is_ailoop, read_ailoop, write_ailoop},
    {"koog", "checkpoint of Koog", is_koog, read_koog, write_koog},
    {"promptkit", "state of PromptKit: a Redis value, its parts, or a folder", is_promptkit,
     read_promptkit, write_promptkit},
    {"claude_code", "session file of Claude Code (JSON Lines)", is_claude_code, read_claude_code,
     write_claude_code},
    {"codex", "session file of Codex (JSON Lines)", is_codex, read_codex, write_codex},
    {"openai_responses", "items of the Responses API", is_responses,
     read_own<FormatId::openai_responses>, write_own<FormatId::openai_responses>},
    {"anthropic", "messages of the Anthropic API", is_anthropic, read_own<FormatId::anthropic>,
     write_own<FormatId::anthropic>},
    {"openai_chat", "messages of Chat Completions", is_anything, read_own<FormatId::openai_chat>,
     write_own<FormatId::openai_chat>},
};

Result<const ForeignKind*> kind_named(std::string_view name) {
    const auto* kind = std::ranges::find(kinds, name, &ForeignKind::name);
    if (kind != std::end(kinds)) return kind;
    std::string known;
    for (const ForeignKind& row : kinds)
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    return fail(ErrorCode::invalid_request, "there is no such format; there are: " + known);
}

}  // namespace

std::span<const ForeignKind> foreign_kinds() {
    return kinds;
}

Result<ForeignConversation> read_foreign(std::string_view name, std::string_view text) {
    if (!name.empty()) {
        PAL_TRY(kind, kind_named(name));
        return kind->read(text);
    }
    const auto* kind =
        std::ranges::find_if(kinds, [&](const ForeignKind& row) { return row.looks_like(text); });
    return kind->read(text);
}

Result<ForeignText> write_foreign(std::string_view name, const ForeignSource& source) {
    PAL_TRY(kind, kind_named(name));
    return kind->write(source);
}

}  // namespace palimpsest
