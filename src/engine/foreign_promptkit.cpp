// PromptKit's state: one value (the old Redis layout), its parts (the decomposed one, the folder).
//
// In a message `parts` come before `content`, and a tool's message says what came out in
// `tool_result`. Go reads names without regard to case, but not across underscores: the one value
// has both spellings of names of two words.
#include "base/time.h"
#include "engine/foreign_chat.h"

namespace palimpsest {
namespace {

std::optional<JsonValue> either(JsonValue object, std::string_view a, std::string_view b) {
    const auto found = value_of(object, a);
    return found ? found : value_of(object, b);
}

// ---- reading ------------------------------------------------------------------------------------

std::optional<ChatPiece> read_media(JsonValue part, Losses& losses) {
    const auto media = value_of(part, "media");
    const std::string kind(text_of(part, "type"));
    if (!media) {
        losses.add("a part of the type " + kind);
        return std::nullopt;
    }
    ChatPiece piece{.kind = kind,
                    .media_type = std::string(text_of(*media, "mime_type")),
                    .data = std::string(text_of(*media, "data")),
                    .url = std::string(text_of(*media, "url")),
                    .detail = std::string(text_of(*media, "detail"))};
    losses.add_others(*media, "a part that is no text",
                      {"mime_type", "data", "url", "detail", "format", "size_kb"});
    return piece;
}

void read_parts_into(ChatMessage& read, const std::optional<JsonValue>& parts, Losses& losses) {
    if (!parts) return;
    for (const JsonValue part : parts->elements()) {
        const std::string_view type = text_of(part, "type");
        if (type == "thinking")
            read.reasoning += text_of(part, "text");
        else if (const auto text = value_of(part, "text"); text && !value_of(part, "media"))
            read.pieces.push_back({.text = std::string(text->string())});
        else if (auto piece = read_media(part, losses))
            read.pieces.push_back(std::move(*piece));
    }
}

void read_result(ChatMessage& read, JsonValue result, Losses& losses) {
    read.answers = text_of(result, "id");
    if (const std::string_view error = text_of(result, "error"); !error.empty()) {
        read.pieces.push_back({.text = "error: " + std::string(error)});
        losses.add("that a tool failed, other than in words");
        losses.add_others(result, "the result of a failed tool",
                          {"id", "name", "error", "error_type", "latency_ms", "content"});
    } else {
        read_parts_into(read, value_of(result, "parts"), losses);
        if (read.pieces.empty())
            if (const std::string_view text = text_of(result, "content"); !text.empty())
                read.pieces.push_back({.text = std::string(text)});
    }
    for (const std::string_view key : {"error_type", "latency_ms"})
        if (const auto value = value_of(result, key); value && !says_nothing(*value))
            losses.add(std::string(key) + " of a tool's result");
}

void read_reasoning(ChatMessage& read, const std::optional<JsonValue>& reasoning, Losses& losses) {
    if (!reasoning) return;
    read.reasoning += reasoning->is_string() ? reasoning->string() : text_of(*reasoning, "text");
    losses.add_others(*reasoning, "the reasoning of a message", {"text"});
}

ForeignMessage read_kit_message(JsonValue message, Losses& losses) {
    ChatMessage read{.role = std::string(text_of(message, "role"))};
    if (const auto result = value_of(message, "tool_result"); result && result->is_object())
        read_result(read, *result, losses);
    if (read.pieces.empty()) read_parts_into(read, value_of(message, "parts"), losses);
    if (const std::string_view text = text_of(message, "content");
        read.text().empty() && !text.empty())
        read.pieces.insert(read.pieces.begin(), ChatPiece{.text = std::string(text)});
    read_reasoning(read, value_of(message, "reasoning"), losses);
    if (const auto calls = value_of(message, "tool_calls"))
        for (const JsonValue call : calls->elements()) {
            const auto args = call.find("args");
            read.calls.push_back({std::string(text_of(call, "id")),
                                  std::string(text_of(call, "name")),
                                  std::string(args ? args->raw() : "{}")});
            losses.add_others(call, "a tool call", {"id", "name", "args"});
        }
    losses.add_others(
        message, "a message",
        {"role", "content", "parts", "tool_calls", "tool_result", "timestamp", "reasoning"});
    ForeignMessage found{.json = write_chat(read, losses)};
    if (const auto at = parse_time(text_of(message, "timestamp"))) found.at = *at;
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

void count_lists(JsonValue root, Losses& losses) {
    if (const auto summaries = either(root, "summaries", "Summaries"))
        losses.add("a summary: what it sums up is there itself", summaries->size());
    if (const auto lists = value_of(root, "lists"))
        for (const auto& [name, items] : lists->members())
            losses.add("the list " + std::string(name) + " of " + std::to_string(items.size()) +
                       " items");
    if (const auto torn = value_of(root, "torn"))
        for (const JsonValue file : torn->elements())
            losses.add("the last line of " + std::string(file.string()) + ": it is torn");
}

// ---- writing ------------------------------------------------------------------------------------

void write_part(JsonWriter& out, const ChatPiece& piece) {
    out.begin_object();
    if (piece.kind.empty()) {
        out.field("type", "text").field("text", piece.text).end_object();
        return;
    }
    out.field("type", piece.kind).key("media").begin_object();
    piece.url.empty() ? out.field("data", piece.data) : out.field("url", piece.url);
    out.field("mime_type", piece.media_type.empty() ? "image/jpeg" : piece.media_type);
    if (!piece.detail.empty()) out.field("detail", piece.detail);
    out.end_object().end_object();
}

void write_parts(JsonWriter& out, const std::vector<ChatPiece>& pieces) {
    out.key("parts").begin_array();
    for (const ChatPiece& piece : pieces) write_part(out, piece);
    out.end_array();
}

std::string write_kit_message(const ChatMessage& message, Time at, ToolNames& tools) {
    std::string json;
    JsonWriter out(json);
    const bool answers = message.role == "tool";
    out.begin_object().field("role", message.role == "developer" ? "system" : message.role);
    out.field("content", message.text());
    if (!answers && (message.has_media() || message.pieces.size() > 1))
        write_parts(out, message.pieces);
    if (!message.reasoning.empty())
        out.key("reasoning").begin_object().field("text", message.reasoning).end_object();
    if (!message.calls.empty()) {
        out.key("tool_calls").begin_array();
        for (const ChatCall& call : message.calls) {
            tools[call.id] = call.name;
            out.begin_object().field("id", call.id).field("name", call.name).key("args");
            out.raw(parse_json(call.arguments) ? call.arguments : "{}").end_object();
        }
        out.end_array();
    }
    if (answers) {
        out.key("tool_result").begin_object().field("id", message.answers);
        out.field("name", tools[message.answers]);
        write_parts(out, message.pieces);
        out.key("latency_ms").number(0).end_object();
    }
    out.field("timestamp", format_time(at)).end_object();
    return json;
}

}  // namespace

Result<ForeignConversation> read_promptkit(std::string_view text) {
    PAL_TRY(document, parse_json(text));
    const JsonValue root = document.root();
    // Decomposed: the fields of the state are under `meta`.
    const JsonValue state = value_of(root, "meta").value_or(root);
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
    auto metadata = either(root, "metadata", "Metadata");
    if (!metadata || metadata->size() == 0) metadata = either(state, "metadata", "Metadata");
    found.metadata = metadata_of(metadata);
    Losses losses;
    for (const JsonValue message : messages->elements())
        found.messages.push_back(read_kit_message(message, losses));
    count_lists(root, losses);
    losses.add_others(state, "the state",
                      {"id", "ID", "user_id", "UserID", "system_prompt", "SystemPrompt", "messages",
                       "Messages", "metadata", "Metadata", "summaries", "Summaries", "token_count",
                       "TokenCount", "last_accessed_at", "LastAccessedAt"});
    losses.report_to(found.lost);
    return found;
}

Result<PromptkitState> promptkit_state(const ForeignSource& source,
                                       std::vector<std::string>& lost) {
    PAL_TRY(list, export_list(FormatId::openai_chat, source, PromptPlace::apart));
    const Header& header = source.header;
    PromptkitState state{.id = header.name.id, .owner = header.owner};
    Losses losses;
    ToolNames tools;
    for (const ExportMessage& entry : list.messages) {
        PAL_TRY(document, parse_json(view_of(entry.message.raw)));
        state.messages.push_back(
            write_kit_message(read_chat(document.root(), losses), entry.at, tools));
    }
    JsonWriter out(state.meta);
    out.begin_object().field("id", state.id).field("user_id", state.owner);
    out.field("system_prompt", header.system_prompt);
    out.field("last_accessed_at", format_time(header.accessed)).end_object();
    PAL_TRY(metadata, parse_json(header.metadata));
    for (const auto& [key, value] : metadata.root().members())
        state.metadata.emplace_back(key, value.raw());
    lost.insert(lost.end(), list.lost.begin(), list.lost.end());
    losses.report_to(lost);
    return state;
}

Result<ForeignText> write_promptkit(const ForeignSource& source) {
    ForeignText done;
    PAL_TRY(state, promptkit_state(source, done.lost));
    const Header& header = source.header;
    JsonWriter out(done.text);
    out.begin_object().field("id", state.id);
    out.field("user_id", state.owner).field("UserID", state.owner);
    out.field("system_prompt", header.system_prompt);
    out.field("SystemPrompt", header.system_prompt).key("messages").begin_array();
    for (const std::string& message : state.messages) out.raw(message);
    out.end_array();
    const std::string accessed = format_time(header.accessed);
    out.field("last_accessed_at", accessed).field("LastAccessedAt", accessed);
    out.key("metadata").raw(header.metadata).end_object();
    return done;
}

Result<ForeignText> write_promptkit_parts(const ForeignSource& source) {
    ForeignText done;
    PAL_TRY(state, promptkit_state(source, done.lost));
    JsonWriter out(done.text);
    out.begin_object().key("meta").raw(state.meta).key("messages").begin_array();
    for (const std::string& message : state.messages) out.raw(message);
    out.end_array().key("summaries").begin_array().end_array().key("metadata").begin_object();
    for (const auto& [key, value] : state.metadata) out.field("user." + key, value);
    out.end_object().end_object();
    return done;
}

}  // namespace palimpsest
