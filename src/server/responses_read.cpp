// responses_read: stored responses, read, followed, cancelled and deleted.
#include "base/json_write.h"
#include "server/kept_words.h"
#include "server/openai_items.h"
#include "server/openai_routes.h"
#include "server/response_turn.h"
#include "server/stored_response.h"

namespace palimpsest {
namespace {

constexpr Duration cancel_patience = std::chrono::seconds(10);
constexpr std::size_t default_limit = 20;

Result<RouteReply> state_reply(const ResponseState& state) {
    return RouteReply{.body = write_response(state)};
}

bool in_background(const ResponseState& state) {
    const auto fields = parse_json(state.fields);
    const auto value = fields ? fields->root().find("background") : std::nullopt;
    return value && value->boolean() == true;
}

// A conversation that was made for its responses goes with the last of them.
Result<void> erase_if_last(Call& call, const StoredResponse& response) {
    if (!response.made) return {};
    PAL_TRY(all, count_responses(call.site.memory, response.header));
    PAL_TRY(gone, call.site.responses->count_deleted(response.header.log));
    if (gone < all) return {};
    PAL_TRY(receipt, erase_all(call.site, response.header.name));
    (void)receipt;
    return {};
}

}  // namespace

Result<RouteReply> get_response(Call& call) {
    const std::string& id = call.ids.at(0);
    PAL_TRY(response, load_response(call.site, id));
    const auto after = call.query.number("starting_after");
    if (!call.query.flag("stream")) {
        if (!after) return state_reply(response.state);
        return fail(ErrorCode::invalid_request,
                    "starting_after is for streams: ask with stream=true", "starting_after");
    }
    follow_response(
        call.site, id, after ? static_cast<std::int64_t>(*after) : -1,
        [&](std::string_view bytes) { return call.out->write(bytes); }, call.out->stop());
    // Nothing may be left behind `starting_after`: then the stream is empty, and is one.
    if (!call.out->started()) call.out->start(event_stream());
    return RouteReply{};
}

Result<RouteReply> delete_response(Call& call) {
    const std::string& id = call.ids.at(0);
    PAL_TRY(response, load_response(call.site, id));
    if (response.state.is_open()) {
        PAL_CHECK(call.site.responses->cancel(id));
        await_response(call.site, id, cancel_patience, call.out->stop());
    }
    PAL_CHECK(call.site.responses->mark_deleted(id));
    PAL_CHECK(erase_if_last(call, response));
    RouteReply reply;
    JsonWriter(reply.body)
        .begin_object()
        .field("id", id)
        .field("object", "response")
        .key("deleted")
        .boolean(true)
        .end_object();
    return reply;
}

Result<RouteReply> cancel_response(Call& call) {
    const std::string& id = call.ids.at(0);
    PAL_TRY(response, load_response(call.site, id));
    if (!in_background(response.state))
        return fail(ErrorCode::invalid_request,
                    "only a response that runs in the background can be cancelled");
    if (!response.state.is_open()) return state_reply(response.state);
    PAL_CHECK(call.site.responses->cancel(id));
    await_response(call.site, id, cancel_patience, call.out->stop());
    PAL_TRY(ended, load_response(call.site, id));
    return state_reply(ended.state);
}

Result<RouteReply> list_input_items(Call& call) {
    PAL_TRY(response, load_response(call.site, call.ids.at(0)));
    PAL_TRY(page, list_items(call.site.memory.store(), response.header,
                             {.upto = response.call,
                              .limit = call.query.number("limit").value_or(default_limit),
                              .newest_first = call.query.text("order") != "asc",
                              .after = std::string(call.query.text("after").value_or("")),
                              .before = std::string(call.query.text("before").value_or(""))}));
    return RouteReply{.body = write_item_list(page)};
}

}  // namespace palimpsest
