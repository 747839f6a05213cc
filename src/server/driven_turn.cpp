#include "server/driven_turn.h"

#include "base/json_write.h"
#include "engine/tool_dialects.h"
#include "net/http.h"
#include "server/answer_stream.h"
#include "server/asked_model.h"
#include "server/replay.h"
#include "server/rest.h"
#include "server/turn_body.h"

namespace palimpsest {
namespace {

constexpr std::size_t retries_usual = 3;

std::string write_driven(const ShapedDone& done, const DrivenTerms& terms) {
    const ChatDone& chat = done.chat;
    std::string body;
    JsonWriter out(body);
    write_start(out, chat.begun, turn_id(chat.begun));
    out.key("seq").number(chat.finished.seq.value);
    const bool answered = chat.answer.message.raw != nullptr;
    out.key("message").raw(answered ? view_of(chat.answer.message.raw) : "null");
    if (chat.outcome == ChatDone::Outcome::interrupted) out.key("interrupted").boolean(true);
    out.field("outcome", chat_outcome_name(chat.outcome));
    if (terms.shape) {
        out.key("output").raw(done.json.empty() ? "null" : done.json);
        out.key("attempts").number(std::uint64_t{done.attempts});
    }
    out.key("tool_calls").begin_array();
    for (const PendingCall& one : chat.pending) {
        out.begin_object().field("id", one.id).field("name", one.name);
        out.field("arguments", one.arguments).end_object();
    }
    write_usage(out.end_array().key("usage"), chat.usage);
    write_end(out, {.compaction = chat.begun.compaction},
              {.warnings = chat.warnings, .cost = chat.cost});
    return body;
}

// One turn on its way to a client. Nothing is sent before what was said is stored.
class DrivenTell {
public:
    DrivenTell(Call& call, const DrivenTerms& terms, bool streamed)
        : call_(call), terms_(terms), streamed_(streamed) {}

    bool take(const ChatEvent& event) {
        using Kind = ChatEvent::Kind;
        if (event.kind == Kind::begun && !call_.key.empty() && !begun_)
            keep_request(call_, event.begun->view.header.end, event.begun->log);
        const bool first = event.kind == Kind::begun && !begun_;
        begun_ = begun_ || first;
        if (!streamed_) return true;
        if (first) return send(start_event(*event.begun), "start");
        if (event.kind == Kind::compaction)
            return send(compaction_event(*event.compaction), "compaction");
        if (event.kind == Kind::text || is_shaped_answer(event))
            return send("{\"text\":" + json_string(event.text) + "}", "delta");
        if (event.kind == Kind::retry)
            return send("{\"reason\":" + json_string(event.text) + "}", "retry");
        if (event.kind == Kind::tool_started) return send(tool_event(event), "tool");
        return true;
    }
    // False: the client has gone, and nobody else wants the rest.
    bool send(std::string data, std::string name) {
        const bool heard =
            call_.out->write(write_event(ServerEvent(std::move(data), std::move(name))));
        return heard || call_.finish_abandoned;
    }

private:
    bool is_shaped_answer(const ChatEvent& event) const {
        return event.kind == ChatEvent::Kind::arguments && terms_.shape &&
               event.name == terms_.shape->name;
    }
    static std::string tool_event(const ChatEvent& event) {
        std::string data;
        JsonWriter out(data);
        out.begin_object().field("id", event.id).field("name", event.name);
        out.field("arguments", event.text).end_object();
        return data;
    }

