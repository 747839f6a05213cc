// models_route: which models there are, and embeddings by those that have them.
#include "base/json_write.h"
#include "model/dialects.h"
#include "server/asked_model.h"
#include "server/client_turn.h"
#include "server/gateway_routes.h"
#include "server/rest.h"

namespace palimpsest {
namespace {

// OpenAI's fields and Anthropic's in one: either client finds its own.
void write_model(JsonWriter& out, const Model& model) {
    out.begin_object().field("id", model.name()).field("object", "model");
    out.key("created").number(0).field("owned_by", "palimpsest");
    out.field("type", "model").field("display_name", model.name());
    out.field("created_at", "1970-01-01T00:00:00Z").end_object();
}

}  // namespace

Result<RouteReply> list_models(Call& call) {
    ListReply list("list");
    for (const auto& model : call.site.models.all())
        if (call.caller.may_ask(model->name()))
            write_model(list.row(std::string(model->name())), *model);
    return list.end(false);
}

Result<RouteReply> get_model(Call& call) {
    PAL_TRY(model, choose_model(call, call.ids.at(0)));
    RouteReply reply;
    JsonWriter out(reply.body);
    write_model(out, *model);
    return reply;
}

Result<RouteReply> create_embeddings(Call& call) {
    PAL_TRY(model, choose_model(call, call.text("model").value_or("")));
    const std::string_view path = dialect_of(model->format()).embeddings_path;
    if (!path.empty()) {
        PAL_TRY(relayed, relay_client(call, *model, path));
        if (relayed) return *std::move(relayed);
    }
    return fail(ErrorCode::invalid_request,
                "the model " + std::string(model->name()) +
                    " makes no embeddings; name one whose server does",
                "model");
}

}  // namespace palimpsest
