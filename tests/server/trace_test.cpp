// Traces: what a collector is sent of a request, what the model's server is told, and that a
// collector which is not there changes nothing.
#include "server/trace.h"

#include <map>

#include "server/gateway.h"
#include "server/tracer.h"

namespace palimpsest {
namespace {

constexpr std::string_view trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view client_span = "00f067aa0ba902b7";
const std::string traceparent =
    "00-" + std::string(trace_id) + "-" + std::string(client_span) + "-01";
const HeaderFields traced_alice = {{"X-Conversation-Id", "alice"}, {"traceparent", traceparent}};
const std::string canary = R"({"role":"user","content":"CANARY says hello"})";

TEST(traceparent, is_read_and_written_as_the_standard_has_it) {
    const auto context = parse_traceparent(traceparent, "vendor=x");
    ASSERT_TRUE(context);
    EXPECT_EQ(context->trace_id, trace_id);
    EXPECT_EQ(context->span_id, client_span);
    EXPECT_TRUE(context->sampled);
    EXPECT_EQ(context->state, "vendor=x");
    EXPECT_EQ(write_traceparent(*context), traceparent);
    EXPECT_FALSE(parse_traceparent(traceparent.substr(0, 53) + "00")->sampled);
    EXPECT_TRUE(parse_traceparent("01" + traceparent.substr(2) + "-more"));
}

TEST(traceparent, that_breaks_the_standard_is_as_if_there_were_none) {
    const std::string zeros32(32, '0'), zeros16(16, '0');
    for (const std::string& wrong :
         {std::string(), std::string("00"), traceparent + "-more", "ff" + traceparent.substr(2),
          "00-" + zeros32 + "-" + std::string(client_span) + "-01",
          "00-" + std::string(trace_id) + "-" + zeros16 + "-01",
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + std::string(client_span) + "-01",
          "00_" + traceparent.substr(3), traceparent.substr(0, 54) + "g"})
        EXPECT_FALSE(parse_traceparent(wrong)) << wrong;
}

// One span as the collector got it.
struct Seen {
    std::string id = {}, parent = {}, trace = {}, name = {};
    std::map<std::string, std::string> attributes = {};  // their values as JSON
    bool failed = false;
};

std::string text_in(JsonValue object, std::string_view name) {
    const auto value = object.find(name);
    return value ? std::string(value->string()) : "";
}

Seen read_span(JsonValue json) {
    Seen seen{.id = text_in(json, "spanId"),
              .parent = text_in(json, "parentSpanId"),
              .trace = text_in(json, "traceId"),
              .name = text_in(json, "name")};
    for (const JsonValue one : json.find("attributes")->elements())
        seen.attributes[text_in(one, "key")] = std::string(one.find("value")->raw());
    seen.failed = json.find("status").has_value();
    return seen;
}

// A collector, and a server that tells it what it does.
class Traced {
public:
    explicit Traced(std::vector<UpstreamReply> script, TraceOptions options = {})
        : collector(std::vector<UpstreamReply>(20, UpstreamReply{.body = "{}"})),
          gateway(FormatId::openai_chat, std::move(script), with_tracer(std::move(options))) {}

