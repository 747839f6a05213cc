#include "server/answer_stream.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"
#include "format/sse.h"
#include "server/respond.h"

namespace palimpsest {
namespace {

constexpr std::string_view windows_end = "\r\n\r\n";

// Where the first event of `text` ends, behind its empty line; npos: it has not come whole. It is
// known that no empty line begins before `from`.
std::size_t event_end(std::string_view text, std::size_t from) {
    const std::size_t plain = text.find("\n\n", from);
    const std::size_t windows = text.substr(0, plain).find(windows_end, from);
    if (windows != text.npos) return windows + windows_end.size();
    return plain == text.npos ? plain : plain + 2;
}

std::string_view data_of(std::string_view event) {
    const std::size_t at = event.starts_with("data:") ? 0 : event.find("\ndata:");
    if (at == event.npos) return {};
    std::string_view data = event.substr(event.find(':', at) + 1);
    data = data.substr(0, data.find_first_of("\r\n"));
    return data.starts_with(' ') ? data.substr(1) : data;
}

std::string chat_error(const Error& error) {
    return sse_event({}, error_response(error).body);
}

std::string anthropic_error_event(const Error& error) {
    return sse_event("error", anthropic_error(error_info(error.code).http_status, error.message));
}

std::string responses_error(const Error& error) {
    std::string data;
    JsonWriter out(data);
    out.begin_object().field("type", "error").field("code", error_info(error.code).name);
    out.field("message", error.message).key("param").null().end_object();
    return sse_event("error", data);
}

// How the streams of a format end, well or not.
struct StreamHabits {
    FormatId format;
    std::string_view last_event;   // the beginning of the event behind which nothing comes
    std::string_view extra_event;  // and of the one that StreamPlan::extra goes into; "": none
    std::string (*error)(const Error& error);
};
constexpr StreamHabits habits[] = {
    {FormatId::openai_chat, "data: [DONE]", "", chat_error},
    {FormatId::openai_responses, "event: response.completed", "", responses_error},
    {FormatId::anthropic, "event: message_stop", "event: message_delta", anthropic_error_event},
};

const StreamHabits& habits_of(FormatId format) {
    return *std::ranges::find(habits, format, &StreamHabits::format);
}

// A chunk of Chat Completions without choices that has a usage.
bool is_usage_chunk(std::string_view event) {
    if (event.find("\"usage\"") == event.npos) return false;
    const auto chunk = parse_json(data_of(event));
    const auto choices = chunk ? chunk->root().find("choices") : std::nullopt;
    const auto usage = chunk ? chunk->root().find("usage") : std::nullopt;
    return choices && choices->size() == 0 && usage && usage->is_object();
}

std::string with_extra(std::string_view event, const std::string& extra) {
    std::string out(event);
    const std::size_t end = out.rfind('}');
    if (end != out.npos) out.insert(end, "," + extra);
    return out;
}

}  // namespace

Error why_cut(const Outlet& out, std::optional<ErrorCode> cut) {
    if (cut || !out.halt().stop_requested())
        return {ErrorCode::upstream_failed, "the model's answer broke off"};
    if (out.ending())
        return {ErrorCode::unavailable, "the server is stopping, and the model's answer with it"};
    return {ErrorCode::outcome_unknown,
            "the time for the request was over (request_timeout_ms) before the model's answer was"};
}

Error why_stopped(const Outlet& out, Error error) {
    const bool by_us = error.code == ErrorCode::outcome_unknown && out.halt().stop_requested();
    return by_us ? why_cut(out, {}) : std::move(error);
}

std::string error_event(FormatId format, const Error& error) {
    return habits_of(format).error(error);
}

AnswerStream::AnswerStream(Outlet& out, StreamPlan plan) : out_(out), plan_(std::move(plan)) {
    writer_ = make_stream_writer(plan_.format, plan_.identity);
}

bool AnswerStream::send(std::string_view bytes) {
    if (bytes.empty()) return !gone_ || plan_.finish_abandoned;
    if (!out_.started()) {
        HttpResponse head = event_stream();
        for (const auto& [name, value] : plan_.headers) head.headers.set(name, value);
        out_.start(std::move(head));
    }
    gone_ = gone_ || !out_.write(bytes);
    return !gone_ || plan_.finish_abandoned;
}

bool AnswerStream::piece(const StreamDelta& delta) {
    std::string bytes = begun_ ? "" : writer_->begin();
    begun_ = true;
    bytes += writer_->add(delta);
    return send(bytes);
}

void AnswerStream::learn_id(std::string_view event) {
    const auto chunk = parse_json(data_of(event));
    const auto message = chunk ? chunk->root().find("message") : std::nullopt;
    const auto id = chunk ? (message ? *message : chunk->root()).find("id") : std::nullopt;
    if (id && id->is_string()) model_id_ = id->raw();
}

// An event as the client gets it; empty: not at all, or not yet.
std::string AnswerStream::pass(std::string_view event) {
    const StreamHabits& own = habits_of(plan_.format);
    if (event.starts_with(own.last_event)) {
        last_ = event;
        return {};
    }
    if (!plan_.usage_wanted && is_usage_chunk(event)) return {};
    std::string out(event);
    if (plan_.own_id) {
        if (model_id_.empty()) learn_id(event);
        const std::size_t at = model_id_.empty() ? out.npos : out.find(model_id_);
        if (at != out.npos) out.replace(at, model_id_.size(), json_string(plan_.identity.id));
    }
    const bool place = !own.extra_event.empty() && event.starts_with(own.extra_event);
    return place && !plan_.extra.empty() ? with_extra(out, plan_.extra) : out;
}

// The whole events among what has come, as the client gets them.
std::string AnswerStream::cut(std::string_view bytes) {
    rest_ += bytes;
    std::string out;
    std::string_view left = rest_;
    for (std::size_t end = event_end(left, searched_); end != left.npos; end = event_end(left, 0)) {
        out += pass(left.substr(0, end));
        left.remove_prefix(end);
    }
    rest_.erase(0, rest_.size() - left.size());
    searched_ = rest_.size() - std::min(rest_.size(), windows_end.size() - 1);
    return out;
}

bool AnswerStream::bytes(std::string_view bytes) {
    passed_ = true;
    return send(cut(bytes));
}

void AnswerStream::end(const Reply& reply) {
    if (reply.interrupted && !gone_) {
        Error why = why_cut(out_, reply.cut);
        why.message += plan_.kept ? "; what came is kept" : "; nothing of it is kept";
        for (const std::string& warning : reply.warnings) why.message += "; " + warning;
        return fail(why);
    }
    if (!passed_) {
        if (!begun_) {
            send(writer_->begin());
            (void)tell_messages(plan_.format, reply.messages,
                                [&](const StreamDelta& delta) { send(writer_->add(delta)); });
        }
        send(cut(writer_->end(reply.stop, reply.usage.value_or(ReplyUsage{}))));
    }
    send(last_);
}

void AnswerStream::fail(const Error& error) {
    send(error_event(plan_.format, error));
}

}  // namespace palimpsest
