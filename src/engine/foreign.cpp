// The table of foreign kinds, how one is recognised, and what a kind leaves of the header.
#include "engine/foreign.h"

#include <algorithm>

#include "base/json_write.h"
#include "engine/foreign_parts.h"

namespace palimpsest {
namespace {

// ---- recognising --------------------------------------------------------------------------------

// Whether one of the first lines passes, or all of it when it is one JSON text.
bool any_document(std::string_view text, bool (*passes)(JsonValue document)) {
    if (const auto whole = parsed(text)) return passes(whole->root());
    constexpr int lines_tried = 40;  // Before the first message there may be some of other kinds.
    for (int i = 0; i < lines_tried && !text.empty(); ++i) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (const auto document = parsed(line); document && passes(document->root())) return true;
    }
    return false;
}

bool has_all(std::string_view text, std::initializer_list<std::string_view> keys) {
    const auto document = parsed(text);
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
           has_all(text, {"Messages", "ID"});
}
bool is_claude_code(std::string_view text) {
    return any_document(text, [](JsonValue line) {
        return line.find("type") && (line.find("sessionId") || line.find("leafUuid"));
    });
}
bool is_codex(std::string_view text) {
    return any_document(text, [](JsonValue line) {
        const bool now = line.find("timestamp") && line.find("type") && line.find("payload");
        const bool before = line.find("id") && line.find("timestamp") && !line.find("type") &&
                            (line.find("instructions") || line.find("git") || line.find("cwd"));
        return now || before || line.find("record_type");
    });
}
bool is_responses(std::string_view text) {
    const auto document = parsed(text);
    if (!document) return false;
    JsonValue root = document->root();
    if (root.find("input") && !root.find("messages")) return true;
    for (const std::string_view field : {"items", "data"})
        if (const auto items = root.find(field); items && items->is_array()) root = *items;
    for (const JsonValue item : root.elements()) {
        const std::string_view type = text_of(item, "type");
        if (type == "message" || (!type.empty() && !item.find("role"))) return true;
    }
    return false;
}
bool is_anthropic(std::string_view text) {
    const auto document = parsed(text);
    if (!document) return false;
    const JsonValue root = document->root();
    if (root.find("system") && root.find("messages")) return true;
    for (const JsonValue message : root.find("messages").value_or(root).elements())
        if (const auto content = message.find("content"))
            for (const JsonValue block : content->elements()) {
                const std::string_view type = text_of(block, "type");
                if (type.contains("tool_") || type.ends_with("thinking") || block.find("source"))
                    return true;
            }
    return false;
}
bool is_anything(std::string_view) {
    return true;
}
bool is_never(std::string_view) {
    return false;
}

// In the order in which they are tried.
constexpr ForeignKind kinds[] = {
    {"goaitools",
     "state blob of goaitools",
     is_goaitools,
     read_goaitools,
     write_goaitools,
     {.keys = "provider goaitools"}},
    {"ailoop",
     "ConversationSnapshot of ailoop",
     is_ailoop,
     read_ailoop,
     write_ailoop,
     {.pins = true, .keys = "ailoop"}},
    {"koog",
     "checkpoint of Koog",
     is_koog,
     read_koog,
     write_koog,
     {.keys = "koog checkpointId createdAt nodePath version"}},
    {"promptkit",
     "state of PromptKit: one JSON value; --to FOLDER or redis://... its own layouts",
     is_promptkit,
     read_promptkit,
     write_promptkit,
     {.owner = true, .metadata = true}},
    {"promptkit_parts",
     "the same as PromptKit's Redis keys hold it, in one JSON object",
     is_never,
     read_promptkit,
     write_promptkit_parts,
     {.owner = true, .metadata = true}},
    {"claude_code",
     "session file of Claude Code (JSON Lines)",
     is_claude_code,
     read_claude_code,
     write_claude_code,
     {.title = true}},
    {"codex", "session file of Codex (JSON Lines)", is_codex, read_codex, write_codex, {}},
    {"openai_responses",
     "items of the Responses API: a list, a request, a page",
     is_responses,
     read_responses_items,
     write_responses_items,
     {}},
    {"anthropic",
     "messages of the Anthropic API: a list or a request",
     is_anthropic,
     read_anthropic_messages,
     write_anthropic_messages,
     {}},
    {"openai_chat",
     "messages of Chat Completions: a list or a request",
     is_anything,
     read_chat_messages,
     write_chat_messages,
     {}},
};

Result<const ForeignKind*> kind_named(std::string_view name) {
    const auto* kind = std::ranges::find(kinds, name, &ForeignKind::name);
    if (kind != std::end(kinds)) return kind;
    std::string known;
    for (const ForeignKind& row : kinds)
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    return fail(ErrorCode::invalid_request, "there is no such format; there are: " + known);
}

// ---- what a kind leaves -------------------------------------------------------------------------

bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::string_view first = words.substr(0, words.find(' '));
        if (first == word) return true;
        words.remove_prefix(std::min(words.size(), first.size() + 1));
    }
    return false;
}

void report_metadata(const Header& header, const Carried& carried, std::vector<std::string>& lost) {
    const auto document = parsed(header.metadata);
    if (!document || carried.metadata) return;
    std::string names;
    for (const auto& [key, value] : document->root().members())
        if (!has_word(carried.keys, key)) names += (names.empty() ? "" : ", ") + std::string(key);
    if (!names.empty()) lost.push_back("metadata: " + names);
}

void report_header(const ForeignSource& source, const Carried& carried,
                   std::vector<std::string>& lost) {
    const Header& header = source.header;
    if (!header.owner.empty() && !carried.owner) lost.emplace_back("the owner");
    if (!header.title.empty() && !carried.title) lost.emplace_back("the title");
    if (!header.policy.empty()) lost.emplace_back("the policy");
    if (header.ttl) lost.emplace_back("the time to live");
    report_metadata(header, carried, lost);
    if (!carried.pins && std::ranges::find(source.pinned, true) != source.pinned.end())
        lost.emplace_back("pins");
    if (source.edited)
        lost.emplace_back("edits of the view (compactions, retractions): the whole log is written");
}

}  // namespace

std::span<const ForeignKind> foreign_kinds() {
    return kinds;
}

std::string foreign_kinds_help() {
    std::string text;
    for (const ForeignKind& kind : kinds) {
        std::string name = "  " + std::string(kind.name);
        name.resize(22, ' ');
        text += name + std::string(kind.help) + "\n";
    }
    return text;
}

Result<ForeignConversation> read_foreign(std::string_view name, std::string_view text) {
    if (!name.empty()) {
        PAL_TRY(kind, kind_named(name));
        return kind->read(text);
    }
    const auto* kind =
        std::ranges::find_if(kinds, [&](const ForeignKind& row) { return row.looks_like(text); });
    auto found = kind->read(text);
    if (found || kind->looks_like != is_anything) return found;
    return fail(ErrorCode::invalid_request,
                "it is of no kind that is known by its looks: say --from KIND. As " +
                    std::string(kind->name) + ": " + found.error().message,
                found.error().param);
}

Result<ForeignText> write_foreign(std::string_view name, const ForeignSource& source) {
    PAL_TRY(kind, kind_named(name));
    PAL_TRY(text, kind->write(source));
    report_header(source, kind->carried, text.lost);
    return text;
}

}  // namespace palimpsest