    // By name, once `last` has come.
    std::map<std::string, Seen> spans(const std::string& last) {
        std::map<std::string, Seen> all;
        for (int look = 0; look < 500 && !all.contains(last); ++look) {
            all.clear();
            for (const HttpRequest& request : collector.requests()) read(request.body, all);
            if (!all.contains(last)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return all;
    }
    std::string told() const {
        std::string all;
        for (const HttpRequest& request : collector.requests()) all += request.body;
        return all;
    }

    Upstream collector;
    Gateway gateway;

private:
    ServerOptions with_tracer(TraceOptions options) const {
        if (options.endpoint.empty()) options.endpoint = collector.url("");
        options.between = std::chrono::milliseconds(10);
        ServerOptions server;
        server.tracer = Tracer::start(std::move(options)).value();
        return server;
    }
    static void read(const std::string& body, std::map<std::string, Seen>& into) {
        const auto document = parse_json(body);
        ASSERT_TRUE(document) << body;
        const JsonValue resource = *document->root().find("resourceSpans")->elements().begin();
        const JsonValue scope = *resource.find("scopeSpans")->elements().begin();
        for (const JsonValue span : scope.find("spans")->elements()) {
            const Seen seen = read_span(span);
            into[seen.name] = seen;
        }
    }
};

const std::string request_name = "POST /v1/chat/completions";

TEST(tracing, a_turn_is_one_trace_from_the_client_to_the_model) {
    Traced traced({says(FormatId::openai_chat, "Hi there")});
    ASSERT_EQ(traced.gateway.chat(canary, traced_alice, R"("temperature":0.5)").status(), 200);
    auto spans = traced.spans(request_name);
    const Seen request = spans[request_name], turn = spans["turn"],
               model = spans["chat upstream-model"];
    EXPECT_EQ(request.parent, client_span);
    EXPECT_EQ(turn.parent, request.id);
    EXPECT_EQ(model.parent, turn.id);
    for (const auto& step : {"memory.begin", "memory.finish"})
        EXPECT_EQ(spans[step].parent, turn.id) << step;
    for (const auto& [name, span] : spans) EXPECT_EQ(span.trace, trace_id) << name;
    EXPECT_FALSE(spans.contains("memory.compact"));
    EXPECT_EQ(traced.gateway.upstream.requests().at(0).header("traceparent"),
              "00-" + std::string(trace_id) + "-" + model.id + "-01");
    EXPECT_EQ(traced.collector.requests().at(0).target, "/v1/traces");
}

TEST(tracing, a_model_call_is_told_by_the_conventions_for_generative_ai) {
    Traced traced({says(FormatId::openai_chat, "Hi there")});
    traced.gateway.chat(canary, traced_alice, R"("temperature":0.5)");
    auto attributes = traced.spans(request_name)["chat upstream-model"].attributes;
    EXPECT_EQ(attributes["gen_ai.operation.name"], R"({"stringValue":"chat"})");
    EXPECT_EQ(attributes["gen_ai.provider.name"], R"({"stringValue":"openai"})");
    EXPECT_EQ(attributes["gen_ai.request.model"], R"({"stringValue":"upstream-model"})");
    EXPECT_EQ(attributes["gen_ai.request.temperature"], R"({"doubleValue":0.5})");
    EXPECT_EQ(attributes["gen_ai.response.id"], R"({"stringValue":"up_1"})");
    EXPECT_EQ(attributes["gen_ai.response.finish_reasons"],
              R"({"arrayValue":{"values":[{"stringValue":"stop"}]}})");
    EXPECT_EQ(attributes["gen_ai.usage.input_tokens"], R"({"intValue":"11"})");
    EXPECT_EQ(attributes["gen_ai.usage.output_tokens"], R"({"intValue":"3"})");
    EXPECT_EQ(attributes["gen_ai.conversation.id"], R"({"stringValue":"alice"})");
}

TEST(tracing, what_was_said_is_in_no_span_unless_that_is_asked_for) {
    const UpstreamReply answer = says(FormatId::openai_chat, "REPLY of the model");
    Traced quiet({answer}), open({answer}, {.content = true});
    for (Traced* one : {&quiet, &open}) {
        one->gateway.chat(canary, traced_alice);
        one->spans(request_name);
    }
    EXPECT_EQ(quiet.told().find("CANARY"), std::string::npos);
    EXPECT_EQ(quiet.told().find("REPLY"), std::string::npos);
    EXPECT_NE(open.told().find("CANARY says hello"), std::string::npos);
    EXPECT_NE(open.told().find("REPLY of the model"), std::string::npos);
}

TEST(tracing, a_stream_that_is_passed_on_is_told_as_well) {
    Traced traced({tells(FormatId::openai_chat, "Hi there")});
    traced.gateway.chat(canary, {}, R"("stream":true,"stream_options":{"include_usage":true})");
    auto spans = traced.spans(request_name);
    Seen model = spans["chat upstream-model"];
    EXPECT_EQ(model.parent, spans[request_name].id);
    EXPECT_EQ(spans[request_name].parent, "");
    EXPECT_EQ(model.attributes["gen_ai.request.stream"], R"({"boolValue":true})");
    EXPECT_EQ(model.attributes["gen_ai.usage.output_tokens"], R"({"intValue":"3"})");
    EXPECT_TRUE(model.attributes.contains("gen_ai.response.time_to_first_chunk"));
}

TEST(tracing, a_failure_of_the_model_is_marked_in_its_span) {
    Traced traced({{.status = 401, .body = R"({"error":{"message":"no"}})"}});
    traced.gateway.chat(canary, traced_alice);
    auto spans = traced.spans(request_name);
    EXPECT_TRUE(spans["chat upstream-model"].failed);
    EXPECT_EQ(spans["chat upstream-model"].attributes["error.type"], R"({"stringValue":"401"})");
    EXPECT_TRUE(spans[request_name].failed);
}

TEST(tracing, a_model_that_breaks_off_is_marked_in_its_span_and_in_that_of_the_request) {
    UpstreamReply cut = tells(FormatId::openai_chat, "one two three");
    cut.cut_at = cut.body.find("three");
    for (const HeaderFields& headers : {HeaderFields(), traced_alice}) {
        Traced traced({cut});
        EXPECT_EQ(traced.gateway.chat(canary, headers, R"("stream":true)").status(), 200);
        auto spans = traced.spans(request_name);
        for (const std::string& name : {std::string("chat upstream-model"), request_name}) {
            EXPECT_TRUE(spans[name].failed) << name;
            EXPECT_EQ(spans[name].attributes["error.type"], R"({"stringValue":"upstream_failed"})");
        }
    }
}

TEST(tracing, a_refusal_has_the_same_type_in_a_conversation_and_passed_on) {
    for (const HeaderFields& headers : {HeaderFields(), traced_alice}) {
        Traced traced({{.status = 429, .body = R"({"error":{"message":"no"}})"}});
        traced.gateway.chat(canary, headers);
        EXPECT_EQ(traced.spans(request_name)["chat upstream-model"].attributes["error.type"],
                  R"({"stringValue":"429"})");
    }
}

TEST(tracing, follows_what_the_client_says_about_sampling) {
    const UpstreamReply answer = says(FormatId::openai_chat, "Hi");
    Traced traced({answer, answer, answer}, {.share = 0});
    traced.gateway.chat(canary);
    traced.gateway.chat(canary, {{"traceparent", traceparent.substr(0, 53) + "00"}});
    traced.gateway.chat(canary, {{"traceparent", traceparent}});
    EXPECT_EQ(traced.spans(request_name)[request_name].trace, trace_id);
    const auto sent = traced.gateway.upstream.requests();
    EXPECT_TRUE(sent[0].header("traceparent").ends_with("-00"));
    EXPECT_TRUE(sent[1].header("traceparent").ends_with("-00"));
    EXPECT_TRUE(sent[1].header("traceparent").starts_with("00-" + std::string(trace_id)));
    EXPECT_TRUE(sent[2].header("traceparent").ends_with("-01"));
}

TEST(tracing, when_it_is_off_passes_on_what_the_client_sent) {
    Gateway gateway(FormatId::openai_chat, {says(FormatId::openai_chat, "Hi")});
    gateway.chat(canary, traced_alice);
    EXPECT_EQ(gateway.upstream.requests().at(0).header("traceparent"), traceparent);
}

TEST(tracing, a_collector_that_is_gone_costs_spans_and_nothing_else) {
    const std::vector<UpstreamReply> answers(8, says(FormatId::openai_chat, "Hi"));
    Traced traced(answers, {.endpoint = "http://127.0.0.1:1", .queue_max = 3});
    for (std::size_t i = 0; i < answers.size(); ++i)
        EXPECT_EQ(traced.gateway.chat(canary).status(), 200);
    const std::string metrics = traced.gateway.get("/metrics").response.body;
    EXPECT_NE(metrics.find("memory_trace_spans_total{result=\"dropped\"}"), std::string::npos);
    EXPECT_EQ(metrics.find("memory_trace_spans_total{result=\"dropped\"} 0\n"), std::string::npos);
    EXPECT_NE(metrics.find("memory_trace_spans_total{result=\"sent\"} 0\n"), std::string::npos);
}

TEST(tracer, refuses_an_address_that_is_no_url) {
    EXPECT_EQ(Tracer::start({.endpoint = "localhost"}).error().param, "otlp_endpoint");
}

}  // namespace
}  // namespace palimpsest