    Call& call_;
    const DrivenTerms& terms_;
    const bool streamed_;
    bool begun_ = false;
};

Result<std::optional<AnswerShape>> shape_in(const Call& call) {
    const auto format = call.field("response_format");
    const auto type = format ? format->find("type") : std::nullopt;
    if (!type || type->string() != "json_schema") return std::nullopt;
    const auto inner = format->find("json_schema");
    const auto schema = inner ? inner->find("schema") : std::nullopt;
    if (!schema || !schema->is_object())
        return fail(ErrorCode::invalid_request,
                    "'response_format' of the type json_schema has its schema in "
                    "'json_schema', field 'schema'",
                    "response_format");
    AnswerShape shape{.schema = std::string(schema->raw())};
    if (const auto name = inner->find("name"); name && !name->string().empty())
        shape.name = name->string();
    shape.retries = call.number("retries").value_or(retries_usual);
    return shape;
}

// Where the model has a field for a schema the caller's own words go into it; else chat_shaped
// finds another way.
bool passes_parameters(const Model& model, FormatId format, const DrivenTerms& terms) {
    if (!terms.shape) return true;
    return !tool_dialect_of(model.format()).shape_field.empty() &&
           tool_dialect_of(format).shape_field == "response_format";
}

Result<ShapedDone> drive(Memory& memory, const ConversationId& name, const BeginRequest& request,
                         Model& model, const DrivenTerms& terms, const ChatOptions& options) {
    if (terms.shape) return chat_shaped(memory, name, request, model, *terms.shape, options);
    PAL_TRY(done, chat(memory, name, request, model, options));
    return ShapedDone{.chat = std::move(done)};
}

}  // namespace

Result<void> check_answered(const ChatDone& done) {
    const bool silent = done.answer.message.raw == nullptr;
    if (done.outcome != ChatDone::Outcome::interrupted || !silent) return {};
    return fail(ErrorCode::outcome_unknown, "the model was stopped before it answered");
}

Result<std::optional<DrivenTerms>> driven_terms_in(const Call& call) {
    PAL_TRY(shape, shape_in(call));
    const auto recall = call.field("recall_tools");
    DrivenTerms terms{.shape = std::move(shape), .recall = recall && recall->boolean() == true};
    if (!terms.shape && !terms.recall) return std::nullopt;
    return terms;
}

// Where it is we who stopped the model.
static void tell_why_stopped(const Call& call, Result<ShapedDone>& done) {
    if (!done)
        done = std::unexpected(why_stopped(*call.out, std::move(done).error()));
    else if (call.out->halt().stop_requested() &&
             done->chat.outcome == ChatDone::Outcome::interrupted)
        done->chat.warnings.push_back(why_cut(*call.out, {}).message);
}

Result<RouteReply> drive_turn(Call& call, const ConversationId& name, Model& model,
                              std::string_view messages, const DrivenTerms& terms) {
    PAL_TRY(format, format_of(call));
    PAL_TRY(request, begin_request_of(call, messages, model.name()));
    request.summaries = summary_terms(call);
    if (passes_parameters(model, format, terms)) {
        PAL_TRY(parameters, parameters_in(call));
        request.parameters = std::move(parameters);
    }
    const auto stream = call.field("stream");
    const bool streamed = stream && stream->boolean() == true;
    DrivenTell tell(call, terms, streamed);
    ChatOptions options{.recall = terms.recall,
                        .others_pending = true,
                        .on_event = [&](const ChatEvent& event) { return tell.take(event); }};
    const bool leaves = streamed && !call.finish_abandoned;
    options.stop = leaves ? call.out->stop() : call.out->halt();
    auto done = drive(call.site.memory, name, request, model, terms, options);
    if (done)
        if (auto answered = check_answered(done->chat); !answered)
            done = std::unexpected(std::move(answered).error());
    tell_why_stopped(call, done);
    if (!done && (!streamed || !call.out->started()))
        return std::unexpected(blame(done.error(), call, ""));
    if (streamed && done)
        tell.send(write_driven(*done, terms), "done");
    else if (streamed)
        tell.send(error_response(done.error()).body, "error");
    if (streamed) return RouteReply{};
    return RouteReply{.body = write_driven(*done, terms),
                      .etag = done->chat.finished.header.end,
                      .again = done->chat.begun.already.has_value()};
}

}  // namespace palimpsest
