// responses_tokens: how many tokens a request to Responses would take, without asking a model.
#include "base/json_write.h"
#include "palimpsest/format.h"
#include "server/asked_model.h"
#include "server/openai_items.h"
#include "server/openai_routes.h"
#include "server/request_messages.h"

namespace palimpsest {
namespace {

// The request with all that the model would be sent of the conversation.
Result<std::string> whole_request(Call& call, std::string_view model) {
    PAL_TRY(messages, request_messages(call));
    std::string body;
    JsonWriter out(body);
    out.begin_object().field("model", model).key("input").raw(write_list(messages));
    for (const std::string_view name : {"tools", "tool_choice", "text", "reasoning"})
        if (const auto value = call.field(name)) out.key(name).raw(value->raw());
    out.end_object();
    return body;
}

}  // namespace

Result<RouteReply> count_input_tokens(Call& call) {
    const std::string name =
        call.text("model").value_or(std::string(call.site.models.first().name()));
    const Model* const known = call.site.models.find(name);
    PAL_TRY(body, whole_request(call, name));
    PAL_TRY(tokens, count_for_model(call, name, known, item_format, body));
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
