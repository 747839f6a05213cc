#include "server/client_turn.h"

#include <chrono>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json_write.h"
#include "engine/stopwatch.h"
#include "format/json_edit.h"
#include "format/sse.h"
#include "model/request_body.h"
#include "palimpsest/format.h"
#include "server/answer_stream.h"
#include "server/reply_name.h"
#include "server/request_trace.h"
#include "server/respond.h"
#include "server/rest.h"
#include "server/sayable.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr std::string_view key_header = "Idempotency-Key";
// What clients tell the provider and not us.
constexpr std::string_view provider_names[] = {"anthropic-beta", "anthropic-version",
                                               "OpenAI-Beta"};

std::string_view id_of(JsonValue conversation) {
    if (!conversation.is_object()) return conversation.string();
    const auto id = conversation.find("id");
    return id ? id->string() : std::string_view();
}

// What of the request has no form in the model's format.
std::vector<std::string> lost_fields(const TurnAsk& ask) {
    if (ask.model->format() == ask.format) return {};
    std::string body = R"({"messages":[{"role":"user","content":"x"}],)" +
                       (ask.tools.empty() ? "" : "\"tools\":" + ask.tools + ",") +
                       (ask.parameters.size() > 2 ? ask.parameters.substr(1) : "\"model\":\"m\"}");
    auto converted = convert_json(ask.format, ask.model->format(), body);
    if (!converted) return {};
    // The limit that Messages insists on is the model's own, see write_model_request().
    std::erase_if(converted->lost,
                  [](const std::string& line) { return line.starts_with("max_tokens: "); });
    return std::move(converted->lost);
}

// A header that comes in several lines is one list.
std::string joined_lines(const HttpRequest& request, std::string_view name) {
    std::string all;
    for (const auto& [given, value] : request.headers)
        if (equal_without_case(given, name)) all += (all.empty() ? "" : ",") + std::string(value);
    return all;
}

Result<Reply> ask_stateless(const TurnAsk& ask, const TurnEars& ears) {
    PAL_TRY(messages, read_messages(ask.format, make_bytes(ask.messages), Fingerprints::left_out));
    return ask.model->call({.messages = messages,
                            .tools = ask.tools,
                            .parameters = ask.parameters,
                            .fields_format = ask.format,
                            .stop = ears.stop,
                            .on_bytes = ears.on_bytes,
                            .headers = ask.headers},
                           ears.on_piece);
}

void count_stateless(const Call& call, const Model& model, const std::optional<ReplyUsage>& usage,
                     const Stopwatch& watch) {
    call.site.memory.count_call(model.name(), usage_of(usage.value_or(ReplyUsage{})),
                                watch.seconds());
}

// One request on its way: the turn, if it is stateful, and what is told beside the answer.
class Answering {
public:
    Answering(Call& call, ClientAsk ask)
        : call_(call), ask_(std::move(ask)), format_(ask_.turn.format), model_(*ask_.turn.model) {
        for (std::string& one : lost_fields(ask_.turn)) ask_.warnings.push_back(std::move(one));
        extra_ = ask_.extra_known;
        ask_.turn.headers = provider_headers(call_, model_, format_);
    }

    Result<RouteReply> run() {
        PAL_CHECK(check_said());
        if (ask_.stateful) PAL_CHECK(begin());
        return ask_.stream ? streamed() : plain();
    }

private:
    Result<void> check_said() {
        const auto before = [&]() -> Result<std::vector<Message>> {
            if (!ask_.stateful) return std::vector<Message>();
            return messages_in(call_.site.memory, ask_.turn.name);
        };
        const auto messages = call_.field("messages");
        if (!messages) return {};
        return check_sayable(*messages, format_, model_, before, "messages");
    }

    Result<void> begin() {
        auto turn = GatewayTurn::begin(call_, std::move(ask_.turn));
        if (!turn) return std::unexpected(blame(std::move(turn).error(), call_, ""));
        turn_ = *std::move(turn);
        headers_.emplace_back(conversation_header, turn_->begun().name.id);
        for (const std::string& warning : turn_->begun().warnings) ask_.warnings.push_back(warning);
        if (ask_.extra) extra_ = ask_.extra(turn_->begun());
        if (turn_->finished()) repeat(turn_->begun());
        return {};
    }

    void repeat(const Begun& begun) {
        if (!call_.key.empty()) take_name(kept_reply_name(call_.site, begun));
        if (!ask_.kept) return;
        const std::string kept = ask_.kept(begun);
        take_name(kept);
        if (!kept.empty()) ask_.keep = {};  // It is not kept a second time.
    }

    // A repeat has the name of the first reply.
    void take_name(const std::string& body) {
        const auto document = body.empty() ? Result<JsonDocument>(fail({}, "")) : parse_json(body);
        if (!document) return;
        const JsonValue first = document->root();
        if (const auto id = first.find("id")) ask_.identity.id = id->string();
        if (const auto model = first.find("model")) ask_.identity.model = model->string();
        if (const auto created = first.find("created"))
            ask_.identity.created = created->integer().value_or(ask_.identity.created);
    }

