// Anthropic Messages: user and assistant messages made of content blocks.
//
// Results of parallel calls stand in one user message, before any text. Newer models also take
// messages of role system inside the list; the leading system prompt is a field of the request.
#include "base/hash.h"
#include "base/json_write.h"
#include "format/anthropic/anthropic.h"
#include "format/fields.h"

namespace palimpsest {
namespace {

void read_source(NeutralPart& part, JsonValue block) {
    part.name = any_string(block, "title");
    const auto source = block.find("source");
    if (!source) return;
    const std::string_view type = any_string(*source, "type");
    part.media_type = any_string(*source, "media_type");
    if (type == "base64") {
        part.source_kind = SourceKind::base64;
        part.source = any_string(*source, "data");
    } else if (type == "url") {
        part.source_kind = SourceKind::url;
        part.source = any_string(*source, "url");
    } else if (type == "file") {
        part.source_kind = SourceKind::file_id;
        part.source = any_string(*source, "file_id");
    } else if (type == "text") {
        part.source_kind = SourceKind::text;
        part.source = any_string(*source, "data");
    } else {
        part.source = source->raw();
    }
}

Result<void> read_call(NeutralPart& part, JsonValue block, const Path& path) {
    part.kind = PartKind::tool_call;
    part.server = part.type != "tool_use";
    PAL_TRY(id, required_string(block, "id", path));
    PAL_TRY(name, required_string(block, "name", path));
    const auto input = block.find("input");
    if (!input) return expected_at({&path, "input"}, "an object");
    part.id = id;
    part.name = name;
    part.arguments = input->raw();
    return {};
}

Result<void> read_blocks(NeutralMessage& message, std::vector<NeutralPart>& parts,
                         JsonValue content, const Path& path);

Result<void> read_result(NeutralMessage& message, NeutralPart& part, JsonValue block,
                         const Path& path) {
    part.kind = PartKind::tool_result;
    part.server = part.type != "tool_result";
    PAL_TRY(id, required_string(block, "tool_use_id", path));
    part.id = id;
    const auto flag = block.find("is_error");
    part.is_error = flag && flag->boolean().value_or(false);
    const auto content = block.find("content");
    if (!content) return {};
    part.content = content->raw();
    if (part.server) return {};  // The provider's own forms, not content blocks.
    PAL_CHECK(read_blocks(message, part.inner, *content, {&path, "content"}));
    part.text = joined_text(message, part.inner);
    return {};
}

void read_thinking(NeutralPart& part, JsonValue block) {
    part.kind = PartKind::reasoning;
    part.text = any_string(block, "thinking");
    part.signature = any_string(block, part.type == "thinking" ? "signature" : "data");
}

Result<void> read_block(NeutralMessage& message, NeutralPart& part, JsonValue block,
                        const Path& path) {
    PAL_CHECK(begin_part(part, block, path, "a content block (an object)"));
    const std::string_view type = part.type;
    if (type == "text") {
        part.kind = PartKind::text;
        PAL_TRY(text, required_string(block, "text", path));
        part.text = text;
        const auto citations = block.find("citations");
        part.annotated = citations && citations->size() > 0;
    } else if (type == "image" || type == "document") {
        part.kind = type == "image" ? PartKind::image : PartKind::document;
        read_source(part, block);
    } else if (type == "tool_use" || type == "server_tool_use" || type == "mcp_tool_use") {
        PAL_CHECK(read_call(part, block, path));
    } else if (type.ends_with("tool_result")) {
        PAL_CHECK(read_result(message, part, block, path));
    } else if (type == "thinking" || type == "redacted_thinking") {
        read_thinking(part, block);
    } else if (type == "compaction") {
        part.kind = PartKind::compaction;
        part.text = any_string(block, "content");
        part.signature = any_string(block, "encrypted_content");
    }
    return {};
}

Result<void> read_blocks(NeutralMessage& message, std::vector<NeutralPart>& parts,
                         JsonValue content, const Path& path) {
    return read_part_list(parts, content, path, "a string or a list of content blocks",
                          [&](NeutralPart& part, JsonValue block, const Path& place) {
                              return read_block(message, part, block, place);
                          });
}

// ---- writing --------------------------------------------------------------------------------

// Ids may hold letters, digits, _ and - only. Others are rewritten, call and result alike.
std::string tool_id(std::string_view id) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    };
    std::string safe(id);
    for (char& c : safe)
        if (!fits(c)) c = '_';
    if (safe == id && !safe.empty()) return safe;
    constexpr char hex[] = "0123456789abcdef";
    const std::uint64_t hash = hash_bytes(id).low;
    safe += '_';
    for (unsigned i = 0; i < 8; ++i) safe += hex[(hash >> (4 * i)) & 15U];
    return safe;
}

