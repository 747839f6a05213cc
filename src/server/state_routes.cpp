// state_routes: conversations that the caller keeps as bytes. Nothing is stored here, so a repeat
// with the same Idempotency-Key is carried out again.
//
// Tools are the caller's: an answer that calls some ends the call, and the results are the next
// one's messages.
#include "engine/present.h"
#include "palimpsest/chat.h"
#include "server/asked_model.h"
#include "server/driven_turn.h"
#include "server/rest.h"
#include "server/turn_body.h"

namespace palimpsest {
namespace {

std::string state_of(const Call& call) {
    const auto state = call.field("state");
    if (!state || state->is_null()) return {};
    return std::string(state->is_string() ? state->string() : state->raw());
}

// `memory` is used as long as the options are.
StateOptions options_of(const Call& call, const MemoryOptions& memory) {
    StateOptions options{.provider = call.text("provider").value_or(""),
                         .keep_log = call.text("keep") == "log",
                         .policy = raw_of(call, "memory_strategy"),
                         .memory = &memory,
                         .model = call.text("model").value_or(""),
                         .summaries = summary_terms(call)};
    const std::string bad = call.text("bad_state").value_or("discard");
    options.bad = bad == "fail"      ? BadState::fail
                  : bad == "salvage" ? BadState::salvage
                                     : BadState::discard;
    options.shape = parse_state_shape(call.text("shape").value_or("")).value_or(StateShape::own);
    return options;
}

void write_report(JsonWriter& out, const StateReport& report) {
    out.begin_object().key("problem");
    report.problem.empty() ? out.null() : out.string(report.problem);
    out.field("detail", report.detail).key("kept").number(std::uint64_t{report.kept});
    out.key("lost").begin_array();
    for (const std::string& lost : report.lost) out.string(lost);
    out.end_array().end_object();
}

void write_done_compaction(JsonWriter& out, const std::optional<Compaction>& compaction) {
    out.key("compaction");
    compaction ? write_compaction(out, *compaction) : void(out.null());
}

std::string write_turn(const StateTurn& turn) {
    std::string body;
    JsonWriter out(body);
    const ChatDone& chat = turn.chat;
    const bool answered = chat.answer.message.raw != nullptr;
    out.begin_object().field("state", turn.state).key("message");
    answered ? out.raw(view_of(chat.answer.message.raw)) : out.null();
    if (chat.answer.interrupted) out.key("interrupted").boolean(true);
    out.key("tool_calls").begin_array();
    for (const PendingCall& one : chat.pending) {
        out.begin_object().field("id", one.id).field("name", one.name);
        out.field("arguments", one.arguments).end_object();
    }
    write_usage(out.end_array().key("usage"), chat.usage);
    out.key("cost");
    chat.cost ? out.begin_object().key("dollars").number(*chat.cost).end_object() : out.null();
    write_done_compaction(out, turn.compaction ? turn.compaction : chat.begun.compaction);
    out.key("warnings").begin_array();
    for (const std::string& warning : chat.warnings) out.string(warning);
    out.end_array().field("outcome", chat_outcome_name(chat.outcome));
    write_report(out.key("report"), turn.report);
    out.end_object();
    return body;
}

}  // namespace

Result<RouteReply> chat_with_state(Call& call) {
    PAL_TRY(messages, said_in(call));
    PAL_TRY(format, format_of(call));
    PAL_TRY(model, choose_model(call, call.text("model").value_or("")));
    PAL_TRY(parameters, parameters_in(call));
    const MemoryOptions memory = call.site.memory.shared_options();
    const auto turn = chat_with_state(state_of(call),
                                      {.messages = messages,
                                       .format = format,
                                       .model = std::string(model->name()),
                                       .tools = raw_of(call, "tools"),
                                       .parameters = std::move(parameters)},
                                      *model, options_of(call, memory),
                                      {.others_pending = true, .stop = call.out->stop()});
    if (!turn) return std::unexpected(blame(turn.error(), call, ""));
    PAL_CHECK(check_answered(turn->chat));
    return RouteReply{.body = write_turn(*turn)};
}

Result<RouteReply> append_to_state(Call& call) {
    PAL_TRY(messages, said_in(call));
    PAL_TRY(format, format_of(call));
    const auto compact = call.field("compact");
    const MemoryOptions memory = call.site.memory.shared_options();
    const auto appended =
        append_to_state(state_of(call), {.messages = messages, .format = format},
                        options_of(call, memory), compact && compact->boolean() == true);
    if (!appended) return std::unexpected(blame(appended.error(), call, ""));
    RouteReply reply;
    JsonWriter out(reply.body);
    out.begin_object().field("state", appended->state);
    write_done_compaction(out, appended->compaction);
    write_report(out.key("report"), appended->report);
    out.end_object();
    return reply;
}

}  // namespace palimpsest
