#include "search/message_text.h"

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
    if (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
    return out;
}

}  // namespace palimpsest