std::string_view image_type(std::string_view type) {
    return type.empty() ? "image/png" : type;
}

bool write_media(JsonWriter& out, const NeutralPart& part) {
    if (part.kind == PartKind::audio || part.source_kind == SourceKind::none ||
        part.source_kind == SourceKind::text)
        return false;
    const bool image = part.kind == PartKind::image;
    out.begin_object().field("type", image ? "image" : "document").key("source").begin_object();
    if (part.source_kind == SourceKind::base64) {
        const std::string_view type = image                     ? image_type(part.media_type)
                                      : part.media_type.empty() ? "application/pdf"
                                                                : part.media_type;
        out.field("type", "base64").field("media_type", type).field("data", part.source);
    } else if (part.source_kind == SourceKind::url) {
        out.field("type", "url").field("url", part.source);
    } else {
        out.field("type", "file").field("file_id", part.source);
    }
    out.end_object();
    if (!image && !part.name.empty()) out.field("title", part.name);
    out.end_object();
    return true;
}

// Gives whether a block was written. Blank texts are refused by the service, so they are not.
bool write_plain_block(JsonWriter& out, const NeutralPart& part, std::vector<std::string>& lost) {
    if (part.annotated) lose(lost, part, "citations are not carried over");
    if (is_textual(part) || part.kind == PartKind::refusal) {
        if (is_blank(textual(part))) return false;
        out.begin_object().field("type", "text").field("text", textual(part)).end_object();
        return true;
    }
    if (is_media(part) && write_media(out, part)) return true;
    lose(lost, part, "has no form in Messages");
    return false;
}

void write_result(JsonWriter& out, const NeutralPart& part, std::vector<std::string>& lost) {
    out.begin_object().field("type", "tool_result").field("tool_use_id", tool_id(part.id));
    if (part.inner.empty()) {
        if (!part.text.empty()) out.field("content", part.text);
    } else if (part.inner.size() == 1 && is_textual(part.inner[0])) {
        out.field("content", textual(part.inner[0]));
    } else {
        out.key("content").begin_array();
        for (const NeutralPart& inner : part.inner) write_plain_block(out, inner, lost);
        out.end_array();
    }
    if (part.is_error) out.key("is_error").boolean(true);
    out.end_object();
}

void write_call(JsonWriter& out, const NeutralPart& part) {
    out.begin_object().field("type", "tool_use").field("id", tool_id(part.id));
    out.field("name", part.name).key("input").raw(arguments_object(part)).end_object();
}

std::size_t write_blocks(JsonWriter& out, const NeutralMessage& message,
                         std::vector<std::string>& lost) {
    std::size_t written = 0;
    for (const NeutralPart& part : message.parts)
        if (is_function_result(part)) {
            write_result(out, part, lost);
            ++written;
        }
    for (const NeutralPart& part : message.parts) {
        if (is_function_result(part)) continue;
        if (is_function_call(part)) {
            write_call(out, part);
            ++written;
        } else if (part.kind == PartKind::reasoning) {
            lose(lost, part, "reasoning is not carried over");
        } else if (part.kind == PartKind::tool_call || part.kind == PartKind::tool_result) {
            lose(lost, part, "a tool of another provider");
        } else if (write_plain_block(out, part, lost)) {
            ++written;
        }
    }
    return written;
}

std::string_view written_role(Role role) {
    return role == Role::assistant ? "assistant" : role == Role::system ? "system" : "user";
}

}  // namespace

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\n\v\f\r") == text.npos;
}

Result<void> read_anthropic(JsonValue json, NeutralMessage& message) {
    if (!json.is_object())
        return fail(ErrorCode::invalid_request, "expected a message (an object)");
    PAL_CHECK(read_role(message, json.find("role")));
    const auto content = json.find("content");
    if (!content) return expected_at({nullptr, "content"}, "a string or a list of content blocks");
    return read_blocks(message, message.parts, *content, {nullptr, "content"});
}

std::vector<std::string> write_anthropic(const NeutralMessage& message,
                                         std::vector<std::string>& lost) {
    std::string text;
    const std::size_t said = lost.size();
    JsonWriter out(text);
    out.begin_object().field("role", written_role(message.role)).key("content");
    const bool plain = message.parts.size() == 1 && message.parts[0].kind == PartKind::text &&
                       !is_blank(message.parts[0].text) && !message.parts[0].annotated;
    if (plain) {
        out.string(message.parts[0].text);
    } else {
        out.begin_array();
        if (write_blocks(out, message, lost) == 0) {
            // Where its parts were named they say why.
            if (lost.size() == said)
                lost.push_back("message: nothing of it has a form in Messages");
            return {};
        }
        out.end_array();
    }
    out.end_object();
    return {std::move(text)};
}

}  // namespace palimpsest
