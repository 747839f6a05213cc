// Koog's checkpoints: the messages of an agent and where in its graph it is.
//
// Koog has each call, result and piece of reasoning as a message of its own; what one answer said
// is one message here, and goes back as several. A call without an id gets one that is recognised
// on the way back. Where the agent is (node, last output, storage) is kept in the metadata.
#include <algorithm>
#include <deque>

#include "base/time.h"
#include "engine/foreign_chat.h"
#include "store/seal.h"

namespace palimpsest {
namespace {

constexpr std::string_view no_id = "koog-no-id-";
constexpr std::size_t kept_bytes_max =
    16 * 1024;  // Metadata has room for 64 KiB, and others use it.
constexpr std::string_view labels[] = {"checkpointId", "createdAt", "nodePath", "version"};
constexpr std::string_view positions[] = {"lastInput", "lastOutput", "properties", "storage"};

// ---- reading ------------------------------------------------------------------------------------

// "image" of "ai.koog.prompt.message.ContentPart.Image".
std::string last_word(std::string_view type) {
    std::string word(type.substr(type.find_last_of('.') + 1));
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
    return word;
}

std::string base64_of(JsonValue content) {
    for (const std::string_view key : {"base64", "data"}) {
        const auto value = value_of(content, key);
        if (value && value->is_string()) return std::string(value->string());
        if (!value || !value->is_array()) continue;
        std::string bytes;  // A ByteArray is a list of signed numbers.
        for (const JsonValue byte : value->elements())
            bytes += static_cast<char>(byte.integer().value_or(0));
        return to_base64(bytes);
    }
    return {};
}

ChatPiece read_attachment(JsonValue part, Losses& losses) {
    std::string kind = last_word(text_of(part, "type"));
    if (kind == "file") kind = "document";
    ChatPiece piece{.kind = kind,
                    .media_type = std::string(text_of(part, "mimeType")),
                    .name = std::string(text_of(part, "fileName"))};
    const std::string format(text_of(part, "format"));
    if (piece.media_type.empty())
        piece.media_type = (kind == "document" ? "application" : kind) + "/" + format;
    const auto content = value_of(part, "content");
    if (content && value_of(*content, "text"))  // A file in words.
        return {.text = std::string(text_of(*content, "text"))};
    if (content) {
        piece.url = text_of(*content, "url");
        piece.data = base64_of(*content);
    }
    losses.add_others(part, "an attachment", {"type", "mimeType", "fileName", "format", "content"});
    return piece;
}

std::vector<ChatPiece> read_pieces(JsonValue message, Losses& losses) {
    std::vector<ChatPiece> pieces;
    const auto add = [&](std::string_view text) {
        if (!text.empty()) pieces.push_back({.text = std::string(text)});
    };
    if (const auto content = value_of(message, "content")) add(content->string());
    for (const std::string_view list : {"parts", "attachments"})
        if (const auto parts = value_of(message, list))
            for (const JsonValue part : parts->elements()) {
                if (last_word(text_of(part, "type")) == "text")
                    add(text_of(part, "text"));
                else
                    pieces.push_back(read_attachment(part, losses));
            }
    return pieces;
}

class KoogReader {
public:
    explicit KoogReader(ForeignConversation& found) : found_(found) {}

    void add(JsonValue message) {
        const std::string type = last_word(text_of(message, "type"));
        std::optional<Time> at;
        if (const auto info = value_of(message, "metaInfo")) {
            if (const auto time = parse_time(text_of(*info, "timestamp"))) at = *time;
            losses_.add_others(*info, "metaInfo", {"timestamp"});
        }
        ChatMessage read{.pieces = read_pieces(message, losses_)};
        const bool tool = type.ends_with("call") || type.ends_with("result");
        losses_.add_others(message, type == "reasoning" ? "a piece of reasoning" : "a message",
                           {"type", "role", "content", "parts", "attachments", "metaInfo",
                            tool ? "id" : "type", tool ? "tool" : "type"});
        if (type == "reasoning")
            add_reasoning(read.text("\n"), at);
        else if (type.ends_with("call"))
            add_call(message, read.text("\n"), at);
        else if (type == "assistant")
            add_answer(std::move(read), at);
        else
            add_request(message, type, std::move(read), at);
    }

