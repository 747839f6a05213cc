// goaitools' state blob and ailoop's snapshot.
#include <algorithm>
#include <set>

#include "base/json_write.h"
#include "engine/foreign_parts.h"

namespace palimpsest {
namespace {

std::unexpected<Error> not_a(std::string_view what, std::string_view why) {
    return fail(ErrorCode::invalid_request,
                "this is no " + std::string(what) + ": " + std::string(why));
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

Result<ForeignMessage> read_tagged(const JsonValue& message, Losses& losses) {
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
                        losses.add("a block of the kind " + std::string(name));
        out.end_array().end_object();
        return found;
    }
    return not_a("snapshot of ailoop", "a message is neither User nor Assistant");
}

void write_tagged_block(JsonWriter& out, const JsonValue& block, Losses& losses) {
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
        losses.add("a block of the type " + std::string(type));
    }
}

void write_tagged(JsonWriter& out, const JsonValue& message, Losses& losses) {
    out.begin_object().key(text_of(message, "role") == "assistant" ? "Assistant" : "User");
    out.begin_object().key("blocks").begin_array();
    const auto content = message.find("content");
    if (content && content->is_string()) {
        out.begin_object().key("Text").begin_object().field("text", content->string());
        out.end_object().end_object();
    } else if (content) {
        for (const JsonValue block : content->elements()) write_tagged_block(out, block, losses);
    }
    out.end_array().end_object().end_object();
}

// A pin holds a whole group here, a call and its results; a snapshot pins messages one by one.
// Which ones it named stays in the metadata.
void keep_pins(ForeignConversation& found) {
    std::string named;
    for (std::size_t i = 0; i < found.messages.size(); ++i)
        if (found.messages[i].pinned) named += (named.empty() ? "" : ",") + std::to_string(i);
    if (!named.empty()) found.metadata = "{\"ailoop\":{\"pinned\":[" + named + "]}}";
}

// Those that are pinned only because the group of one that was named is.
std::set<std::size_t> widened_pins(const ExportList& list, JsonValue metadata) {
    const auto kept = value_of(metadata, "ailoop");
    const auto pinned = kept ? kept->find("pinned") : std::nullopt;
    std::set<std::size_t> named, widened;
    if (pinned)
        for (const JsonValue at : pinned->elements())
            named.insert(static_cast<std::size_t>(at.integer().value_or(0)));
    const auto& messages = list.messages;
    const auto answers = [&](std::size_t i) { return !messages[i].message.shape.results.empty(); };
    for (const std::size_t at : named) {
        if (at >= messages.size()) continue;
        std::size_t first = at, last = at;
        while (first > 0 && answers(first)) --first;
        while (last + 1 < messages.size() && answers(last + 1)) ++last;
        for (std::size_t i = first; i <= last; ++i)
            if (!named.contains(i)) widened.insert(i);
    }
    return widened;
}

// ---- goaitools ----------------------------------------------------------------------------------

// What its backends call themselves, and the messages that they keep. The first one is meant when
// nothing says which.
struct Backend {
    std::string_view provider;
    FormatId format;
};
constexpr Backend backends[] = {{"openai", FormatId::openai_chat},
                                {"anthropic", FormatId::anthropic}};

FormatId format_of_provider(std::string_view provider) {
    for (const Backend& backend : backends)
        if (provider.starts_with(backend.provider)) return backend.format;
    return backends[0].format;
}

// The provider that all messages are of.
std::string_view provider_of(const ForeignSource& source) {
    for (const Backend& backend : backends)
        if (!source.messages.empty() &&
            std::ranges::all_of(source.messages, [&](const Message& message) {
                return message.format == backend.format;
            }))
            return backend.provider;
    return backends[0].provider;
}

// As it came in; of a conversation that has grown since, or came another way, what a model has seen
// ends with its last answer.
std::size_t processed_length(const ForeignSource& source, const ExportList& list,
                             const JsonDocument& metadata) {
    const auto blob = value_of(metadata.root(), "goaitools");
    const auto number = [&](std::string_view key) {
        const auto value = blob ? blob->find(key) : std::nullopt;
        return value ? value->integer() : std::nullopt;
    };
    const auto processed = number("processed_length");
    if (processed && *processed >= 0 && number("messages") == std::int64_t(source.messages.size()))
        return static_cast<std::size_t>(*processed);
    std::size_t length = list.messages.size();
    while (length > 0 && list.messages[length - 1].message.shape.role != Role::assistant) --length;
    return length;
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
    const std::string_view provider = text_of(root, "provider");
    ForeignConversation found{.format = format_of_provider(provider)};
    for (const JsonValue message : messages->elements())
        found.messages.push_back({.json = std::string(message.raw())});
    const auto processed = root.find("processed_length");
    JsonWriter out(found.metadata = "");
    out.begin_object().field("provider", provider).key("goaitools").begin_object();
    out.key("processed_length").raw(processed ? processed->raw() : "0");
    out.key("messages").number(std::uint64_t{messages->size()}).end_object().end_object();
    Losses losses;
    losses.add_others(root, "the blob", {"version", "provider", "processed_length", "messages"});
    losses.report_to(found.lost);
    return found;
}

// goaitools strips a system message at the head of a blob, so the header's prompt has no place.
Result<ForeignText> write_goaitools(const ForeignSource& source) {
    PAL_TRY(metadata, parse_json(source.header.metadata));
    std::string provider(text_of(metadata.root(), "provider"));
    if (provider.empty()) provider = provider_of(source);
    PAL_TRY(list, export_list(format_of_provider(provider), source, PromptPlace::nowhere));
    ForeignText done{.lost = list.lost};
    if (!list.system.empty()) done.lost.emplace_back("the leading system messages");
    JsonWriter out(done.text);
    out.begin_object().key("version").number(1).field("provider", provider);
    out.key("processed_length").number(std::uint64_t{processed_length(source, list, metadata)});
    out.key("messages").begin_array();
    for (const ExportMessage& entry : list.messages) out.raw(view_of(entry.message.raw));
    out.end_array().end_object();
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
    Losses losses;
    auto pin = pinned->elements().begin();
    for (const JsonValue message : messages->elements()) {
        PAL_TRY(read, read_tagged(message, losses));
        read.pinned = (*pin).boolean().value_or(false);
        ++pin;
        found.messages.push_back(std::move(read));
    }
    losses.add_others(root, "the snapshot", {"version", "messages", "pinned"});
    losses.report_to(found.lost);
    keep_pins(found);
    return found;
}

Result<ForeignText> write_ailoop(const ForeignSource& source) {
    PAL_TRY(list, export_list(FormatId::anthropic, source, PromptPlace::in_list));
    ForeignText done{.lost = list.lost};
    if (!list.system.empty()) done.lost.emplace_back("the system prompt: a snapshot has none");
    Losses losses;
    JsonWriter out(done.text);
    out.begin_object().key("version").number(1).key("messages").begin_array();
    for (const ExportMessage& entry : list.messages) {
        PAL_TRY(document, parse_json(view_of(entry.message.raw)));
        write_tagged(out, document.root(), losses);
    }
    out.end_array().key("pinned").begin_array();
    PAL_TRY(metadata, parse_json(source.header.metadata));
    const std::set<std::size_t> widened = widened_pins(list, metadata.root());
    for (std::size_t i = 0; i < list.messages.size(); ++i)
        out.boolean(list.messages[i].pinned && !widened.contains(i));
    out.end_array().end_object();
    losses.report_to(done.lost);
    return done;
}

}  // namespace palimpsest
