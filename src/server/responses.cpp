// responses: POST /v1/responses. What a request says, and how the answer comes back; where it goes
// is for response_begin.h.
#include "base/clock.h"
#include "base/ids.h"
#include "core/policy.h"
#include "engine/compact_document.h"
#include "engine/model_table.h"
#include "format/json_edit.h"
#include "model/request_body.h"
#include "palimpsest/format.h"
#include "server/asked_model.h"
#include "server/client_turn.h"
#include "server/gateway.h"
#include "server/left_out.h"
#include "server/openai_input.h"
#include "server/openai_items.h"
#include "server/openai_routes.h"
#include "server/request_messages.h"
#include "server/resent_steps.h"
#include "server/respond.h"
#include "server/response_begin.h"
#include "server/response_turn.h"
#include "server/rest.h"
#include "server/retry_key.h"
#include "server/sayable.h"
#include "server/stored_response.h"

namespace palimpsest {
namespace {

constexpr std::size_t labels_max = 16;
constexpr Duration join_patience = std::chrono::minutes(10);

std::string raw_of(const Call& call, std::string_view name) {
    const std::optional<JsonValue> value = call.field(name);
    return value ? std::string(value->raw()) : std::string();
}

bool is_true(const Call& call, std::string_view name) {
    const std::optional<JsonValue> value = call.field(name);
    return value && value->boolean() == true;
}

std::unexpected<Error> refuse(std::string message, std::string param) {
    return fail(ErrorCode::invalid_request, std::move(message), std::move(param));
}

// ---- reading the request ------------------------------------------------------------------------

// What is ours to honour is not passed on; that nothing is to be stored holds for all.
std::string model_parameters(const Call& call) {
    const std::optional<JsonValue> store = call.field("store");
    const std::string_view kept = store && store->boolean() == false ? "" : "store";
    return fields_without(call.json->root(),
                          {"model", "input", "instructions", "tools", "stream", "stream_options",
                           "background", "context_management", "truncation", "metadata",
                           "conversation", "previous_response_id", kept});
}

// Tools that only a provider can run need a model that speaks its format.
Result<void> check_tools(const Call& call, const Model& model) {
    const std::optional<JsonValue> tools = call.field("tools");
    if (!tools || model.format() == item_format) return {};
    std::size_t index = 0;
    for (const JsonValue tool : tools->elements()) {
        const auto type = tool.find("type");
        const std::string_view name = type ? type->string() : std::string_view();
        if (name != "function" && name != "custom")
            return refuse("the model " + std::string(model.name()) + " has no tool of the type '" +
                              std::string(name) + "'; it takes functions and custom tools",
                          "tools[" + std::to_string(index) + "]");
        ++index;
    }
    return {};
}

Result<void> check_metadata(const Call& call) {
    const std::optional<JsonValue> metadata = call.field("metadata");
    if (!metadata) return {};
    if (!metadata->is_object() || metadata->size() > labels_max)
        return refuse("metadata is an object of at most " + std::to_string(labels_max) + " texts",
                      "metadata");
    for (const JsonMember label : metadata->members())
        if (!label.value.is_string())
            return refuse("the values of metadata are texts", "metadata." + std::string(label.key));
    return {};
}

Result<void> check_request(const Call& call) {
    PAL_CHECK(check_metadata(call));
    if (is_named_by_header(call)) PAL_CHECK(conversation_of(call));
    const bool named = call.field("conversation") || is_named_by_header(call);
    if (named && call.field("previous_response_id"))
        return refuse(
            "give 'previous_response_id' or 'conversation' (or the header X-Conversation-Id), not "
            "both",
            "previous_response_id");
    const std::optional<JsonValue> store = call.field("store");
    if (is_true(call, "background") && store && store->boolean() == false)
        return refuse("a response in the background must be stored", "background");
    if (call.field("conversation") && named_conversation(call).empty())
        return refuse("name the conversation by its id, or as an object with its id",
                      "conversation");
    const std::optional<JsonValue> input = call.field("input");
    const bool silent = !input || (input->is_array() && input->size() == 0);
    if (silent && !call.field("previous_response_id") && !named)
        return refuse("say something: a text or a list of items", "input");
    return {};
}

std::int64_t now_seconds() {
    return std::chrono::floor<std::chrono::seconds>(system_now()).time_since_epoch().count();
}

Result<ResponseTurn> read_turn(Call& call) {
    PAL_CHECK(check_request(call));
    PAL_TRY(model, choose_model(call, call.text("model").value_or("")));
    PAL_CHECK(check_tools(call, *model));
    ResponseTurn turn{.site = call.site, .model = model, .trace = call.trace};
    turn.tools = raw_of(call, "tools");
    turn.parameters = model_parameters(call);
    turn.headers = provider_headers(call, *model, item_format);
    PAL_TRY(unsaid, left_out(call, *model, turn.parameters));
    turn.warnings = std::move(unsaid);
    const std::optional<JsonValue> store = call.field("store");
    const bool forbids = store && store->boolean() == false;
    turn.stored = !forbids || !named_conversation(call).empty();
    ResponseState& state = turn.state;
    state.model = call.text("model").value_or(std::string(model->name()));
    state.created = now_seconds();
    state.fields = echo_fields(call.json->root());
    // What is a turn of the named conversation is kept there, and nothing else is said of it.
    if (forbids && turn.stored) {
        PAL_TRY(fields, parse_json(state.fields));
        state.fields = with_member(fields.root(), "store", "true");
        turn.warnings.emplace_back(
            "store: false is told to the model's server alone; what is said in a conversation that "
            "the request names is kept there");
    }
    state.instructions = raw_of(call, "instructions");
    if (!turn.tools.empty()) state.tools = turn.tools;
    return turn;
}

// The items of the input, of which the model can be told something.
Result<std::string> sayable_items(Call& call, JsonValue input, const Model& model) {
    PAL_TRY(items, read_input_items(call.site, input));
    PAL_TRY(read, parse_json(items));
    const auto before = [&] { return said_before(call); };
    const auto sayable = check_sayable(read.root(), item_format, model, before, "input");
    if (!sayable) return std::unexpected(blame_input(sayable.error(), call));
    return items;
}

// ---- one that leaves nothing --------------------------------------------------------------------

// What is said, and what takes room beside it.
std::string document_of(const Call& call, const ResponseTurn& turn) {
    std::string body;
    JsonWriter out(body);
    out.begin_object();
    if (!turn.tools.empty()) out.key("tools").raw(turn.tools);
    if (const std::string limit = raw_of(call, "max_output_tokens"); !limit.empty())
        out.key("max_output_tokens").raw(limit);
    out.key("input").raw(write_list(turn.messages)).end_object();
    return body;
}

// Compaction and truncation as the request asks for them, as for one that is stored. Where nobody
// knows the window, a server of this format is left to truncate by its own.
Result<void> compact_unstored(const Call& call, const std::string& policy, ResponseTurn& turn) {
    const ModelTable models(call.site.memory.shared_options().models, {});
    std::string model(turn.model->name());
    ModelMatch match = models.match(model);
    if (!match.known) {
        model = turn.model->server_name();
        match = models.match(model);
    }
    const std::string truncation = raw_of(call, "truncation");
    const bool passes = !match.known && turn.model->format() == item_format;
    const bool has_window = match.known || (!truncation.empty() && !passes);
    if (passes && !truncation.empty()) {
        PAL_TRY(parameters, parse_json(turn.parameters));
        turn.parameters = with_member(parameters.root(), "truncation", truncation);
    }
    const std::string document = document_of(call, turn);
    PAL_TRY(compacted,
            compact_document(document, {.format = item_format,
                                        .policy = policy,
                                        .window = has_window ? match.spec->window_tokens : 0,
                                        .model = model,
                                        .models = &models,
                                        .comes_again = true}));
    PAL_TRY(kept, read_messages(item_format, make_bytes(compacted.json)));
    turn.messages = std::move(kept);
    return {};
}

Result<void> begin_unstored(Call& call, ResponseTurn& turn) {
    // Not the id of a position, so that it is never found.
    turn.state.id = std::string(response_prefix) + hex(random_log_id()) + "0";
    turn.stop = call.out->stop();
    if (const auto input = call.field("input")) PAL_CHECK(sayable_items(call, *input, *turn.model));
    PAL_TRY(messages, request_messages(call));
    turn.messages = std::move(messages);
    PAL_TRY(policy, policy_of_request(call.json->root().raw(), item_format));
    return policy.empty() ? Result<void>() : compact_unstored(call, policy, turn);
}

// ---- answering ----------------------------------------------------------------------------------

RouteReply state_reply(const ResponseState& state, const std::vector<std::string>& warnings) {
    RouteReply reply{.body = write_response(state), .warnings = warnings};
    if (!state.conversation.empty())
        reply.headers.emplace_back(conversation_header, state.conversation);
    return reply;
}

// A stored response outlives its client, not the time for its request nor the server.
auto halting(const Call& call, const ResponseTurn& turn) {
    auto stop = [live = turn.live] {
        if (live) live->stop();
    };
    return std::stop_callback(call.out->halt(), std::move(stop));
}

std::optional<Error> failure_of(const auto& result) {
    return result ? std::nullopt : std::optional(result.error());
}

Result<RouteReply> answer_whole(const Call& call, ResponseTurn& turn) {
    const auto halted = halting(call, turn);
    const auto stop = run_response(turn, {});
    if (turn.live) turn.site.responses->close(turn.live, failure_of(stop));
    if (!stop) return std::unexpected(stop.error());
    turn.warnings.insert(turn.warnings.end(), turn.remarks.begin(), turn.remarks.end());
    return state_reply(turn.state, turn.warnings);
}

// Events go out behind a head that says what is told beside them.
SendBytes sending(Call& call, const ResponseTurn& turn) {
    return
        [&call, warnings = turn.warnings, name = turn.state.conversation](std::string_view bytes) {
            if (!call.out->started()) {
                HttpResponse head = event_stream();
                if (!warnings.empty()) head.headers.set("x-warnings", joined_warnings(warnings));
                if (!name.empty()) head.headers.set(conversation_header, name);
                call.out->start(std::move(head));
            }
            return call.out->write(bytes);
        };
}

Result<RouteReply> stream_whole(Call& call, ResponseTurn& turn) {
    const auto halted = halting(call, turn);
    const Model& model = *turn.model;
    const std::vector<Message> messages = sent_messages(turn);
    const ModelRequest request{.messages = messages,
                               .tools = turn.tools,
                               .parameters = turn.parameters,
                               .fields_format = item_format};
    for (std::string& one : repairs_of(model.format(), model.server_name(), request))
        turn.warnings.push_back(std::move(one));
    const auto told = stream_response(turn, sending(call, turn));
    if (turn.live) call.site.responses->close(turn.live, failure_of(told));
    if (!told) return std::unexpected(told.error());
    return RouteReply{};
}

// An attempt that failed before it said anything fails for those who joined it, too.
Result<RouteReply> follow(Call& call, const ResponseTurn& turn) {
    const auto live = call.site.responses->find(turn.state.id);
    follow_response(call.site, turn.state.id, -1, sending(call, turn), call.out->stop());
    const std::optional<Error> failure = live ? live->failure() : std::nullopt;
    if (failure && !call.out->started()) return std::unexpected(*failure);
    return RouteReply{};
}

// It is there already, or being made: this request is a repeat.
Result<RouteReply> answer_again(Call& call, const ResponseTurn& turn) {
    const std::string& id = turn.state.id;
    if (is_true(call, "stream")) return follow(call, turn);
    const auto live = call.site.responses->find(id);
    if (!is_true(call, "background"))
        await_response(call.site, id, join_patience, call.out->stop());
    if (const auto failure = live ? live->failure() : std::nullopt)
        return std::unexpected(*failure);
    PAL_TRY(response, load_response(call.site, id));
    if (response.state.error) return std::unexpected(*response.state.error);
    RouteReply reply = state_reply(response.state, turn.warnings);
    reply.again = true;
    return reply;
}

Result<RouteReply> start_background(Call& call, const std::shared_ptr<ResponseTurn>& turn) {
    Site& site = call.site;
    turn->state.status = "queued";
    RouteReply reply = state_reply(turn->state, turn->warnings);
    const auto started = site.responses->run([&site, turn] {
        turn->state.status = "in_progress";
        (void)stream_response(*turn, {});
        site.responses->close(turn->live);
    });
    if (!started) {
        site.responses->close(turn->live);
        return std::unexpected(started.error());
    }
    if (is_true(call, "stream")) return follow(call, *turn);
    return reply;
}

// Where another server is known to live and to go on with it: whoever does not wait for the whole
// answer is told what there is of it.
enum class Elsewhere : std::uint8_t { nobody, goes_on, ended };

// One whose server died is made here, from its beginning: that server has ended it, too.
// Who polls for one in the background is told of it at once.
Result<Elsewhere> look_elsewhere(Call& call, const std::string& id, bool whole) {
    ResponseLog& log = *call.site.responses;
    if (log.find(id)) return Elsewhere::nobody;
    PAL_TRY(running, log.is_running(id));
    if (!running) return Elsewhere::nobody;
    if (whole) {
        await_response(call.site, id, join_patience, call.out->stop());
        return Elsewhere::ended;
    }
    using Hurry = ResponseLog::Hurry;
    const Hurry hurry = is_true(call, "stream") ? Hurry::none : Hurry::trusts_fresh;
    PAL_TRY(lives, log.await_sign(id, hurry, call.out->stop()));
    return lives ? Elsewhere::goes_on : Elsewhere::ended;
}

// Whether this request makes it; else it is there already, or somebody makes it. Only a repeat can
// be under way elsewhere; of several that find nobody, the one that is announced first makes it,
// and the others look again.
Result<bool> take_on(Call& call, const ResponseInput& said, ResponseTurn& turn) {
    const std::string& id = turn.state.id;
    const bool background = is_true(call, "background"), stream = is_true(call, "stream");
    ResponseLog& log = *call.site.responses;
    for (bool again = false;; again = true) {
        auto elsewhere = Elsewhere::nobody;
        if (again || !call.key.empty()) {
            PAL_TRY(found, look_elsewhere(call, id, !background && !stream));
            elsewhere = found;
        }
        if (elsewhere == Elsewhere::goes_on) return false;
        if (again || elsewhere == Elsewhere::ended) {
            PAL_TRY(begun, begin_response(call, said, turn));
            turn.begun = std::move(begun);
        }
        if (turn.begun.already) return false;
        turn.live = log.open(id, {background || stream, background, turn.begun.view.header.epoch});
        if (turn.live) return true;
        if (log.find(id) || said.key.empty()) return false;
    }
}

// Whether the items may begin with what a step of a tool loop said before, see docs/GATEWAY.md.
bool may_resend(const Call& call) {
    const auto input = call.field("input");
    return call.field("conversation") && call.key.empty() && !counts_attempts(call.request) &&
           !is_named_by_header(call) && input && input->raw().contains("function_call_output");
}

// Words for the conversation that the request names, by a client that gives no key and does not say
// that it is the first to say them, may be a repeat all the same, as on the other routes: the
// attempt before it is waited for, and its key taken, while its client has not had the answer.
Result<RunningTurns::Seat> seat_words(const Call& call, bool keyed, ResponseInput& said) {
    const std::string id = named_conversation(call);
    const bool first = counts_attempts(call.request) && !says_repeat(call.request);
    if (id.empty() || keyed || first || may_resend(call)) return RunningTurns::Seat();
    const ConversationId name{call.site.tenant, id};
    said.digest = digest_of_body(call);
    PAL_TRY(entered, take_seat(call, name, said.digest));
    if (entered.repeats || says_repeat(call.request)) {
        PAL_TRY(known, find_turn_key(call.site.memory, name, said.digest, entered.repeats));
        if (!known.empty()) said.key = std::move(known);
    }
    if (said.key.empty()) said.key = new_turn_key();
    if (counts_attempts(call.request)) return RunningTurns::Seat();
    return std::move(entered.seat);
}

// What of the items is new to the conversation. A repeat of a request is told by its key, and must
// say what the request said.
Result<std::string> without_resent(Call& call, std::string items) {
    if (!may_resend(call)) return items;
    const auto view = call.site.memory.view({call.site.tenant, named_conversation(call)});
    if (!view) return items;  // Who begins the turn says why.
    PAL_TRY(said, read_messages(item_format, make_bytes(items)));
    const std::size_t count = count_resent(view->items, said);
    return count == 0 ? items : write_list(std::span<const Message>(said).subspan(count));
}

Result<RouteReply> answer_said(Call& call, ResponseInput said, ResponseTurn turn) {
    if (const std::optional<JsonValue> input = call.field("input")) {
        PAL_TRY(items, sayable_items(call, *input, *turn.model));
        PAL_TRY(fresh, without_resent(call, std::move(items)));
        PAL_CHECK(said.take(fresh));
    }
    PAL_TRY(policy, policy_of_request(call.json->root().raw(), item_format));
    said.policy = std::move(policy);
    auto first = begin_response(call, said, turn);
    if (!first) return std::unexpected(blame_input(std::move(first).error(), call));
    const Begun& begun = turn.begun = *std::move(first);
    turn.state.id = position_id(response_prefix, begun.log, begun.turn);
    turn.state.conversation = begun.name.id;
    turn.warnings.insert(turn.warnings.end(), begun.warnings.begin(), begun.warnings.end());
    const bool background = is_true(call, "background"), stream = is_true(call, "stream");
    PAL_TRY(makes, take_on(call, said, turn));
    if (!makes) return answer_again(call, turn);
    if (!background && !stream) return answer_whole(call, turn);
    if (!background) return stream_whole(call, turn);
    return start_background(call, std::make_shared<ResponseTurn>(std::move(turn)));
}

Result<RouteReply> answer_stored(Call& call, ResponseTurn turn) {
    const bool keyed = !call.key.empty();
    const bool goes_on = !named_conversation(call).empty() || call.field("previous_response_id");
    PAL_CHECK(find_retry_key(call, goes_on ? RetryOf::conversation : RetryOf::creation));
    ResponseInput said{.key = route_key(call), .keyed = keyed, .resent = is_named_by_header(call)};
    PAL_TRY(seat, seat_words(call, keyed, said));
    auto reply = answer_said(call, std::move(said), std::move(turn));
    if (call.out->stop().stop_requested()) seat.mark_undelivered();
    return reply;
}

}  // namespace

Result<RouteReply> create_response(Call& call) {
    PAL_TRY(turn, read_turn(call));
    if (turn.stored) return answer_stored(call, std::move(turn));
    PAL_CHECK(begin_unstored(call, turn));
    return is_true(call, "stream") ? stream_whole(call, turn) : answer_whole(call, turn);
}

}  // namespace palimpsest