    Result<Reply> ask(const TurnEars& ears) {
        if (!turn_) {
            const Stopwatch watch;
            auto reply = ask_stateless(ask_.turn, ears);
            if (reply) count_stateless(call_, model_, reply->usage, watch);
            return reply;
        }
        PAL_TRY(done, turn_->run(ears));
        again_ = done.again;
        end_ = done.finished.header.end;
        return std::move(done.reply);
    }

    // The whole reply as the client would get it in one piece.
    Result<std::string> body_of(const Reply& reply) {
        PAL_TRY(body, reply_body(format_, model_, reply, ask_.identity, ask_.warnings));
        if (!ask_.own_id && extra_.empty()) return body;
        PAL_TRY(document, parse_json(body));
        std::string out =
            ask_.own_id ? with_member(document.root(), "id", json_string(ask_.identity.id)) : body;
        if (!extra_.empty()) out.insert(out.rfind('}'), "," + extra_);
        return out;
    }

    // A stateful answer is waited for also when the client has gone: its repeat will ask for it.
    Result<RouteReply> plain() {
        PAL_TRY(reply, ask({.stop = turn_ ? call_.out->halt() : call_.out->stop()}));
        for (const std::string& warning : reply.warnings) ask_.warnings.push_back(warning);
        PAL_TRY(body, body_of(reply));
        PAL_CHECK(keep(body));
        return RouteReply{.body = std::move(body),
                          .etag = end_,
                          .warnings = std::move(ask_.warnings),
                          .again = again_,
                          .headers = std::move(headers_)};
    }

    // What is mended before it is sent; of a repeat nothing is sent.
    std::vector<std::string> repairs() const {
        if (turn_ && turn_->finished()) return {};
        const TurnAsk& ask = turn_ ? turn_->ask() : ask_.turn;
        auto messages =
            turn_ ? Result<std::vector<Message>>(turn_->begun().request())
                  : read_messages(format_, make_bytes(ask.messages), Fingerprints::left_out);
        if (!messages) return {};
        return repairs_of(model_.format(), model_.server_name(),
                          {.messages = *messages,
                           .tools = ask.tools,
                           .parameters = ask.parameters,
                           .fields_format = ask.format});
    }

    Result<RouteReply> streamed() {
        const bool finish = turn_ && call_.finish_abandoned;
        for (std::string& one : repairs()) ask_.warnings.push_back(std::move(one));
        if (!ask_.warnings.empty())
            headers_.emplace_back("x-warnings", joined_warnings(ask_.warnings));
        AnswerStream stream(*call_.out, {.format = format_,
                                         .identity = ask_.identity,
                                         .own_id = ask_.own_id,
                                         .usage_wanted = ask_.usage_wanted,
                                         .extra = extra_,
                                         .finish_abandoned = finish,
                                         .kept = turn_.has_value() || ask_.keep,
                                         .headers = headers_});
        TurnEars ears{.stop = finish ? call_.out->halt() : call_.out->stop()};
        if (model_.format() == format_)
            ears.on_bytes = [&](std::string_view bytes) { return stream.bytes(bytes); };
        else
            ears.on_piece = [&](const StreamDelta& delta) { return stream.piece(delta); };
        Result<Reply> reply = ask(ears);
        if (!reply) reply = std::unexpected(why_stopped(*call_.out, std::move(reply).error()));
        const Result<void> kept = reply ? keep(*reply) : Result<void>();
        const Error* const error = !reply ? &reply.error() : !kept ? &kept.error() : nullptr;
        if (error && !call_.out->started()) return std::unexpected(*error);
        if (error) {
            call_.trace->tell_fault(error->code);
            stream.fail(*error);
        } else {
            stream.end(*reply);
        }
        return RouteReply{};
    }

    bool is_keyed() const { return turn_ && !call_.key.empty() && !again_; }

    Result<void> keep(const Reply& reply) {
        if (!ask_.keep && !is_keyed()) return {};
        PAL_TRY(body, body_of(reply));
        return keep(body);
    }
    Result<void> keep(const std::string& body) {
        if (is_keyed()) keep_reply_name(call_.site, turn_->begun(), body);
        return ask_.keep ? ask_.keep(body, begun()) : Result<void>();
    }

    const Begun* begun() const { return turn_ ? &turn_->begun() : nullptr; }

    Call& call_;
    ClientAsk ask_;
    const FormatId format_;
    Model& model_;
    std::optional<GatewayTurn> turn_;
    std::string extra_;
    std::vector<std::pair<std::string, std::string>> headers_;
    std::optional<Seq> end_;  // of the conversation, with the answer
    bool again_ = false;
};

// The request's bytes with the name that the model's server knows.
std::string with_server_name(const Call& call, const Model& model) {
    const std::string& body = call.request.body;
    const auto name = call.json->root().find("model");
    const std::string wanted = json_string(model.server_name());
    if (!name)
        return "{\"model\":" + wanted + (body.find('"') == body.npos ? "}" : ",") +
               body.substr(body.find('{') + 1);
    if (name->raw() == wanted) return body;
    std::string out = body.substr(0, name->offset());
    out += wanted;
    return out.append(body, name->offset() + name->raw().size());
}

