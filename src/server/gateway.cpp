#include "server/gateway.h"

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/json_write.h"
#include "server/asked_model.h"
#include "server/keeper.h"
#include "server/request_trace.h"
#include "server/retry_key.h"
#include "server/turn_hold.h"
#include "server/turn_log.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr std::size_t notes_looked_at = 16;  // the newest calls, with their usage and texts
// Longer than the clients' own time-out, after which they repeat. What is older was said again.
constexpr Duration repeated_within = std::chrono::minutes(15);

ReplyUsage reply_usage(const Usage& usage) {
    return {.input_tokens = usage.input,
            .output_tokens = usage.output,
            .cached_tokens = usage.cached,
            .cache_write_tokens = usage.cache_writes,
            .reasoning_tokens = usage.reasoning};
}

BeginRequest request_of(const TurnAsk& ask, const Call& call, std::string key) {
    return {.messages = ask.messages,
            .format = ask.format,
            .model = std::string(ask.model->name()),
            .tools = ask.tools,
            .parameters = ask.parameters,
            .policy = ask.policy,
            .write = {.key = std::move(key), .expected_end = call.if_match},
            .header = ask.header,
            .continues = ask.continues,
            .resend = ask.resend,
            .digest = ask.digest,
            .ahead = true};
}

Result<Begun> begin_keyed(Memory& memory, const TurnAsk& ask, const Call& call, bool lately) {
    std::string key = route_key(call);
    if (key.empty() && (lately || says_repeat(call.request)) && !ask.digest.empty()) {
        PAL_TRY(known, find_turn_key(memory, ask.name, ask.digest, lately));
        key = std::move(known);
    }
    const bool found = !key.empty();
    const KeyedTurn keyed[] = {{ask.name, key}};
    PAL_CHECK(check_paid(call, keyed));
    PAL_TRY(begun, begin_for(call, ask.name, request_of(ask, call, found ? key : new_turn_key())));
    if (!begun.already_interrupted || !ask.resend) return std::move(begun);
    // What was told of it is not what the client has: it is taken back and made anew.
    PAL_CHECK(check_paid(call, {}));
    return begin_for(call, ask.name, request_of(ask, call, new_turn_key()));
}

}  // namespace

Result<RunningTurns::Entered> take_seat(const Call& call, const ConversationId& name,
                                        std::string_view digest) {
    auto entered = call.site.running->enter(
        name.tenant + "\n" + name.id + "\n" + std::string(digest), call.out->stop());
    if (!entered.seat.held())
        return fail(ErrorCode::unavailable, "the client has gone while an earlier attempt ran");
    return entered;
}

std::string new_turn_key() {
    return "turn-" + hex(random_log_id());
}

Result<std::string> find_turn_key(Memory& memory, const ConversationId& name,
                                  std::string_view digest, bool lately) {
    const auto entries = memory.log(
        name, {.kinds = only(EntryKind::note), .limit = notes_looked_at, .newest_first = true});
    if (!entries && entries.error().code == ErrorCode::not_found) return std::string();
    if (!entries) return std::unexpected(entries.error());
    const Time now = system_now();
    std::vector<std::int64_t> answered;  // calls whose answer has long been there
    for (const Entry& entry : *entries) {
        if (entry.at < now - repeated_within) break;
        const auto& note = std::get<NoteEntry>(entry.body);
        const auto body = parse_json(view_of(note.body));
        if (!body) continue;
        const auto of_call = body->root().find("call");
        if (note.kind == "usage" && of_call && !lately && entry.at < now - lost_within)
            answered.push_back(of_call->integer().value_or(0));
        const auto known = body->root().find("digest"), key = body->root().find("key");
        if (note.kind != "call" || !known || !key || known->string() != digest) continue;
        const auto seq = static_cast<std::int64_t>(entry.seq.value);
        const bool told = std::ranges::find(answered, seq) != answered.end();
        return told ? std::string() : std::string(key->string());
    }
    return std::string();
}

Result<GatewayTurn> GatewayTurn::begin(const Call& call, TurnAsk ask) {
    GatewayTurn turn(call, std::move(ask));
    turn.client_ = call.out->stop();
    bool lately = false;
    if (!turn.ask_.digest.empty()) {
        PAL_TRY(entered, take_seat(call, turn.ask_.name, turn.ask_.digest));
        turn.seat_ = std::move(entered.seat);
        lately = entered.repeats;
    }
    const bool repeats = lately || (says_repeat(call.request) && !turn.ask_.digest.empty());
    PAL_TRY(begun, begin_keyed(*turn.memory_, turn.ask_, call, lately));
    turn.begun_ = std::move(begun);
    if (turn.finished()) return turn;
    Store& store = turn.memory_->store();
    if (repeats || !call.key.empty()) {
        PAL_CHECK(turn.begun_.stored());
        PAL_TRY(met, await_elsewhere(store, turn.begun_, call.out->stop()));
        if (met) {
            PAL_TRY(ended, begin_keyed(*turn.memory_, turn.ask_, call, true));
            turn.begun_ = std::move(ended);
        }
    }
    if (!turn.finished()) turn.beacon_ = TurnBeacon(*call.site.keeper, store, turn.begun_);
    return turn;
}

