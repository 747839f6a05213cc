// turns: begin and finish for those who call the model themselves, and chat around our own.
//
// A turn's id holds all that finish needs (log, first seq, seq of the view, idempotency key), so
// any server can end a turn that another one began. Streamed answers are stored when the model is
// done or the client has gone, whichever is first; what was told until then is kept.
#include <algorithm>
#include <memory>

#include "base/ids.h"
#include "base/json_write.h"
#include "engine/ask.h"
#include "engine/present.h"
#include "model/request_body.h"
#include "palimpsest/format.h"
#include "server/answer_stream.h"
#include "server/asked_model.h"
#include "server/driven_turn.h"
#include "server/keeper.h"
#include "server/rest.h"
#include "server/running_turns.h"
#include "server/sayable.h"
#include "server/turn_beacon.h"
#include "server/turn_body.h"
#include "server/turn_hold.h"
#include "server/turn_log.h"

namespace palimpsest {
namespace {

// ---- ids ----------------------------------------------------------------------------------------

Result<Begun> parse_turn(const ConversationId& name, std::string_view id) {
    const std::size_t dot = std::min(id.find('.'), id.size());
    const std::optional<Position> position = parse_position_id(turn_prefix, id.substr(0, dot));
    if (!position)
        return fail(ErrorCode::invalid_request, "this is not the id of a turn", "turn_id");
    PAL_TRY(key, percent_decode(id.substr(std::min(dot + 1, id.size()))));
    // Without a key the turn's id makes a repeat of finish harmless.
    return Begun{.name = name,
                 .key = key.empty() ? std::string(id) : key,
                 .log = position->log,
                 .turn = position->seq};
}

// ---- writing ------------------------------------------------------------------------------------

// {"conversation_id","turn_id","seq","message","tool_calls","usage","cost","compaction","warnings"}
std::string write_turn(const Begun& begun, std::string_view id, const Answer& answer,
                       const Finished& finished) {
    std::string body;
    JsonWriter out(body);
    write_start(out, begun, id);
    out.key("seq").number(finished.seq.value);
    out.key("message").raw(view_of(answer.message.raw));
    if (answer.interrupted) out.key("interrupted").boolean(true);
    write_calls(out.key("tool_calls"), answer);
    write_usage(out.key("usage"), answer.usage);
    write_end(out, begun, finished);
    return body;
}

// ---- reading ------------------------------------------------------------------------------------

Result<Begun> begin_from(Call& call, const ConversationId& name, std::string_view messages,
                         std::string_view model) {
    PAL_TRY(request, begin_request_of(call, messages, model));
    PAL_TRY(parameters, parameters_in(call));
    request.parameters = std::move(parameters);
    Result<Begun> begun = begin_for(call, name, std::move(request));
    if (!begun) return std::unexpected(blame(begun.error(), call, ""));
    if (!call.key.empty() && !begun->compaction) {
        PAL_TRY(compaction, find_compaction(call.site.memory, *begun));
        begun->compaction = std::move(compaction);
    }
    return begun;
}

// ---- chat ---------------------------------------------------------------------------------------

// One turn under way, and all that its second half needs after the request is gone.
struct OpenTurn {
    Memory& memory;
    std::shared_ptr<Model> model;
    std::shared_ptr<RequestTrace> trace;
    Begun begun = {};
    std::string tools = {}, parameters = {};
    FormatId format = FormatId::openai_chat;  // of these
    // While it is answered: its repeats wait, here and elsewhere.
    RunningTurns::Seat seat = {};
    TurnBeacon beacon = {};
    Outlet* out = nullptr;
};

struct Told {
    Answer answer = {};
    Finished finished = {};
};

// A repeat of a finished turn is answered from the log, in one piece, without the model.
Result<Told> tell_again(Memory& memory, const Begun& begun, const OnText& on_text) {
    PAL_TRY(answer, read_answer(memory, begun));
    PAL_TRY(parts, read_parts(*begun.already));
    for (const Part& part : parts.parts)
        if (const Text* text = std::get_if<Text>(&part); text && on_text) on_text(text->text);
    const std::optional<double> cost = memory.cost_of(begun.model, answer.usage);
    return Told{std::move(answer),
                {.seq = begun.already_at, .header = begun.view.header, .cost = cost}};
}

Result<Told> answer_turn(OpenTurn& turn, const OnText& on_text) {
    if (turn.begun.already) return tell_again(turn.memory, turn.begun, on_text);
    TurnHold hold(turn.memory, turn.begun);
    const auto ask = [&] {
        const std::vector<Message> messages = turn.begun.request();
        const std::string cache_key = turn.begun.cache_key();
        return ask_model(*turn.model,
                         {.messages = messages,
                          .tools = turn.tools,
                          .parameters = turn.parameters,
                          .fields_format = turn.format,
                          .stop = turn.out->halt(),
                          .cache_key = cache_key,
                          .behind_edit = turn.begun.behind_edit()},
                         on_text);
    };
    auto answer = ask();
    if (!answer && is_context_overflow(answer.error()) && !turn.begun.policy.empty()) {
        PAL_TRY(smaller, shrink_traced(*turn.trace, turn.memory, turn.begun));
        turn.begun = std::move(smaller);
        answer = ask();
    }
    if (!answer) return std::unexpected(std::move(answer).error());
    PAL_TRY(finished, finish_traced(*turn.trace, turn.memory, turn.begun, *answer));
    hold.answered();
    return Told{*std::move(answer), std::move(finished)};
}

// Whoever is told a part is told why, where it is we who stopped the model.
Result<Told> tell(OpenTurn& turn, const OnText& on_text) {
    auto told = answer_turn(turn, on_text);
    if (!told) return std::unexpected(why_stopped(*turn.out, std::move(told).error()));
    const bool stopped = turn.out->halt().stop_requested() && !turn.begun.already;
    if (!stopped || !told->answer.interrupted) return told;
    Error why = why_cut(*turn.out, {});
    turn.trace->tell_fault(why.code);
    turn.begun.warnings.push_back(std::move(why.message));
    return told;
}

// Whether the model can be asked with it; nothing is stored of what it could not be told.
Result<void> check_said(Call& call, const ConversationId& name, const std::string& messages,
                        const Model& model) {
    PAL_TRY(format, format_of(call));
    PAL_TRY(said, parse_json(messages));
    const auto before = [&] { return messages_in(call.site.memory, name); };
    return check_sayable(said.root(), format, model, before, "messages");
}

// A repeat waits until the attempt before it has ended.
Result<RunningTurns::Seat> take_seat(Call& call, const ConversationId& name) {
    if (call.key.empty()) return RunningTurns::Seat();
    auto entered = call.site.running->enter(name.id + "\n" + call.key, call.out->stop());
    if (!entered.seat.held())
        return fail(ErrorCode::unavailable, "the client has gone while an earlier attempt ran");
    return std::move(entered.seat);
}

// Begins a turn, or waits for the one that this repeats.
Result<Begun> begin_or_join(Call& call, const ConversationId& name, std::string_view messages,
                            std::string_view model) {
    PAL_TRY(begun, begin_from(call, name, messages, model));
    if (begun.already || call.key.empty()) return std::move(begun);
    PAL_TRY(met, await_elsewhere(call.site.memory.store(), begun, call.out->stop()));
    if (!met) return std::move(begun);
    return begin_from(call, name, messages, model);
}

// start, compaction if there was one, delta..., then done (the whole answer, as it comes without
// streaming) or error.
void stream_turn(OpenTurn& turn, const SendEvent& send) {
    send(ServerEvent(start_event(turn.begun), "start"));
    if (turn.begun.compaction)
        send(ServerEvent(compaction_event(*turn.begun.compaction), "compaction"));
    const Result<Told> told = tell(turn, [&](std::string_view text) {
        return send(ServerEvent("{\"text\":" + json_string(text) + "}", "delta"));
    });
    if (told)
        send(ServerEvent(write_turn(turn.begun, turn_id(turn.begun), told->answer, told->finished),
                         "done"));
    else
        send(ServerEvent(error_response(told.error()).body, "error"));
}

// The answer that a repeat of begin finds: null where there is none yet.
Result<void> write_already(JsonWriter& out, Memory& memory, const Begun& begun) {
    out.key("message");
    if (!begun.already) {
        out.null().key("tool_calls").begin_array().end_array();
        return {};
    }
    PAL_TRY(answer, read_answer(memory, begun));
    out.raw(view_of(answer.message.raw));
    if (answer.interrupted) out.key("interrupted").boolean(true);
    write_calls(out.key("tool_calls"), answer);
    return {};
}

// What the body of finish brings.
Result<Answer> answer_of(const Call& call) {
    PAL_TRY(format, format_of(call));
    PAL_TRY(message, read_message(format, make_bytes(raw_of(call, "message"))));
    const std::optional<JsonValue> interrupted = call.field("interrupted");
    return Answer{.message = std::move(message),
                  .usage = usage_in(call),
                  .interrupted = interrupted && interrupted->boolean() == true};
}

// A turn has one answer: a repeat of finish that brings another one is refused.
Result<void> check_stored(Call& call, Seq seq, const Answer& answer) {
    PAL_TRY(entries, call.site.memory.log(call.name(), {.range = {seq, seq}}));
    const auto* stored =
        entries.empty() ? nullptr : std::get_if<MessageEntry>(&entries.front().body);
    if (stored && stored->scrubbed) return {};
    if (stored && view_of(stored->message.raw) == view_of(answer.message.raw)) return {};
    return fail(ErrorCode::unprocessable, "this turn has been finished with another answer",
                "turn_id");
}

// What to send, for those who call the model themselves: preamble and view as a list that the
// format's provider accepts, with what its prompt cache wants to know. What had to change or go on
// the way is said in `warnings`.
void write_request(JsonWriter& out, const Begun& begun, FormatId format,
                   std::vector<std::string>& warnings) {
    const std::vector<Message> messages = begun.request();
    const auto rendered = render(format, messages, {.model = begun.model});
    if (!rendered) {
        out.null();
        return warnings.push_back(rendered.error().message);
    }
    std::string request;
    JsonWriter json(request);
    json.begin_object().field("format", format_name(format));
    if (!rendered->system.empty()) json.key("system").raw(system_json(*rendered));
    json.key("messages").raw(write_list(rendered->messages)).end_object();
    const std::size_t edited = begun.behind_edit();
    const std::size_t behind =
        edited == 0 ? 0 : rendered_behind(*rendered, messages.size(), edited);
    const auto hinted = with_cache_hints(dialect_of(format), request, begun.cache_key(), behind);
    out.raw(hinted ? *hinted : request);
    warnings = rendered->lost;
    for (const RepairNote& note : rendered->notes) warnings.push_back(note.what);
}

}  // namespace

Result<RouteReply> begin_turn(Call& call) {
    PAL_TRY(messages, said_in(call));
    PAL_TRY(asked, model_name_of(call, call.name()));
    if (asked.empty()) asked = call.site.models.first().name();
    PAL_CHECK(check_may_ask(call, asked));
    PAL_TRY(begun, begin_from(call, call.name(), messages, asked));
    RouteReply reply{.etag = begun.view.header.end};
    JsonWriter out(reply.body);
    write_start(out, begun, turn_id(begun));
    out.key("seq").number(begun.view.seq.value);
    write_view(out.key("view"), begun.view);
    PAL_TRY(format, format_of(call));
    std::vector<std::string> warnings;
    write_request(out.key("request"), begun, format, warnings);
    PAL_CHECK(write_already(out, call.site.memory, begun));
    out.key("usage").null();
    write_end(out, begun, {.warnings = std::move(warnings)});
    return reply;
}

Result<RouteReply> finish_turn(Call& call) {
    const std::string id = *call.text("turn_id");
    PAL_TRY(begun, parse_turn(call.name(), id));
    PAL_TRY(answer, answer_of(call));
    PAL_TRY(call_seq, find_call(call.site.memory, begun.name, begun.log, begun.turn));
    begun.view.seq = call_seq;
    begun.exclusive = true;  // Whether it is stands in the store.
    if (answer.usage.input > 0) PAL_CHECK(read_begun(call.site.memory, call_seq, begun));
    PAL_TRY(finished, finish_traced(*call.trace, call.site.memory, begun, answer));
    PAL_CHECK(check_stored(call, finished.seq, answer));
    return RouteReply{.body = write_turn(begun, id, answer, finished), .etag = finished.header.end};
}

Result<RouteReply> chat(Call& call) {
    PAL_TRY(messages, said_in(call));
    PAL_TRY(name, new_name(call, "conversation_id"));
    PAL_TRY(asked, model_name_of(call, name));
    PAL_TRY(model, choose_model(call, asked));
    PAL_CHECK(check_said(call, name, messages, *model));
    PAL_TRY(seat, take_seat(call, name));
    const KeyedTurn keyed[] = {{name, call.key}};
    PAL_CHECK(check_paid(call, keyed));
    PAL_TRY(driven, driven_terms_in(call));
    if (driven) return drive_turn(call, name, *model, messages, *driven);
    PAL_TRY(begun, begin_or_join(call, name, messages, model->name()));
    PAL_TRY(parameters, parameters_in(call));
    PAL_TRY(format, format_of(call));
    TurnBeacon beacon;
    if (!begun.already) beacon = TurnBeacon(*call.site.keeper, call.site.memory.store(), begun);
    const auto turn = std::make_shared<OpenTurn>(OpenTurn{.memory = call.site.memory,
                                                          .model = model,
                                                          .trace = call.trace,
                                                          .begun = std::move(begun),
                                                          .tools = raw_of(call, "tools"),
                                                          .parameters = std::move(parameters),
                                                          .format = format,
                                                          .seat = std::move(seat),
                                                          .beacon = std::move(beacon),
                                                          .out = call.out});
    const std::optional<JsonValue> stream = call.field("stream");
    if (stream && stream->boolean() == true)
        return RouteReply{.stream = [turn](const SendEvent& send) { stream_turn(*turn, send); }};
    PAL_TRY(told, tell(*turn, {}));
    return RouteReply{
        .body = write_turn(turn->begun, turn_id(turn->begun), told.answer, told.finished),
        .etag = told.finished.header.end,
        .again = turn->begun.already.has_value()};
}

}  // namespace palimpsest
