// responses_tokens: how many tokens a request to Responses would take, without asking a model.
#include "base/json_write.h"
#include "palimpsest/format.h"
#include "server/asked_model.h"
#include "server/openai_items.h"
#include "server/openai_routes.h"
#include "server/request_messages.h"
#include "token/request.h"

namespace palimpsest {
namespace {

constexpr FormatId counted_format = FormatId::openai_chat;

// The request as one of Chat Completions, for which the counting rules are known.
Result<std::string> as_chat(Call& call, std::string_view model) {
    PAL_TRY(messages, request_messages(call));
    std::string body;
    JsonWriter out(body);
    out.begin_object().field("model", model).key("input").raw(write_list(messages));
    for (const std::string_view name : {"tools", "tool_choice", "text", "reasoning"})
        if (const auto value = call.field(name)) out.key(name).raw(value->raw());
    out.end_object();
    PAL_TRY(chat, convert_json(item_format, counted_format, body));
    return std::move(chat.json);
}

}  // namespace

Result<RouteReply> count_input_tokens(Call& call) {
    const std::string name =
        call.text("model").value_or(std::string(call.site.models.first().name()));
    const Model* const known = call.site.models.find(name);
    PAL_TRY(body, as_chat(call, name));
    PAL_TRY(tokens, count_for_model(call, name, known, body, count_chat_request));
    RouteReply reply;
    JsonWriter(reply.body)
        .begin_object()
        .field("object", "response.input_tokens")
        .key("input_tokens")
        .number(tokens)
        .end_object();
    return reply;
}

}  // namespace palimpsest
