// Lists of messages in our own formats: bare, in a request body, or a page of the Responses API.
//
// A body's system prompt goes to the header and comes back in a body; the other fields of a request
// are no part of a conversation and are reported.
#include <algorithm>

#include "base/json_write.h"
#include "engine/foreign_parts.h"
#include "format/format_table.h"

namespace palimpsest {
namespace {

// A string, or a list of text blocks.
std::string read_prompt(JsonValue prompt, Losses& losses) {
    if (!prompt.is_array()) return std::string(prompt.string());
    std::string text;
    for (const JsonValue block : prompt.elements()) {
        text += (text.empty() ? "" : "\n\n") + std::string(text_of(block, "text"));
        losses.add_others(block, "a block of the system prompt", {"type", "text"});
    }
    if (prompt.size() > 1) losses.add("how the system prompt is divided into blocks");
    return text;
}

bool is_page(JsonValue root) {
    const auto items = root.find("data");
    return text_of(root, "object") == "list" && items && items->is_array();
}

// What a body says beside its list.
void read_body(ForeignConversation& found, JsonValue root, std::string_view prompt_field) {
    Losses losses;
    std::string_view list = "data";
    if (is_page(root)) {
        if (const auto more = root.find("has_more"); more && more->boolean().value_or(false))
            losses.add("the pages after this one (has_more)");
    } else {
        const auto body = find_body_list(format_of(found.format), root);
        if (!body) return;
        list = body->field;
    }
    if (const auto prompt = value_of(root, prompt_field))
        found.system_prompt = read_prompt(*prompt, losses);
    losses.add_others(root, "the request",
                      {list, prompt_field, "object", "first_id", "last_id", "has_more"});
    losses.report_to(found.lost);
}

Result<ForeignConversation> read_list(FormatId format, std::string_view text,
                                      std::string_view prompt_field) {
    ForeignConversation found{.format = format};
    PAL_TRY(document, parse_json(text));
    const JsonValue root = document.root();
    const bool page = is_page(root);
    PAL_TRY(messages,
            read_messages(format, make_bytes(std::string(page ? root.find("data")->raw() : text))));
    for (const Message& message : messages)
        found.messages.push_back({.json = std::string(view_of(message.raw))});
    if (root.is_object()) read_body(found, root, prompt_field);
    return found;
}

// `prompt` beside the list, where there is one; otherwise the list alone.
ForeignText write_list_with(const ExportList& list, std::string_view list_field,
                            std::string_view prompt_field, std::string_view prompt) {
    ForeignText done{.lost = list.lost};
    std::vector<Message> messages;
    for (const ExportMessage& entry : list.messages) messages.push_back(entry.message);
    if (prompt.empty()) {
        done.text = write_list(messages) + "\n";
        return done;
    }
    JsonWriter out(done.text);
    out.begin_object().field(prompt_field, prompt).key(list_field).raw(write_list(messages));
    out.end_object();
    return done;
}

}  // namespace

Result<ForeignConversation> read_chat_messages(std::string_view text) {
    return read_list(FormatId::openai_chat, text, "");
}
Result<ForeignConversation> read_responses_items(std::string_view text) {
    return read_list(FormatId::openai_responses, text, "instructions");
}
Result<ForeignConversation> read_anthropic_messages(std::string_view text) {
    return read_list(FormatId::anthropic, text, "system");
}

Result<ForeignText> write_chat_messages(const ForeignSource& source) {
    PAL_TRY(list, export_list(FormatId::openai_chat, source, PromptPlace::in_list));
    return write_list_with(list, "messages", "", "");
}
Result<ForeignText> write_responses_items(const ForeignSource& source) {
    PAL_TRY(list, export_list(FormatId::openai_responses, source, PromptPlace::apart));
    return write_list_with(list, "input", "instructions", source.header.system_prompt);
}
Result<ForeignText> write_anthropic_messages(const ForeignSource& source) {
    PAL_TRY(list, export_list(FormatId::anthropic, source, PromptPlace::in_list));
    return write_list_with(list, "messages", "system", list.system);
}

}  // namespace palimpsest