// From a brace to the one that closes it. What is between them is for the client to read.
bool is_whole_object(std::string_view body) {
    std::size_t depth = 0, at = std::min(body.find_first_not_of(" \t\r\n"), body.size());
    if (body.substr(at, 1) != "{") return false;
    for (bool more = true; more; ++at) {
        at = body.find_first_of("{}[]\"", at);
        if (at == body.npos) return false;
        if (body[at] == '"') {
            do at = body.find_first_of("\"\\", at + 1);
            while (at != body.npos && body[at] == '\\' && ++at);
            if (at == body.npos) return false;
        } else if (body[at] == '{' || body[at] == '[') {
            ++depth;
        } else {
            more = --depth > 0;
        }
    }
    return body.find_first_not_of(" \t\r\n", at) == body.npos;
}

// What of a model's server is passed on as it comes: events, not a page that it answers with.
class Passing {
public:
    explicit Passing(Outlet& out) : out_(out) {}

    bool take(std::string_view bytes) {
        if (page_bytes_ == 0 && (out_.started() || may_begin_events(bytes)))
            return out_.write(bytes);
        page_bytes_ += bytes.size();
        return page_bytes_ <= page_bytes_max;
    }
    Result<void> check(const Model& model, const RelayReply& reply) const {
        const bool broken = reply.status < 300 && !out_.started() && !is_whole_object(reply.body);
        if (page_bytes_ == 0 && !broken) return {};
        return fail(ErrorCode::upstream_failed,
                    fmt::format("the server of the model {} answered with success and {} bytes of "
                                "{} that are no model's answer; look at the model's url (up to "
                                "the version, as in .../v1) and its format",
                                model.name(), page_bytes_ + reply.body.size(),
                                reply.type.empty() ? "no type" : reply.type));
    }

private:
    static constexpr std::size_t page_bytes_max = std::size_t{1} << 20;
    Outlet& out_;
    std::size_t page_bytes_ = 0;
};

}  // namespace

Result<std::optional<ConversationId>> conversation_of(const Call& call) {
    const auto header = call.request.headers.find(conversation_header);
    for (const auto& [name, value] : call.request.headers)
        if (equal_without_case(name, conversation_header) && value != *header)
            return fail(ErrorCode::invalid_request,
                        "two headers X-Conversation-Id name two conversations",
                        std::string(conversation_header));
    const auto field = call.field("conversation");
    if (!header && !field) return std::optional<ConversationId>();
    const std::string_view named = field ? id_of(*field) : *header;
    if (header && *header != named)
        return fail(ErrorCode::invalid_request,
                    "the header X-Conversation-Id names another conversation than the body",
                    "conversation");
    PAL_CHECK(check_id(named, "conversation"));
    return std::optional(ConversationId{call.site.tenant, std::string(named)});
}

bool wants_stream(const Call& call) {
    const auto stream = call.field("stream");
    return stream && stream->boolean() == true;
}

std::string raw_field(const Call& call, std::string_view name) {
    const auto value = call.field(name);
    return value ? std::string(value->raw()) : std::string();
}

SentHeaders provider_headers(const Call& call, const Model& model, FormatId format) {
    SentHeaders headers;
    if (model.format() != format) return headers;
    for (const std::string_view name : provider_names)
        if (std::string value = joined_lines(call.request, name); !value.empty())
            headers.emplace_back(name, std::move(value));
    return headers;
}

Result<RouteReply> answer_client(Call& call, ClientAsk ask) {
    return Answering(call, std::move(ask)).run();
}

Result<std::optional<RouteReply>> relay_client(Call& call, Model& model, std::string_view path) {
    return relay_body(call, model, path, with_server_name(call, model));
}

Result<std::optional<RouteReply>> relay_body(Call& call, Model& model, std::string_view path,
                                             std::string body) {
    RelayRequest request{.path = path,
                         .body = body,
                         .headers = provider_headers(call, model, model.format()),
                         .stop = call.out->stop()};
    if (const auto key = call.request.headers.find(key_header))
        request.headers.emplace_back(key_header, *key);
    const Stopwatch watch;
    Passing passing(*call.out);
    auto reply = model.relay(request, [&](std::string_view bytes) { return passing.take(bytes); });
    if (!reply && reply.error().code == ErrorCode::unprocessable)
        return std::optional<RouteReply>();
    if (!reply) return std::unexpected(std::move(reply).error());
    PAL_CHECK(passing.check(model, *reply));
    if (path.empty() && reply->status < 300) count_stateless(call, model, reply->usage, watch);
    if (reply->cut) call.out->write(error_event(model.format(), why_cut(*call.out, {})));
    RouteReply out{.body = std::move(reply->body), .type = std::move(reply->type)};
    out.status = reply->status;
    if (!reply->retry_after.empty()) out.headers.emplace_back("Retry-After", reply->retry_after);
    return std::optional(std::move(out));
}

std::string timed_id(std::string_view prefix) {
    // Milliseconds would leave those of one moment to luck.
    const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
    return fmt::format("{}{:016x}{}", prefix, now.count(), hex(random_log_id()).substr(0, 8));
}

}  // namespace palimpsest
