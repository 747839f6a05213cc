#include "search/message_text.h"

#include <algorithm>

#include "base/json.h"
#include "core/recollect.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

// The name of the one who speaks, where several share a role.
std::string speaker_of(const Message& message) {
    const std::string_view raw = view_of(message.raw);
    if (message.shape.role == Role::tool || !raw.contains("\"name\"")) return {};
    const auto document = parse_json(raw);
    // An item that is no message names what it calls.
    const auto type = document ? document->root().find("type") : std::nullopt;
    if (type && type->is_string() && type->string() != "message") return {};
    const auto name = document ? document->root().find("name") : std::nullopt;
    return name && name->is_string() ? std::string(name->string()) : std::string();
}

// Not said by anybody: names of things, and what is sealed or encoded.
bool is_said(std::string_view key, std::string_view text) {
    constexpr std::string_view silent[] = {"type",
                                           "status",
                                           "role",
                                           "encrypted_content",
                                           "encrypted_index",
                                           "signature",
                                           "format",
                                           "media_type",
                                           "detail",
                                           "caller"};
    constexpr std::size_t unbroken_max = 400;  // More without a blank is no text.
    if (key == "id" || key.ends_with("_id") || std::ranges::find(silent, key) != std::end(silent))
        return false;
    return text.size() <= unbroken_max || text.find_first_of(" \n") < unbroken_max;
}

// Every text in a value, in order.
void add_texts(std::string& out, std::string_view key, JsonValue value) {
    if (value.is_string()) {
        if (is_said(key, value.string())) out.append(value.string()) += '\n';
    } else if (value.is_array()) {
        for (const JsonValue element : value.elements()) add_texts(out, key, element);
    } else if (value.is_object()) {
        for (const auto& [name, member] : value.members()) add_texts(out, name, member);
    }
}

// What a provider's own tool was asked and answered, or a block of a kind that is not known.
void add_opaque(SearchText& out, std::string_view json) {
    const auto document = parse_json(json);
    if (!document) return;
    const JsonValue root = document->root();
    const auto type = root.find("type");
    if (type && type->string() == "image_generation_call") return;
    add_texts(out.text, {}, root);
    const auto text_at = [&](std::string_view key) {
        const auto value = root.find(key);
        return value && value->is_string() ? std::string(value->string()) : std::string();
    };
    const std::string name = text_at("name");
    const std::string answered = text_at("tool_use_id");
    if (!name.empty() || !answered.empty())
        out.tools.push_back({answered.empty() ? text_at("id") : answered, name});
}

// Documents and found pages inside of a result, whose own text leaves them out.
void add_blocks(SearchText& out, std::string_view content) {
    if (!content.starts_with('[')) return;
    const auto document = parse_json(content);
    if (!document) return;
    for (const JsonValue block : document->root().elements()) {
        const auto type = block.find("type");
        if (type && (type->string() == "document" || type->string() == "search_result"))
            add_texts(out.text, {}, block);
    }
}

// Fields of Chat Completions beside the content: what was spoken, and calls of the old kind.
void add_fields(SearchText& out, std::string_view raw) {
    if (!raw.contains("\"transcript\"") && !raw.contains("\"function_call\":{")) return;
    const auto document = parse_json(raw);
    if (!document || !document->root().is_object()) return;
    if (const auto audio = document->root().find("audio"); audio && audio->is_object())
        if (const auto said = audio->find("transcript")) add_texts(out.text, "transcript", *said);
    if (const auto call = document->root().find("function_call"); call && call->is_object())
        add_texts(out.text, {}, *call);
}

void add_part(SearchText& out, const Part& part, const CallIds& lookups) {
    if (const auto* text = std::get_if<Text>(&part)) {
        out.text += text->text;
    } else if (const auto* call = std::get_if<ToolCall>(&part)) {
        if (is_lookup_tool(call->name)) out.lookups.emplace_back(call->id);
        if (is_lookup_call(call->name, call->arguments)) return;
        out.text += call->name;
        out.text += ' ';
        out.text += call->arguments;
        out.tools.push_back({std::string(call->id), std::string(call->name)});
    } else if (const auto* result = std::get_if<ToolResult>(&part)) {
        if (is_quotation(result->text)) return;  // Its words are found where they were said.
        if (lookups.contains(result->id) && is_lookup_note(result->text)) return;
        out.text += result->text;
        out.tools.push_back({std::string(result->id), {}});
        out.text += '\n';
        add_blocks(out, result->content);
        return;
    } else if (const auto* media = std::get_if<Media>(&part)) {
        if (media->kind == Media::Kind::document) add_opaque(out, media->json);
        return;
    } else if (const auto* opaque = std::get_if<Opaque>(&part)) {
        return add_opaque(out, opaque->json);
    } else {
        return;
    }
    out.text += '\n';
}

}  // namespace

SearchText search_text(const Message& message, const CallIds& lookups) {
    SearchText out;
    if (!message.raw) return out;
    const auto parts = read_parts(message);
    if (!parts) return out;
    if (const std::string speaker = speaker_of(message); !speaker.empty())
        out.text = speaker + ": ";
    for (const Part& part : parts->parts) add_part(out, part, lookups);
    add_fields(out, view_of(message.raw));
    if (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
    return out;
}

}  // namespace palimpsest
