// models_route: which models there are, and embeddings by those that have them.
#include "base/json_write.h"
#include "model/dialects.h"
#include "server/asked_model.h"
#include "server/client_turn.h"
#include "server/gateway_routes.h"
#include "server/paging.h"

namespace palimpsest {
namespace {

// OpenAI's clients ask for one page.
constexpr std::size_t models_at_once = 1000;

// OpenAI's fields and Anthropic's in one: either client finds its own.
void write_model(JsonWriter& out, const Model& model) {
    out.begin_object().field("id", model.name()).field("object", "model");
    out.key("created").number(0).field("owned_by", "palimpsest");
    out.field("type", "model").field("display_name", model.name());
    out.field("created_at", "1970-01-01T00:00:00Z").end_object();
}

}  // namespace

Result<RouteReply> list_models(Call& call) {
    auto models = call.site.models.all();
    std::erase_if(models, [&](const auto& model) { return !call.caller.may_ask(model->name()); });
    const auto name = [](const auto& model) { return model->name(); };
    PAL_TRY(page, find_page(call.query, models.size(), place_by_id(models, name),
                            {.limit = models_at_once, .after = "after_id", .before = "before_id"}));
    return write_rows(
        page, "list", [&](std::size_t i) { return name(models[i]); },
        [&](JsonWriter& out, std::size_t i) { write_model(out, *models[i]); });
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