    void finish() {
        close();
        losses_.report_to(found_.lost);
    }

private:
    void open(std::optional<Time> at) {
        if (!answer_) answer_ = ChatMessage{.role = "assistant"};
        if (!at_) at_ = at;
    }
    void close() {
        if (answer_) found_.messages.push_back({.json = write_chat(*answer_, losses_), .at = at_});
        answer_.reset();
        at_.reset();
        spoken_ = false;
    }
    void add_reasoning(const std::string& text, std::optional<Time> at) {
        if (answer_ && (spoken_ || !answer_->calls.empty())) close();
        open(at);
        answer_->reasoning += (answer_->reasoning.empty() ? "" : "\n") + text;
    }
    void add_answer(ChatMessage read, std::optional<Time> at) {
        if (answer_ && (spoken_ || !answer_->calls.empty())) close();
        open(at);
        answer_->pieces = std::move(read.pieces);
        spoken_ = true;
    }
    void add_call(JsonValue message, std::string arguments, std::optional<Time> at) {
        open(at);
        std::string id(text_of(message, "id"));
        const std::string tool(text_of(message, "tool"));
        if (id.empty()) waiting_[tool].push_back(id = made_id());
        answer_->calls.push_back({std::move(id), tool, std::move(arguments)});
    }
    void add_request(JsonValue message, const std::string& type, ChatMessage read,
                     std::optional<Time> at) {
        close();
        read.role = type == "system" ? "system" : type.ends_with("result") ? "tool" : "user";
        if (read.role == "tool") read.answers = answered(message);
        if (type != "user" && read.role == "user")
            losses_.add("that a message is of the type " + type);
        found_.messages.push_back({.json = write_chat(read, losses_), .at = at});
    }
    // Calls without an id are answered in their order, tool by tool.
    std::string answered(JsonValue message) {
        if (const std::string_view id = text_of(message, "id"); !id.empty()) return std::string(id);
        std::deque<std::string>& open_calls = waiting_[std::string(text_of(message, "tool"))];
        if (open_calls.empty()) return made_id();
        std::string id = open_calls.front();
        open_calls.pop_front();
        return id;
    }
    std::string made_id() { return std::string(no_id) + std::to_string(++made_); }

    ForeignConversation& found_;
    Losses losses_ = {};
    std::optional<ChatMessage> answer_ = {};  // that is still coming
    bool spoken_ = false;                     // the answer has its text
    std::optional<Time> at_ = {};
    std::map<std::string, std::deque<std::string>> waiting_ = {};
    std::size_t made_ = 0;
};

// How the checkpoint spells its types, and what has no other place.
std::string koog_metadata(JsonValue root, JsonValue history, ForeignConversation& found) {
    std::string metadata;
    JsonWriter out(metadata);
    out.begin_object();
    for (const std::string_view key : labels)
        if (const auto value = value_of(root, key)) out.key(key).raw(value->raw());
    out.key("koog").begin_object();
    out.key("messages").number(std::uint64_t{found.messages.size()});
    for (const JsonValue message : history.elements()) {
        out.key("qualified").boolean(text_of(message, "type").find("koog") != std::string::npos);
        out.key("parts").boolean(value_of(message, "parts").has_value());
        break;
    }
    for (const std::string_view key : positions) {
        const auto value = value_of(root, key);
        if (value && value->raw().size() <= kept_bytes_max)
            out.key(key).raw(value->raw());
        else if (value)
            found.lost.push_back(std::string(key) + ": it is too long to be kept");
    }
    out.end_object().end_object();
    return metadata;
}

// ---- writing ------------------------------------------------------------------------------------

class KoogWriter {
public:
    KoogWriter(JsonWriter& out, bool qualified, bool parts)
        : out_(out), qualified_(qualified), parts_(parts) {}

