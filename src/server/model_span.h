// model_span: the call of a model as a span, by OpenTelemetry's conventions for generative AI. What
// was said stands in it only where the tracer asks for it.
#pragma once
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/model.h"
#include "server/request_trace.h"

namespace palimpsest {

class ModelSpan {
public:
    ModelSpan(const RequestTrace& trace, const Model& model, std::string_view operation);

    const TracePoint& context() const { return span_.context(); }
    bool recorded() const { return span_.recorded(); }
    void drop() { span_.drop(); }

    // `fields`: a JSON object with the parameters among its members.
    void describe_request(std::string_view fields, bool streamed);
    void describe_said(std::span<const Message> messages);
    void first_piece();
    void describe(const Reply& reply);
    void describe(const Result<Reply>& reply);
    void describe(const Result<RelayReply>& reply);
    void describe(const ReplyUsage& usage);
    void fail(const Error& error);

private:
    Span span_;
    const bool with_content_;
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    bool told_ = false;
};

// What a request to a path behind a model's address does: chat, embeddings, count_tokens.
std::string_view operation_of(std::string_view path);

// traceparent, and tracestate where there is one; nothing for what is in no trace.
std::vector<std::pair<std::string, std::string>> trace_headers(const TracePoint& context);

}  // namespace palimpsest
