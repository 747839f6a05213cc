// goaitools' state blob and ailoop's snapshot.
#include "base/json.h"
#include "base/json_write.h"
#include "engine/foreign.h"

namespace palimpsest {
namespace {

std::unexpected<Error> not_a(std::string_view what, std::string_view why) {
    return fail(ErrorCode::invalid_request,
                "this is no " + std::string(what) + ": " + std::string(why));
}

std::string_view text_of(const JsonValue& object, std::string_view key) {
    const auto value = object.find(key);
    return value ? value->string() : std::string_view();
}

// ---- ailoop: tagged blocks <-> Anthropic's ------------------------------------------------------

void write_text(JsonWriter& out, std::string_view text) {
    out.begin_object().field("type", "text").field("text", text).end_object();
}

void write_tool_result(JsonWriter& out, const JsonValue& block) {
    out.begin_object().field("type", "tool_result");
    out.field("tool_use_id", text_of(block, "call_id"));
    const auto content = block.find("content");
    const auto blocks = content ? content->find("blocks") : std::nullopt;
    out.key("content");
    blocks ? out.raw(blocks->raw()) : out.begin_array().end_array();
    const auto is_error = content ? content->find("is_error") : std::nullopt;
    if (is_error && is_error->boolean().value_or(false)) out.key("is_error").boolean(true);
    out.end_object();
}

// One block `{"Tag":{…}}`; false when it is not known.
bool write_block(JsonWriter& out, std::string_view tag, const JsonValue& body) {
    if (tag == "Text") {
        write_text(out, text_of(body, "text"));
    } else if (tag == "ToolResult") {
        write_tool_result(out, body);
    } else if (tag == "ToolCall") {
        const std::string_view id = text_of(body, "call_id");
        const auto args = body.find("args");
        out.begin_object().field("type", "tool_use");
        out.field("id", id.empty() ? text_of(body, "id") : id);
        out.field("name", text_of(body, "name")).key("input");
        out.raw(args && args->is_object() ? args->raw() : "{}").end_object();
    } else if (tag == "Reasoning") {
        out.begin_object().field("type", "thinking").field("thinking", text_of(body, "text"));
        out.field("signature", text_of(body, "signature")).end_object();
    } else if (tag == "RedactedReasoning") {
        out.begin_object().field("type", "redacted_thinking");
        out.field("data", text_of(body, "data")).end_object();
    } else if (tag == "Image" || tag == "Document") {
        const auto source = body.find("source");
        out.begin_object().field("type", tag == "Image" ? "image" : "document").key("source");
        out.raw(source ? source->raw() : body.raw()).end_object();
    } else {
        return false;
    }
    return true;
}

Result<ForeignMessage> read_tagged(const JsonValue& message, std::vector<std::string>& lost) {
    for (const auto& [tag, body] : message.members()) {
        if (tag != "User" && tag != "Assistant") continue;
        ForeignMessage found;
        JsonWriter out(found.json);
        out.begin_object().field("role", tag == "User" ? "user" : "assistant");
        out.key("content").begin_array();
        const auto blocks = body.find("blocks");
        if (blocks)
            for (const JsonValue block : blocks->elements())
                for (const auto& [name, inner] : block.members())
                    if (!write_block(out, name, inner))
                        lost.push_back("a block of the kind " + std::string(name));
        out.end_array().end_object();
        return found;
    }
    return not_a("snapshot of ailoop", "a message is neither User nor Assistant");
}

void write_tagged_block(JsonWriter& out, const JsonValue& block, std::vector<std::string>& lost) {
    const std::string_view type = text_of(block, "type");
    const auto tagged = [&](std::string_view tag) -> JsonWriter& {
        return out.begin_object().key(tag).begin_object();
    };
    if (type == "text") {
        tagged("Text").field("text", text_of(block, "text")).end_object().end_object();
    } else if (type == "tool_use") {
        const auto input = block.find("input");
        tagged("ToolCall").field("call_id", text_of(block, "id"));
        out.field("name", text_of(block, "name")).key("args");
        out.raw(input ? input->raw() : "{}").end_object().end_object();
    } else if (type == "tool_result") {
        const auto content = block.find("content");
        const auto is_error = block.find("is_error");
        tagged("ToolResult").field("call_id", text_of(block, "tool_use_id"));
        out.key("content").begin_object().key("blocks");
        if (content && content->is_array()) {
            out.raw(content->raw());
        } else {
            out.begin_array();
            if (content) write_text(out, content->string());
            out.end_array();
        }
        if (is_error && is_error->boolean().value_or(false)) out.key("is_error").boolean(true);
        out.end_object().end_object().end_object();
    } else if (type == "thinking") {
        tagged("Reasoning").field("text", text_of(block, "thinking"));
        out.field("signature", text_of(block, "signature")).end_object().end_object();
    } else if (type == "redacted_thinking") {
        tagged("RedactedReasoning").field("data", text_of(block, "data"));
        out.end_object().end_object();
    } else if (type == "image" || type == "document") {
        const auto source = block.find("source");
        tagged(type == "image" ? "Image" : "Document").key("source");
        out.raw(source ? source->raw() : "{}").end_object().end_object();
    } else {
        lost.push_back("a block of the type " + std::string(type));
    }
}

void write_tagged(JsonWriter& out, const JsonValue& message, std::vector<std::string>& lost) {
    out.begin_object().key(text_of(message, "role") == "assistant" ? "Assistant" : "User");
    out.begin_object().key("blocks").begin_array();
    const auto content = message.find("content");
    if (content && content->is_string()) {
        out.begin_object().key("Text").begin_object().field("text", content->string());
        out.end_object().end_object();
    } else if (content) {
        for (const JsonValue block : content->elements()) write_tagged_block(out, block, lost);
    }
    out.end_array().end_object().end_object();
}

}  // namespace

Result<ForeignConversation> read_goaitools(std::string_view text) {
    PAL_TRY(document, parse_json(text));
    const JsonValue root = document.root();
    const auto version = root.find("version"), messages = root.find("messages");
    if (!version || version->integer() != 1)
        return not_a("state blob of goaitools", "its version is not 1");
    if (!messages || !messages->is_array())
        return not_a("state blob of goaitools", "it has no messages");
    ForeignConversation found;
    const std::string_view provider = text_of(root, "provider");
    if (provider.starts_with("anthropic")) found.format = FormatId::anthropic;
    for (const JsonValue message : messages->elements())
        found.messages.push_back({.json = std::string(message.raw())});
    std::string metadata;
    JsonWriter out(metadata);
    out.begin_object().field("provider", provider).end_object();
    found.metadata = metadata;
    return found;
}

Result<ForeignText> write_goaitools(const ForeignSource& source) {
    PAL_TRY(rendered, render(FormatId::openai_chat, source.messages));
    ForeignText done{.lost = rendered.lost};
    JsonWriter out(done.text);
    out.begin_object().key("version").number(1).field("provider", "openai");
    out.key("processed_length").number(std::uint64_t{rendered.messages.size()});
    out.key("messages").raw(write_list(rendered.messages)).end_object();
    return done;
}

Result<ForeignConversation> read_ailoop(std::string_view text) {
    PAL_TRY(document, parse_json(text));
    const JsonValue root = document.root();
    const auto version = root.find("version");
    const auto messages = root.find("messages"), pinned = root.find("pinned");
    if (!version || version->integer() != 1)
        return not_a("snapshot of ailoop", "its version is not 1");
    if (!messages || !pinned || messages->size() != pinned->size())
        return not_a("snapshot of ailoop", "messages and pinned differ in length");
    ForeignConversation found{.format = FormatId::anthropic};
    auto pin = pinned->elements().begin();
    for (const JsonValue message : messages->elements()) {
        PAL_TRY(read, read_tagged(message, found.lost));
        read.pinned = (*pin).boolean().value_or(false);
        ++pin;
        found.messages.push_back(std::move(read));
    }
    return found;
}

Result<ForeignText> write_ailoop(const ForeignSource& source) {
    PAL_TRY(rendered, render(FormatId::anthropic, source.messages));
    ForeignText done{.lost = rendered.lost};
    if (!rendered.system.empty()) done.lost.push_back("the system prompt: a snapshot has none");
    const bool same = rendered.messages.size() == source.pinned.size();
    if (!same) done.lost.push_back("pins: messages were joined");
    JsonWriter out(done.text);
    out.begin_object().key("version").number(1).key("messages").begin_array();
    for (const Message& message : rendered.messages) {
        PAL_TRY(document, parse_json(view_of(message.raw)));
        write_tagged(out, document.root(), done.lost);
    }
    out.end_array().key("pinned").begin_array();
    for (std::size_t i = 0; i < rendered.messages.size(); ++i)
        out.boolean(same && source.pinned[i]);
    out.end_array().end_object();
    return done;
}

}  // namespace palimpsest
