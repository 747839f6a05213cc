#include "server/request_messages.h"

#include "base/json_write.h"
#include "palimpsest/format.h"
#include "server/client_turn.h"
#include "server/openai_input.h"
#include "server/openai_items.h"
#include "server/stored_response.h"

namespace palimpsest {
namespace {

std::string system_item(std::string_view text) {
    return R"({"type":"message","role":"system","content":)" + json_string(text) + "}";
}

}  // namespace

Result<std::vector<Message>> said_before(Call& call) {
    ViewOptions options;
    ConversationId name{call.site.tenant, named_conversation(call)};
    if (const auto previous = call.text("previous_response_id")) {
        PAL_TRY(response, load_response(call.site, *previous));
        name = response.header.name;
        options.at = response.end;
    }
    std::vector<Message> messages;
    if (name.id.empty()) return messages;
    PAL_TRY(view, call.site.memory.view(name, options));
    for (const Item& item : view.items) messages.push_back(item.message);
    return messages;
}

bool is_named_by_header(const Call& call) {
    return call.route.named_by_header && call.request.headers.find(conversation_header).has_value();
}

std::string named_conversation(const Call& call) {
    const std::optional<JsonValue> value = call.field("conversation");
    if (!value && is_named_by_header(call))
        return std::string(call.request.header(conversation_header));
    if (!value) return {};
    if (value->is_string()) return std::string(value->string());
    const auto id = value->find("id");
    return id ? std::string(id->string()) : std::string();
}

std::string with_instructions(const Call& call, const std::string& items) {
    const std::optional<std::string> instructions = call.text("instructions");
    if (!instructions || instructions->empty()) return items;
    const std::string first = system_item(*instructions);
    return items == "[]" ? "[" + first + "]" : "[" + first + "," + items.substr(1);
}

Error blame_input(Error error, const Call& call) {
    const auto input = call.field("input");
    return input ? blame_items(std::move(error), "input", *input) : error;
}

Result<std::vector<Message>> request_messages(Call& call) {
    std::string items = "[]";
    if (const std::optional<JsonValue> input = call.field("input")) {
        PAL_TRY(read, read_input_items(call.site, *input));
        items = std::move(read);
    }
    auto read = read_messages(item_format, make_bytes(with_instructions(call, items)));
    if (!read) return std::unexpected(blame_input(std::move(read).error(), call));
    std::vector<Message> said = *std::move(read);
    PAL_TRY(before, said_before(call));
    const bool instructed = !call.text("instructions").value_or("").empty();
    said.insert(said.begin() + (instructed ? 1 : 0), before.begin(), before.end());
    if (said.empty()) return said;
    PAL_TRY(rendered, render(item_format, said, {.open_end = true, .continued = true}));
    return std::move(rendered.messages);
}

}  // namespace palimpsest
