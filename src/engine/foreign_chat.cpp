#include "engine/foreign_chat.h"

#include <algorithm>

namespace palimpsest {
namespace {

// ---- reading ------------------------------------------------------------------------------------

std::string_view audio_name(std::string_view type) {
    if (type.starts_with("audio/")) type.remove_prefix(6);
    return type == "mpeg" ? "mp3" : type;
}

ChatPiece read_file_part(JsonValue file, Losses& losses) {
    ChatPiece piece{.kind = "document", .name = std::string(text_of(file, "filename"))};
    set_media_source(piece, text_of(file, "file_data"));
    if (file.find("file_id")) losses.add("a file that only its file_id names");
    return piece;
}

std::optional<ChatPiece> read_part(JsonValue part, Losses& losses) {
    const std::string_view type = text_of(part, "type");
    if (const auto image = part.find("image_url"); type == "image_url" && image) {
        ChatPiece piece{.kind = "image", .detail = std::string(text_of(*image, "detail"))};
        set_media_source(piece, image->is_string() ? image->string() : text_of(*image, "url"));
        return piece;
    }
    if (const auto audio = part.find("input_audio"); type == "input_audio" && audio)
        return ChatPiece{.kind = "audio",
                         .media_type = "audio/" + std::string(text_of(*audio, "format")),
                         .data = std::string(text_of(*audio, "data"))};
    if (const auto file = part.find("file"); type == "file" && file)
        return read_file_part(*file, losses);
    if (const auto text = part.find(type == "refusal" ? "refusal" : "text"); text)
        return ChatPiece{.text = std::string(text->string())};
    losses.add("a part of the type " + std::string(type));
    return std::nullopt;
}

void read_content(ChatMessage& read, const std::optional<JsonValue>& content, Losses& losses) {
    if (!content) return;
    if (content->is_string()) {
        if (!content->string().empty())
            read.pieces.push_back({.text = std::string(content->string())});
        return;
    }
    for (const JsonValue part : content->elements())
        if (auto piece = read_part(part, losses)) read.pieces.push_back(std::move(*piece));
}

ChatCall read_call(JsonValue call) {
    const auto custom = call.find("custom");
    const JsonValue body = custom.value_or(call.find("function").value_or(call));
    return {std::string(text_of(call, "id")), std::string(text_of(body, "name")),
            std::string(text_of(body, custom ? "input" : "arguments"))};
}

// ---- writing ------------------------------------------------------------------------------------

void write_piece(JsonWriter& out, const ChatPiece& piece) {
    const std::string url =
        piece.url.empty() ? "data:" + piece.media_type + ";base64," + piece.data : piece.url;
    out.begin_object();
    if (piece.kind.empty()) {
        out.field("type", "text").field("text", piece.text);
    } else if (piece.kind == "image") {
        out.field("type", "image_url").key("image_url").begin_object().field("url", url);
        if (!piece.detail.empty()) out.field("detail", piece.detail);
        out.end_object();
    } else if (piece.kind == "audio") {
        out.field("type", "input_audio").key("input_audio").begin_object();
        out.field("data", piece.data).field("format", audio_name(piece.media_type)).end_object();
    } else {
        out.field("type", "file").key("file").begin_object();
        out.field("filename", piece.name.empty() ? "file" : piece.name);
        out.field("file_data", url).end_object();
    }
    out.end_object();
}

bool has_chat_form(const ChatPiece& piece) {
    if (piece.kind == "image") return !piece.data.empty() || !piece.url.empty();
    return (piece.kind == "audio" || piece.kind == "document") && !piece.data.empty();
}

// Only what a user says may hold media.
std::vector<ChatPiece> sendable_pieces(const ChatMessage& message, Losses& losses) {
    std::vector<ChatPiece> kept;
    for (const ChatPiece& piece : message.pieces) {
        if (piece.kind.empty() || (message.role == "user" && has_chat_form(piece)))
            kept.push_back(piece);
        else
            losses.add("a part that is no text (" + piece.kind + ") of the role " + message.role);
    }
    return kept;
}

void write_content(JsonWriter& out, const ChatMessage& message, Losses& losses) {
    const std::vector<ChatPiece> pieces = sendable_pieces(message, losses);
    if (pieces.empty()) {
        message.calls.empty() ? out.string("") : out.null();
    } else if (pieces.size() == 1 && pieces[0].kind.empty()) {
        out.string(pieces[0].text);
    } else {
        out.begin_array();
        for (const ChatPiece& piece : pieces) write_piece(out, piece);
        out.end_array();
    }
}

}  // namespace

bool ChatMessage::has_media() const {
    return std::ranges::any_of(pieces, [](const ChatPiece& piece) { return !piece.kind.empty(); });
}

std::string ChatMessage::text(std::string_view between) const {
    std::string joined;
    bool first = true;
    for (const ChatPiece& piece : pieces) {
        if (!piece.kind.empty()) continue;
        if (!first) joined += between;
        joined += piece.text;
        first = false;
    }
    return joined;
}

void set_media_source(ChatPiece& piece, std::string_view url) {
    const std::size_t mark = url.find(";base64,");
    if (!url.starts_with("data:") || mark == url.npos) {
        piece.url = url;
        return;
    }
    piece.media_type = url.substr(5, mark - 5);
    piece.data = url.substr(mark + 8);
}

ChatMessage read_chat(JsonValue message, Losses& losses) {
    ChatMessage read{.role = std::string(text_of(message, "role"))};
    read_content(read, message.find("content"), losses);
    if (const std::string_view refusal = text_of(message, "refusal"); !refusal.empty())
        read.pieces.push_back({.text = std::string(refusal)});
    read.reasoning = text_of(message, "reasoning_content");
    if (read.reasoning.empty()) read.reasoning = text_of(message, "reasoning");
    if (const auto calls = message.find("tool_calls"))
        for (const JsonValue call : calls->elements()) read.calls.push_back(read_call(call));
    read.answers = text_of(message, "tool_call_id");
    losses.add_others(message, "a message",
                      {"role", "content", "refusal", "reasoning_content", "reasoning", "tool_calls",
                       "tool_call_id"});
    return read;
}

std::string write_chat(const ChatMessage& message, Losses& losses) {
    std::string json;
    JsonWriter out(json);
    out.begin_object().field("role", message.role);
    if (message.role == "tool") out.field("tool_call_id", message.answers);
    write_content(out.key("content"), message, losses);
    if (!message.reasoning.empty()) out.field("reasoning_content", message.reasoning);
    if (!message.calls.empty()) {
        out.key("tool_calls").begin_array();
        for (const ChatCall& call : message.calls) {
            out.begin_object().field("id", call.id).field("type", "function").key("function");
            out.begin_object().field("name", call.name).field("arguments", call.arguments);
            out.end_object().end_object();
        }
        out.end_array();
    }
    out.end_object();
    return json;
}

}  // namespace palimpsest