    void write(const ChatMessage& message, Time at) {
        if (message.role == "tool") {
            begin("ToolResult", message.pieces, at);
            write_id(message.answers).field("tool", tools_[message.answers]).end_object();
            return;
        }
        if (!message.reasoning.empty()) {
            begin("Reasoning", {{.text = message.reasoning}}, at);
            out_.end_object();
        }
        const bool silent = !message.calls.empty() || !message.reasoning.empty();
        if (!message.pieces.empty() || !silent) {
            const bool system = message.role == "system" || message.role == "developer";
            begin(message.role == "user" ? "User"
                  : system               ? "System"
                                         : "Assistant",
                  message.pieces, at);
            out_.end_object();
        }
        for (const ChatCall& call : message.calls) {
            tools_[call.id] = call.name;
            begin("ToolCall", {{.text = call.arguments}}, at);
            write_id(call.id).field("tool", call.name).end_object();
        }
    }

private:
    std::string type_of(std::string_view type) const {
        if (!qualified_) return std::string(type);
        const bool tool = type.starts_with("Tool");
        return "ai.koog.prompt.message.Message." +
               (tool ? "Tool." + std::string(type.substr(4)) : std::string(type));
    }
    JsonWriter& write_id(const std::string& id) {
        out_.key("id");
        return id.starts_with(no_id) ? out_.null() : out_.string(id);
    }
    void begin(std::string_view type, const std::vector<ChatPiece>& pieces, Time at) {
        out_.begin_object().field("type", type_of(type));
        const ChatMessage all{.pieces = pieces};
        if (parts_) {
            out_.key("parts").begin_array();
            for (const ChatPiece& piece : pieces) write_part(piece);
            out_.end_array();
        } else {
            out_.field("content", all.text("\n"));
            if (all.has_media()) {
                out_.key("attachments").begin_array();
                for (const ChatPiece& piece : pieces)
                    if (!piece.kind.empty()) write_part(piece);
                out_.end_array();
            }
        }
        out_.key("metaInfo").begin_object().field("timestamp", format_time(at)).end_object();
    }
    void write_part(const ChatPiece& piece) {
        if (piece.kind.empty()) {
            out_.begin_object().field("type", "text").field("text", piece.text).end_object();
            return;
        }
        std::string kind = piece.kind == "document" ? "file" : piece.kind;
        const std::string_view media = piece.media_type;
        const std::string_view format = media.substr(media.find('/') + 1);
        if (qualified_) {
            kind[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(kind[0])));
            kind = std::string("ai.koog.prompt.message.") +
                   (parts_ ? "ContentPart." : "Attachment.") + kind;
        }
        out_.begin_object().field("type", kind).key("content").begin_object();
        const std::string_view holder = "ai.koog.prompt.message.AttachmentContent.";
        if (piece.url.empty()) {
            out_.field("type", qualified_ ? std::string(holder) + "Binary.Base64" : "base64");
            out_.field("base64", piece.data);
        } else {
            out_.field("type", qualified_ ? std::string(holder) + "URL" : "url");
            out_.field("url", piece.url);
        }
        out_.end_object().field("format", format).field("mimeType", media);
        if (!piece.name.empty()) out_.field("fileName", piece.name);
        out_.end_object();
    }

    JsonWriter& out_;
    const bool qualified_, parts_;
    ToolNames tools_ = {};
};

bool is_set(const std::optional<JsonValue>& object, std::string_view key) {
    const auto value = object ? object->find(key) : std::nullopt;
    return value && value->boolean().value_or(false);
}

}  // namespace

Result<ForeignConversation> read_koog(std::string_view text) {
    PAL_TRY(document, parse_json(text));
    const JsonValue root = document.root();
    const auto history = root.find("messageHistory");
    if (!history || !history->is_array())
        return fail(ErrorCode::invalid_request, "this is no checkpoint of Koog: no messageHistory");
    ForeignConversation found{.id = std::string(text_of(root, "checkpointId"))};
    KoogReader reader(found);
    for (const JsonValue message : history->elements()) reader.add(message);
    reader.finish();
    found.metadata = koog_metadata(root, *history, found);
    Losses losses;
    losses.add_others(root, "the checkpoint",
                      {"messageHistory", "checkpointId", "createdAt", "nodePath", "version",
                       "lastInput", "lastOutput", "properties", "storage"});
    losses.report_to(found.lost);
    return found;
}

// One that has grown since it came in is a later version of it.
Result<ForeignText> write_koog(const ForeignSource& source) {
    PAL_TRY(list, export_list(FormatId::openai_chat, source, PromptPlace::in_list));
    PAL_TRY(metadata, parse_json(source.header.metadata));
    const JsonValue kept = metadata.root();
    const auto koog = value_of(kept, "koog");
    const auto count = koog ? koog->find("messages") : std::nullopt;
    const bool grown = !count || count->integer() != std::int64_t(source.messages.size());
    ForeignText done{.lost = list.lost};
    Losses losses;
    JsonWriter out(done.text);
    const std::string_view id = text_of(kept, "checkpointId"), at = text_of(kept, "createdAt");
    out.begin_object().field("checkpointId", id.empty() ? source.header.name.id : id);
    out.field("createdAt",
              grown || at.empty() ? format_time(source.header.updated) : std::string(at));
    out.field("nodePath", text_of(kept, "nodePath")).key("messageHistory").begin_array();
    KoogWriter writer(out, is_set(koog, "qualified"), is_set(koog, "parts"));
    for (const ExportMessage& entry : list.messages) {
        PAL_TRY(document, parse_json(view_of(entry.message.raw)));
        writer.write(read_chat(document.root(), losses), entry.at);
    }
    out.end_array();
    const auto version = value_of(kept, "version");
    const auto number = version ? version->integer() : std::nullopt;
    if (number) out.key("version").number(grown ? *number + 1 : *number);
    if (!number) out.key("version").number(source.header.end.value);
    for (const std::string_view key : positions)
        if (const auto value = koog ? value_of(*koog, key) : std::nullopt)
            out.key(key).raw(value->raw());
    out.end_object();
    losses.report_to(done.lost);
    return done;
}

}  // namespace palimpsest
