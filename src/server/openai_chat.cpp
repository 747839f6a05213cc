// openai_chat: POST /v1/chat/completions, stateless or stateful, kept or not.
#include "base/clock.h"
#include "base/json_write.h"
#include "core/policy.h"
#include "model/served.h"
#include "net/errand.h"
#include "server/asked_model.h"
#include "server/client_turn.h"
#include "server/gateway_routes.h"
#include "server/stored_completions.h"

namespace palimpsest {
namespace {

constexpr FormatId chat_format = FormatId::openai_chat;

bool is_true(const Call& call, std::string_view name) {
    const auto value = call.field(name);
    return value && value->boolean() == true;
}

bool wants_usage(const Call& call) {
    const auto options = call.field("stream_options");
    const auto usage = options ? options->find("include_usage") : std::nullopt;
    return usage && usage->boolean() == true;
}

// Whoever is on a budget is passed on only what tells what it took: streams do when asked.
bool says_usage(const Call& call) {
    return call.caller.budget.empty() || !wants_stream(call) || wants_usage(call);
}

// Only a server that speaks this format can give several answers to one question.
Result<void> check_choices(const Call& call, const Model& model) {
    if (call.number("n").value_or(1) <= 1) return {};
    const auto asked = call.site.models.choose(model.name());  // as it is, not as it is asked
    if (model.format() == chat_format && asked && has_server(**asked)) return {};
    return fail(ErrorCode::invalid_request,
                "the model " + std::string(model.name()) + " gives one answer at a time", "n");
}

// What is passed on beside messages and tools. What we keep ourselves nobody else is asked to keep;
// what nobody is to keep is said, because a model of another format may keep what nobody forbids.
std::string parameters_of(const Call& call, bool store) {
    const auto told = call.field("store");
    const bool forbids = told && told->boolean() == false;
    return fields_without(call.json->root(),
                          {"model", "messages", "tools", "stream", "stream_options", "conversation",
                           forbids ? "" : "store", store ? "metadata" : ""});
}

std::optional<KeptOf> kept_of(const Begun* begun) {
    if (!begun) return {};
    return KeptOf{begun->log, begun->view.header.epoch, begun->turn};
}

ClientAsk ask_of(Call& call, Model& model, bool store) {
    ClientAsk ask;
    ask.turn = {.model = &model,
                .format = chat_format,
                .messages = raw_field(call, "messages"),
                .tools = raw_field(call, "tools"),
                .parameters = parameters_of(call, store),
                .resend = true,
                .digest = digest_of_body(call)};
    ask.stream = wants_stream(call);
    ask.usage_wanted = wants_usage(call);
    ask.identity = {.id = timed_id("chatcmpl-"),
                    .model = std::string(model.name()),
                    .created = system_now().time_since_epoch().count() / 1000};
    if (!store) return ask;
    ask.own_id = true;
    ask.keep = [&site = call.site, id = ask.identity.id, messages = ask.turn.messages,
                metadata = raw_field(call, "metadata"),
                name = std::string(model.name())](const std::string& body, const Begun* begun) {
        return store_completion(site, id, {body, messages, metadata, name, kept_of(begun)});
    };
    ask.kept = [&site = call.site](const Begun& begun) {
        return completion_of_turn(site, *kept_of(&begun));
    };
    return ask;
}

}  // namespace

Result<RouteReply> create_completion(Call& call) {
    PAL_TRY(model, choose_model(call, call.text("model").value_or("")));
    PAL_TRY(conversation, conversation_of(call));
    const bool store = is_true(call, "store");
    if (!conversation && !store && model->format() == chat_format && says_usage(call)) {
        PAL_TRY(relayed, relay_client(call, *model));
        if (relayed) return *std::move(relayed);
    }
    leave_network();
    PAL_CHECK(check_choices(call, *model));
    ClientAsk ask = ask_of(call, *model, store);
    ask.stateful = conversation.has_value();
    if (conversation) ask.turn.name = *conversation;
    return answer_client(call, std::move(ask));
}

}  // namespace palimpsest
