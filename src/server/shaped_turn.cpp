#include "server/shaped_turn.h"

#include "base/json_write.h"
#include "engine/tool_dialects.h"
#include "net/http.h"
#include "server/asked_model.h"
#include "server/replay.h"
#include "server/rest.h"
#include "server/turn_body.h"

namespace palimpsest {
namespace {

constexpr std::size_t retries_usual = 3;

std::string write_shaped(const ShapedDone& done) {
    const ChatDone& chat = done.chat;
    std::string body;
    JsonWriter out(body);
    write_start(out, chat.begun, turn_id(chat.begun));
    out.key("seq").number(chat.finished.seq.value);
    out.key("message").raw(view_of(chat.answer.message.raw));
    out.key("output").raw(done.json.empty() ? "null" : done.json);
    out.key("attempts").number(std::uint64_t{done.attempts});
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
class ShapedTell {
public:
    ShapedTell(Call& call, const AnswerShape& shape, bool streamed)
        : call_(call), shape_(shape), streamed_(streamed) {}

    bool take(const ChatEvent& event) {
        using Kind = ChatEvent::Kind;
        if (event.kind == Kind::begun && !call_.key.empty() && !begun_)
            keep_request(call_, event.begun->view.header.end);
        const bool first = event.kind == Kind::begun && !begun_;
        begun_ = begun_ || first;
        if (event.kind == Kind::compaction) spend_on_summary(call_, *event.compaction);
        if (!streamed_) return true;
        if (first) return send(start_event(*event.begun), "start");
        if (event.kind == Kind::compaction)
            return send(compaction_event(*event.compaction), "compaction");
        if (event.kind == Kind::text ||
            (event.kind == Kind::arguments && event.name == shape_.name))
            return send("{\"text\":" + json_string(event.text) + "}", "delta");
        if (event.kind == Kind::retry)
            return send("{\"reason\":" + json_string(event.text) + "}", "retry");
        return true;
    }
    // False: the client has gone, and nobody else wants the rest.
    bool send(std::string data, std::string name) {
        const bool heard =
            call_.out->write(write_event(ServerEvent(std::move(data), std::move(name))));
        return heard || call_.finish_abandoned;
    }

private:
    Call& call_;
    const AnswerShape& shape_;
    const bool streamed_;
    bool begun_ = false;
};

}  // namespace

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

Result<RouteReply> chat_in_shape(Call& call, const ConversationId& name, Model& model,
                                 std::string_view messages, const AnswerShape& shape) {
    PAL_TRY(format, format_of(call));
    PAL_TRY(request, begin_request_of(call, messages, model.name()));
    // Where the model has the field the caller's own words go into it; else another way is found.
    const bool has_field = !tool_dialect_of(model.format()).shape_field.empty();
    if (has_field && tool_dialect_of(format).shape_field == "response_format") {
        PAL_TRY(parameters, parameters_in(call));
        request.parameters = std::move(parameters);
    }
    const auto stream = call.field("stream");
    const bool streamed = stream && stream->boolean() == true;
    ShapedTell tell(call, shape, streamed);
    ChatOptions options{.others_pending = true,
                        .on_event = [&](const ChatEvent& event) { return tell.take(event); }};
    if (streamed && !call.finish_abandoned) options.stop = call.out->stop();
    const auto done = chat_shaped(call.site.memory, name, request, model, shape, options);
    if (!done && (!streamed || !call.out->started()))
        return std::unexpected(blame(done.error(), call, ""));
    if (streamed && done)
        tell.send(write_shaped(*done), "done");
    else if (streamed)
        tell.send(error_response(done.error()).body, "error");
    if (streamed) return RouteReply{};
    return RouteReply{.body = write_shaped(*done),
                      .etag = done->chat.finished.header.end,
                      .again = done->chat.begun.already.has_value()};
}

}  // namespace palimpsest
