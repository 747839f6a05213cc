#include "server/model_span.h"

#include "base/json.h"
#include "base/json_write.h"
#include "model/dialects.h"
#include "model/refusal.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

// The parameters that the conventions name, as each format says them.
struct NumberRow {
    std::string_view field, attribute;
    bool whole;
};
constexpr NumberRow number_rows[] = {
    {"temperature", "gen_ai.request.temperature", false},
    {"top_p", "gen_ai.request.top_p", false},
    {"top_k", "gen_ai.request.top_k", false},
    {"frequency_penalty", "gen_ai.request.frequency_penalty", false},
    {"presence_penalty", "gen_ai.request.presence_penalty", false},
    {"max_tokens", "gen_ai.request.max_tokens", true},
    {"max_completion_tokens", "gen_ai.request.max_tokens", true},
    {"max_output_tokens", "gen_ai.request.max_tokens", true},
    {"seed", "gen_ai.request.seed", true},
    {"n", "gen_ai.request.choice.count", true},
};

std::string text_at(JsonValue object, std::string_view name) {
    const auto value = object.find(name);
    return value ? std::string(value->string()) : std::string();
}

std::int64_t number(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

// A part as the conventions write it; what they have no kind for is left out.
struct PartWriter {
    JsonWriter& out;
    void operator()(const Text& text) const {
        out.begin_object().field("type", "text").field("content", text.text).end_object();
    }
    void operator()(const Reasoning& reasoning) const {
        out.begin_object().field("type", "reasoning").field("content", reasoning.text);
        out.end_object();
    }
    void operator()(const ToolCall& call) const {
        out.begin_object().field("type", "tool_call").field("id", call.id);
        out.field("name", call.name).field("arguments", call.arguments).end_object();
    }
    void operator()(const ToolResult& result) const {
        out.begin_object().field("type", "tool_call_response").field("id", result.id);
        out.field("response", result.text).end_object();
    }
    void operator()(const Media&) const {}
    void operator()(const Opaque&) const {}
};

std::string write_said(std::span<const Message> messages) {
    std::string text;
    JsonWriter out(text);
    out.begin_array();
    for (const Message& message : messages) {
        out.begin_object().field("role", role_name(message.shape.role)).key("parts").begin_array();
        if (const auto parts = read_parts(message))
            for (const Part& part : parts->parts) std::visit(PartWriter{out}, part);
        out.end_array().end_object();
    }
    out.end_array();
    return text;
}

}  // namespace

ModelSpan::ModelSpan(const RequestTrace& trace, const Model& model, std::string_view operation)
    : span_(trace.span(std::string(operation) + " " + std::string(model.server_name()),
                       SpanKind::client)),
      with_content_(trace.with_content()) {
    span_.set("gen_ai.operation.name", std::string(operation));
    span_.set("gen_ai.provider.name", std::string(dialect_of(model.format()).provider));
    span_.set("gen_ai.request.model", std::string(model.server_name()));
    if (!trace.conversation().empty()) span_.set("gen_ai.conversation.id", trace.conversation());
}

void ModelSpan::describe_request(std::string_view fields, bool streamed) {
    if (!recorded()) return;
    span_.set("gen_ai.request.stream", streamed);
    const auto document = parse_json(fields);
    if (!document) return;
    for (const NumberRow& row : number_rows) {
        const auto value = document->root().find(row.field);
        const auto amount = value ? value->number() : std::nullopt;
        if (!amount) continue;
        if (row.whole)
            span_.set(row.attribute, static_cast<std::int64_t>(*amount));
        else
            span_.set(row.attribute, *amount);
    }
}

void ModelSpan::describe_said(std::span<const Message> messages) {
    if (recorded() && with_content_) span_.set("gen_ai.input.messages", write_said(messages));
}

void ModelSpan::first_piece() {
    if (!recorded() || std::exchange(told_, true)) return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
    span_.set("gen_ai.response.time_to_first_chunk", took.count());
}

void ModelSpan::describe(const ReplyUsage& usage) {
    span_.set("gen_ai.usage.input_tokens", number(usage.input_tokens));
    span_.set("gen_ai.usage.output_tokens", number(usage.output_tokens));
    if (usage.cached_tokens)
        span_.set("gen_ai.usage.cache_read.input_tokens", number(usage.cached_tokens));
    if (usage.cache_write_tokens)
        span_.set("gen_ai.usage.cache_creation.input_tokens", number(usage.cache_write_tokens));
    if (usage.reasoning_tokens)
        span_.set("gen_ai.usage.reasoning.output_tokens", number(usage.reasoning_tokens));
}

void ModelSpan::describe(const Reply& reply) {
    if (!recorded()) return;
    if (reply.usage) describe(*reply.usage);
    if (!reply.stop_text.empty())
        span_.set("gen_ai.response.finish_reasons", std::vector<std::string>{reply.stop_text});
    if (reply.interrupted) span_.set("palimpsest.answer.interrupted", true);
    if (reply.cut) span_.fail(error_info(*reply.cut).name);
    if (with_content_) span_.set("gen_ai.output.messages", write_said(reply.messages));
    const auto body = parse_json(reply.body);
    if (!body) return;
    if (const std::string id = text_at(body->root(), "id"); !id.empty())
        span_.set("gen_ai.response.id", id);
    if (const std::string model = text_at(body->root(), "model"); !model.empty())
        span_.set("gen_ai.response.model", model);
}

void ModelSpan::describe(const Result<Reply>& reply) {
    if (reply)
        describe(*reply);
    else
        fail(reply.error());
}

// By the status that the model's server answered with, where it did.
void ModelSpan::fail(const Error& error) {
    const int status = refused_status(error);
    span_.fail(status > 0 ? std::to_string(status) : std::string(error_info(error.code).name));
}

void ModelSpan::describe(const Result<RelayReply>& reply) {
    if (!reply)
        fail(reply.error());
    else if (reply->status >= 300)
        span_.fail(std::to_string(reply->status));
}

std::string_view operation_of(std::string_view path) {
    if (path.ends_with("/embeddings")) return "embeddings";
    return path.ends_with("/count_tokens") ? "count_tokens" : "chat";
}

std::vector<std::pair<std::string, std::string>> trace_headers(const TracePoint& context) {
    if (context.empty()) return {};
    std::vector<std::pair<std::string, std::string>> headers = {
        {"traceparent", write_traceparent(context)}};
    if (!context.state.empty()) headers.emplace_back("tracestate", context.state);
    return headers;
}

}  // namespace palimpsest