Result<Reply> GatewayTurn::call_model(const TurnEars& ears, bool& told) {
    const std::vector<Message> messages = begun_.request();
    const std::string cache_key = begun_.cache_key();
    ModelRequest request{.messages = messages,
                         .tools = ask_.tools,
                         .parameters = ask_.parameters,
                         .fields_format = ask_.format,
                         .stop = ears.stop,
                         .cache_key = cache_key,
                         .behind_edit = begun_.behind_edit(),
                         .headers = ask_.headers};
    const auto may_tell = [&] { return told = told || begun_.stored(); };
    if (ears.on_bytes)
        request.on_bytes = [&](std::string_view bytes) {
            return may_tell() && ears.on_bytes(bytes);
        };
    OnPiece on_piece;
    if (ears.on_piece)
        on_piece = [&](const StreamDelta& delta) { return may_tell() && ears.on_piece(delta); };
    return ask_.model->call(request, on_piece);
}

Result<TurnDone> GatewayTurn::run(const TurnEars& ears) {
    if (finished()) return tell_again(ears);
    TurnHold hold(*memory_, begun_);
    bool told = false;
    auto reply = call_model(ears, told);
    if (!reply && !told && is_context_overflow(reply.error()) && !begun_.policy.empty()) {
        PAL_TRY(smaller, shrink_traced(*trace_, *memory_, begun_));
        begun_ = std::move(smaller);
        reply = call_model(ears, told);
    }
    auto answer =
        reply ? answer_of(*reply, ask_.model->name()) : std::unexpected(std::move(reply).error());
    if (!answer) {
        PAL_CHECK(begun_.stored());
        return std::unexpected(std::move(answer).error());
    }
    PAL_TRY(finished, finish_traced(*trace_, *memory_, begun_, *answer));
    hold.answered();
    beacon_.end();
    if (client_.stop_requested()) seat_.mark_undelivered();
    return TurnDone{.reply = *std::move(reply), .finished = std::move(finished)};
}

Result<TurnDone> GatewayTurn::tell_again(const TurnEars& ears) {
    PAL_TRY(answer, read_answer(*memory_, begun_));
    TurnDone done{.again = true};
    done.reply.messages = begun_.already_earlier;
    done.reply.messages.push_back(*begun_.already);
    done.reply.usage = reply_usage(answer.usage);
    done.reply.interrupted = answer.interrupted;
    const bool calls = std::ranges::any_of(
        done.reply.messages, [](const Message& one) { return !one.shape.calls.empty(); });
    done.reply.stop = calls ? StopReason::tool_calls : StopReason::end;
    done.finished = {.seq = begun_.already_at, .header = begun_.view.header, .again = true};
    done.finished.cost = memory_->cost_of(begun_.model, answer.usage);
    if (!ears.on_piece) return done;
    const auto lost = tell_messages(ask_.format, done.reply.messages,
                                    [&](const StreamDelta& delta) { (void)ears.on_piece(delta); });
    if (!lost) return std::unexpected(lost.error());
    return done;
}

std::string route_key(const Call& call) {
    return call.key.empty() ? std::string() : std::string(call.route.pattern) + " " + call.key;
}

Usage usage_of(const ReplyUsage& usage) {
    return {.input = usage.input_tokens,
            .cached = usage.cached_tokens,
            .cache_writes = usage.cache_write_tokens,
            .output = usage.output_tokens,
            .reasoning = usage.reasoning_tokens};
}

std::string digest_of_body(const Call& call) {
    Hasher hasher;
    hasher.field(call.route.pattern);
    hasher.field(call.request.body);
    const Fingerprint digest = hasher.digest();
    return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

Result<std::string> reply_body(FormatId to, const Model& model, const Reply& reply,
                               StreamIdentity identity, std::vector<std::string>& lost) {
    if (!reply.body.empty() && model.format() == to && !reply.interrupted) return reply.body;
    auto made = reply.body.empty()
                    ? make_reply_body(to, reply, std::move(identity))
                    : convert_reply(model.format(), to, reply.body, std::move(identity));
    if (!made) return std::unexpected(std::move(made).error());
    lost.insert(lost.end(), made->lost.begin(), made->lost.end());
    return std::move(made->body);
}

Result<Answer> answer_of(Reply reply, std::string_view model) {
    if (reply.messages.empty())
        return fail(ErrorCode::upstream_failed,
                    "the model " + std::string(model) + " answered without a message");
    Answer answer{.message = std::move(reply.messages.back()), .interrupted = reply.interrupted};
    reply.messages.pop_back();
    answer.earlier = std::move(reply.messages);
    answer.warnings = std::move(reply.warnings);
    if (reply.usage) answer.usage = usage_of(*reply.usage);
    return answer;
}

std::string fields_without(JsonValue body, std::initializer_list<std::string_view> names) {
    std::string json;
    JsonWriter out(json);
    out.begin_object();
    for (const JsonMember member : body.members())
        if (std::ranges::find(names, member.key) == names.end())
            out.key(member.key).raw(member.value.raw());
    out.end_object();
    return json;
}

}  // namespace palimpsest
