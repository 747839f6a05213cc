// Models over HTTP against a scripted server: what is sent, what comes back, and every way in which
// a server can fail.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/json.h"
#include "model/refusal.h"
#include "palimpsest/format.h"
#include "palimpsest/model.h"
#include "support/upstream.h"

namespace palimpsest {
namespace {

constexpr std::string_view chat_body =
    R"({"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,)"
    R"("message":{"role":"assistant","content":"Hello there"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}})";

constexpr std::string_view chat_events =
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
    "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
    "\"finish_reason\":null}]}\n\n"
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
    "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":null}]}\n\n"
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
    "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" there\"},\"finish_reason\":null}]}\n\n"
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
    "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
    "\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,\"total_tokens\":12}}"
    "\n\n"
    "data: [DONE]\n\n";

constexpr std::string_view anthropic_body =
    R"({"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[)"
    R"({"type":"text","text":"Hello there"}],"stop_reason":"end_turn","stop_sequence":null,)"
    R"("usage":{"input_tokens":9,"output_tokens":3}})";

UpstreamReply plain(std::string_view body) {
    UpstreamReply reply;
    reply.body = body;
    return reply;
}

UpstreamReply refused(int status, std::string_view message, std::string_view code = "") {
    UpstreamReply reply;
    reply.status = status;
    reply.body = R"({"error":{"message":")" + std::string(message) + R"(","type":"t","code":")" +
                 std::string(code) + "\"}}";
    reply.headers = {{"retry-after-ms", "1"}};
    return reply;
}

Endpoint endpoint_of(const Upstream& upstream, FormatId format = FormatId::openai_chat) {
    Endpoint endpoint;
    endpoint.name = "m";
    endpoint.format = format;
    endpoint.url = upstream.url();
    return endpoint;
}

std::vector<Message> hello() {
    return {make_message(FormatId::openai_chat, Role::system, "Be brief.").value(),
            make_message(FormatId::openai_chat, Role::user, "Hello?").value()};
}

Result<Reply> ask(const Endpoint& endpoint, const OnPiece& on_piece = {}) {
    const std::vector<Message> messages = hello();
    return make_http_model(endpoint).value()->call({.messages = messages}, on_piece);
}

std::string text_of(const Reply& reply) {
    std::string text;
    for (const Message& message : reply.messages) {
        const Parts parts = read_parts(message).value();
        for (const Part& part : parts.parts)
            if (const Text* piece = std::get_if<Text>(&part)) text += piece->text;
    }
    return text;
}

struct Pieces {
    std::string text = {};
    std::size_t enough = 1000;
    OnPiece taker() {
        return [this](const StreamDelta& delta) {
            text += delta.text;
            return text.size() < enough;
        };
    }
};

TEST(http_model, sends_the_conversation_in_its_format_and_reads_the_answer) {
    Upstream upstream({plain(chat_body)});
    const Reply reply = ask(endpoint_of(upstream)).value();
    EXPECT_EQ(text_of(reply), "Hello there");
    EXPECT_EQ(reply.usage->input_tokens, 9u);
    EXPECT_FALSE(reply.interrupted);
    const HttpRequest sent = upstream.requests().at(0);
    EXPECT_EQ(sent.target, "/v1/chat/completions");
    EXPECT_EQ(sent.body, R"({"model":"m","messages":[{"role":"system","content":"Be brief."},)"
                         R"({"role":"user","content":"Hello?"}]})");
}

TEST(http_model, anthropic_gets_its_system_field_its_version_and_a_limit) {
    Upstream upstream({plain(anthropic_body)});
    Endpoint endpoint = endpoint_of(upstream, FormatId::anthropic);
    endpoint.parameters = R"({"max_tokens":77})";
    EXPECT_EQ(text_of(ask(endpoint).value()), "Hello there");
    const HttpRequest sent = upstream.requests().at(0);
    EXPECT_EQ(sent.target, "/v1/messages");
    EXPECT_EQ(sent.header("anthropic-version"), "2023-06-01");
    const JsonDocument body = parse_json(sent.body).value();
    EXPECT_EQ(body.root().find("system")->string(), "Be brief.");
    EXPECT_EQ(body.root().find("max_tokens")->integer(), 77);
    EXPECT_EQ(body.root().find("messages")->size(), 1u);
}

TEST(http_model, features_that_a_request_asks_for_are_added_to_those_of_the_endpoint) {
    Upstream upstream({plain(anthropic_body), plain(anthropic_body)});
    Endpoint endpoint = endpoint_of(upstream, FormatId::anthropic);
    endpoint.headers = {{"anthropic-beta", "a-1"}, {"x-team", "blue"}};
    const auto model = make_http_model(endpoint).value();
    const std::vector<Message> messages = hello();
    const std::pair<std::string, std::string> more[] = {{"anthropic-beta", "b-2"},
                                                        {"anthropic-version", "2024-01-01"}};
    ASSERT_TRUE(model->call({.messages = messages, .headers = more}, {}));
    ASSERT_TRUE(model->relay({.body = "{}", .headers = {more[0], more[1]}}, {}));
    for (const HttpRequest& sent : upstream.requests()) {
        EXPECT_EQ(sent.header("anthropic-beta"), "a-1,b-2");
        EXPECT_EQ(sent.header("anthropic-version"), "2024-01-01");
        EXPECT_EQ(sent.header("x-team"), "blue");
    }
}

TEST(http_model, tools_written_for_one_format_reach_a_server_of_another) {
    Upstream upstream({plain(anthropic_body)});
    const auto model = make_http_model(endpoint_of(upstream, FormatId::anthropic)).value();
    const std::vector<Message> messages = hello();
    const std::string tools =
        R"([{"type":"function","function":{"name":"look","description":"d","parameters":)"
        R"({"type":"object","properties":{}}}}])";
    ASSERT_TRUE(model->call(
        {.messages = messages, .tools = tools, .parameters = R"({"temperature":0.5})"}, {}));
    const std::string body = upstream.requests().at(0).body;
    EXPECT_NE(body.find(R"("input_schema")"), std::string::npos) << body;
    EXPECT_NE(body.find(R"("temperature":0.5)"), std::string::npos) << body;
}

TEST(http_model, streams_pieces_that_add_up_to_the_answer) {
    Upstream upstream({event_stream_reply(std::string(chat_events))});
    Pieces pieces;
    const Reply reply = ask(endpoint_of(upstream), pieces.taker()).value();
    EXPECT_EQ(pieces.text, "Hello there");
    EXPECT_EQ(text_of(reply), "Hello there");
    EXPECT_EQ(reply.usage->output_tokens, 3u);
    EXPECT_NE(upstream.requests().at(0).body.find("\"include_usage\":true"), std::string::npos);
}

TEST(http_model, a_stream_cut_at_any_byte_keeps_what_came_marked_interrupted) {
    const std::size_t end = chat_events.find("\"stop\"");
    for (std::size_t cut = 0; cut < end; cut += 7) {
        UpstreamReply reply = event_stream_reply(std::string(chat_events));
        reply.cut_at = cut;
        reply.reset = cut % 2 == 1;
        Upstream upstream({reply});
        Pieces pieces;
        Endpoint endpoint = endpoint_of(upstream);
        endpoint.retries = 0;
        const Result<Reply> told = ask(endpoint, pieces.taker());
        if (!told) {
            EXPECT_TRUE(pieces.text.empty()) << cut;
            EXPECT_EQ(told.error().code, ErrorCode::outcome_unknown) << cut;
            continue;
        }
        EXPECT_TRUE(told->interrupted) << cut;
        EXPECT_EQ(text_of(*told), pieces.text) << cut;
    }
}

TEST(http_model, drip_by_drip_is_the_same_stream) {
    UpstreamReply reply = event_stream_reply(std::string(chat_events));
    reply.piece_bytes = 3;
    Upstream upstream({reply});
    Pieces pieces;
    EXPECT_EQ(text_of(ask(endpoint_of(upstream), pieces.taker()).value()), "Hello there");
}

TEST(http_model, a_listener_that_has_heard_enough_ends_the_stream) {
    UpstreamReply reply = event_stream_reply(std::string(chat_events));
    reply.piece_bytes = 100;
    reply.piece_delay_ms = 5;
    Upstream upstream({reply});
    Pieces pieces{.enough = 3};
    const Reply told = ask(endpoint_of(upstream), pieces.taker()).value();
    EXPECT_TRUE(told.interrupted);
    EXPECT_EQ(text_of(told), "Hello");
}

TEST(http_model, a_server_that_does_not_stream_is_understood) {
    Upstream upstream({plain(chat_body)});
    Pieces pieces;
    EXPECT_EQ(text_of(ask(endpoint_of(upstream), pieces.taker()).value()), "Hello there");
    EXPECT_EQ(pieces.text, "Hello there");
}

TEST(http_model, tries_again_what_was_refused_for_now) {
    for (const int status : {429, 500, 502, 503, 529}) {
        Upstream upstream({refused(status, "later"), refused(status, "later"), plain(chat_body)});
        EXPECT_EQ(text_of(ask(endpoint_of(upstream)).value()), "Hello there") << status;
        EXPECT_EQ(upstream.requests().size(), 3u);
    }
}

TEST(http_model, gives_up_with_the_providers_words_and_a_code) {
    const std::pair<int, ErrorCode> rows[] = {
        {429, ErrorCode::rate_limited},    {529, ErrorCode::unavailable},
        {503, ErrorCode::unavailable},     {500, ErrorCode::upstream_failed},
        {400, ErrorCode::upstream_failed}, {404, ErrorCode::upstream_failed}};
    for (const auto& [status, code] : rows) {
        Upstream upstream({refused(status, "no luck"), refused(status, "no luck")});
        Endpoint endpoint = endpoint_of(upstream);
        endpoint.retries = 1;
        const Result<Reply> told = ask(endpoint);
        ASSERT_FALSE(told);
        EXPECT_EQ(told.error().code, code) << status;
        EXPECT_NE(told.error().message.find("no luck"), std::string::npos);
        EXPECT_EQ(upstream.requests().size(), status == 400 || status == 404 ? 1u : 2u) << status;
        EXPECT_FALSE(is_context_overflow(told.error()));
    }
}

TEST(http_model, knows_a_request_that_is_too_long) {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"This model's maximum context length is 128000 tokens.", "context_length_exceeded"},
        {"prompt is too long: 215000 tokens > 200000 maximum", "invalid_request_error"},
        {"the request exceeds the available context size. try increasing the context size",
         "exceed_context_size_error"}};
    for (const auto& [message, code] : rows) {
        Upstream upstream({refused(400, message, code)});
        const Result<Reply> told = ask(endpoint_of(upstream));
        ASSERT_FALSE(told);
        EXPECT_TRUE(is_context_overflow(told.error())) << message;
        EXPECT_EQ(upstream.requests().size(), 1u);
    }
}

TEST(http_model, bytes_that_are_no_answer_are_an_error) {
    UpstreamReply nonsense;
    nonsense.as_is = "hello, who is there?\r\n\r\n";
    UpstreamReply half = plain(R"({"id":"c1","choices":[)");
    UpstreamReply empty = plain("{}");
    for (const UpstreamReply& reply : {nonsense, half, empty}) {
        Upstream upstream({reply});
        const Result<Reply> told = ask(endpoint_of(upstream));
        ASSERT_FALSE(told) << text_of(*told);
        EXPECT_EQ(upstream.requests().size(), 1u);
        // It is the server's fault, not that of whoever asked.
        EXPECT_NE(told.error().code, ErrorCode::invalid_request) << told.error().message;
        EXPECT_NE(told.error().code, ErrorCode::unprocessable) << told.error().message;
    }
}

TEST(http_model, that_asks_for_an_hour_is_not_waited_for) {
    UpstreamReply busy = refused(429, "come back later");
    busy.headers = {{"retry-after", "3600"}};
    Upstream upstream({busy, plain(chat_body)});
    const Result<Reply> told = ask(endpoint_of(upstream));
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, ErrorCode::rate_limited);
    EXPECT_EQ(upstream.requests().size(), 1u);
}

TEST(retry_after, is_read_as_seconds_or_as_a_date) {
    const Time now{std::chrono::seconds(784'111'777)};  // Sun, 06 Nov 1994 08:49:37 GMT
    const auto wait = [&](std::string value) {
        HttpResponse response(429, "");
        response.headers.set("Retry-After", std::move(value));
        return retry_after_ms(response, now);
    };
    EXPECT_EQ(wait("2"), 2000);
    EXPECT_EQ(wait("Sun, 06 Nov 1994 08:49:41 GMT"), 4000);
    EXPECT_EQ(wait("Sun, 06 Nov 1994 08:49:00 GMT"), 0);
    EXPECT_EQ(wait("soon"), 0);
    EXPECT_EQ(wait("3600"), -1);
}

TEST(http_model, a_request_that_got_no_answer_is_not_sent_twice) {
    UpstreamReply silent = plain(chat_body);
    silent.delay_ms = 2'000;
    Upstream upstream({silent, plain(chat_body)});
    Endpoint endpoint = endpoint_of(upstream);
    endpoint.first_byte_timeout_ms = 30;
    const Result<Reply> told = ask(endpoint);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, ErrorCode::outcome_unknown);
    EXPECT_EQ(upstream.requests().size(), 1u);
}

TEST(http_model, can_be_interrupted_while_it_waits) {
    UpstreamReply silent = plain(chat_body);
    silent.delay_ms = 5'000;
    Upstream upstream({silent});
    std::stop_source source;
    std::thread stopper([&] {
        while (upstream.requests().empty()) std::this_thread::yield();
        source.request_stop();
    });
    const std::vector<Message> messages = hello();
    const auto model = make_http_model(endpoint_of(upstream)).value();
    const Result<Reply> told = model->call({.messages = messages, .stop = source.get_token()}, {});
    stopper.join();
    ASSERT_FALSE(told);
    EXPECT_NE(told.error().message.find("interrupted"), std::string::npos);
}

TEST(http_model, keeps_its_connection_for_the_next_call) {
    Upstream upstream({plain(chat_body), plain(chat_body), plain(chat_body)});
    const auto model = make_http_model(endpoint_of(upstream)).value();
    const std::vector<Message> messages = hello();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(model->call({.messages = messages}, {}));
    EXPECT_EQ(upstream.connections(), 1);
}

TEST(http_model, its_key_reaches_the_server_and_no_error) {
    ::setenv("PAL_TEST_KEY", "sk-secret-123", 1);
    Upstream upstream({refused(401, "Incorrect API key provided: sk-secret-123")});
    Endpoint endpoint = endpoint_of(upstream);
    endpoint.key_env = "PAL_TEST_KEY";
    const Result<Reply> told = ask(endpoint);
    EXPECT_EQ(upstream.requests().at(0).header("authorization"), "Bearer sk-secret-123");
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().message.find("sk-secret"), std::string::npos) << told.error().message;
    // Nor where an answer is an error all the same, nor half of it where a long text is cut.
    const std::string filler(1990, 'y');
    for (const UpstreamReply& leak : {plain(R"({"error":{"message":"bad sk-secret-123"}})"),
                                      refused(400, filler + "sk-secret-123")}) {
        Upstream other({leak});
        endpoint.url = endpoint_of(other).url;
        const Result<Reply> shown = ask(endpoint);
        ASSERT_FALSE(shown);
        EXPECT_EQ(shown.error().message.find("sk-"), std::string::npos) << shown.error().message;
    }
    endpoint.url = endpoint_of(upstream).url;
    ::unsetenv("PAL_TEST_KEY");
    const Result<Reply> without = ask(endpoint);
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().code, ErrorCode::unauthorized);
    EXPECT_NE(without.error().message.find("PAL_TEST_KEY"), std::string::npos);
}

TEST(http_model, goes_through_the_proxy_that_it_is_given) {
    Upstream proxy({plain(chat_body)});
    Endpoint endpoint;
    endpoint.name = "m";
    endpoint.url = "http://models.example/v1";
    endpoint.proxy = "http://ann:p%40ss@127.0.0.1:" + std::to_string(proxy.port);
    EXPECT_EQ(text_of(ask(endpoint).value()), "Hello there");
    const HttpRequest sent = proxy.requests().at(0);
    EXPECT_EQ(sent.target, "http://models.example/v1/chat/completions");
    EXPECT_EQ(sent.header("proxy-authorization"), "Basic YW5uOnBAc3M=");
}

// Of so many words, each an event.
std::string many_words(FormatId format, std::size_t count) {
    const auto writer = make_stream_writer(format, {.id = "x", .model = "m"});
    std::string events = writer->begin();
    for (std::size_t i = 0; i < count; ++i)
        events += writer->add({.kind = StreamDelta::Kind::text, .text = "\"word\"\n"});
    return events + writer->end(StopReason::end, {});
}

TEST(http_model, an_answer_that_is_too_long_is_stopped_at_the_limit_and_kept_so_far) {
    for (const FormatId format :
         {FormatId::openai_chat, FormatId::openai_responses, FormatId::anthropic}) {
        Upstream upstream({event_stream_reply(many_words(format, 2000))});
        Endpoint endpoint = endpoint_of(upstream, format);
        endpoint.answer_bytes_max = 10'000;
        Pieces pieces{.enough = SIZE_MAX};
        const Reply reply = ask(endpoint, pieces.taker()).value();
        EXPECT_TRUE(reply.interrupted);
        EXPECT_EQ(reply.cut, ErrorCode::too_large);
        ASSERT_EQ(reply.messages.size(), 1u);
        EXPECT_LE(view_of(reply.messages[0].raw).size(), 10'000u) << format_name(format);
        EXPECT_GE(view_of(reply.messages[0].raw).size(), 8'000u) << format_name(format);
        EXPECT_EQ(text_of(reply), pieces.text) << "what was heard is kept";
        ASSERT_EQ(reply.warnings.size(), 1u);
        EXPECT_TRUE(reply.warnings[0].contains("message_bytes_max")) << reply.warnings[0];
    }
}

TEST(http_model, an_answer_in_one_piece_that_is_too_long_is_an_error_that_nobody_repeats) {
    for (const std::size_t bytes : {std::size_t{20'000}, std::size_t{5} << 20}) {
        Upstream upstream({plain(R"({"choices":[{"index":0,"finish_reason":"stop","message":)"
                                 R"({"role":"assistant","content":")" +
                                 std::string(bytes, 'x') + R"("}}]})")});
        Endpoint endpoint = endpoint_of(upstream);
        endpoint.answer_bytes_max = 10'000;
        const Error error = ask(endpoint).error();
        EXPECT_EQ(error.code, ErrorCode::upstream_failed);
        EXPECT_EQ(error.param, "message_bytes_max");
        EXPECT_TRUE(error.message.contains("10000 bytes")) << error.message;
        EXPECT_EQ(upstream.requests().size(), 1u);
    }
}

TEST(http_model, tells_a_stream_that_ends_too_early_from_one_that_nobody_wants_any_more) {
    UpstreamReply cut = event_stream_reply(many_words(FormatId::openai_chat, 20));
    cut.cut_at = cut.body.size() / 2;
    UpstreamReply silent = event_stream_reply(cut.body.substr(0, *cut.cut_at));
    Upstream upstream({cut, silent, event_stream_reply(many_words(FormatId::openai_chat, 20))});
    Pieces all{.enough = SIZE_MAX}, few{.enough = 20};
    EXPECT_EQ(ask(endpoint_of(upstream), all.taker()).value().cut, ErrorCode::upstream_failed);
    EXPECT_EQ(ask(endpoint_of(upstream), all.taker()).value().cut, ErrorCode::upstream_failed);
    const Reply left = ask(endpoint_of(upstream), few.taker()).value();
    EXPECT_TRUE(left.interrupted);
    EXPECT_EQ(left.cut, std::nullopt);
}

// What is sent of an answer that a model spoke.
std::string sent_of_spoken(std::string_view expires_at) {
    Upstream upstream({plain(chat_body)});
    const std::string answer =
        R"({"role":"assistant","content":null,"audio":{"id":"a1","transcript":"Hi","expires_at":)" +
        std::string(expires_at) + "}}";
    const FormatId chat = FormatId::openai_chat;
    const std::vector<Message> said = {make_message(chat, Role::user, "one").value(),
                                       read_message(chat, make_bytes(answer)).value(),
                                       make_message(chat, Role::user, "two").value()};
    EXPECT_TRUE(make_http_model(endpoint_of(upstream)).value()->call({.messages = said}, {}));
    return upstream.requests().at(0).body;
}

}  // namespace
TEST(http_model, refers_to_what_was_spoken_until_it_expires) {
    const std::string lives = sent_of_spoken("99999999999"), gone = sent_of_spoken("1700000000");
    EXPECT_TRUE(lives.contains(R"({"role":"assistant","content":null,"audio":{"id":"a1"}})"))
        << lives;
    EXPECT_TRUE(gone.contains(R"({"role":"assistant","content":"Hi","audio":null})")) << gone;
}

}  // namespace palimpsest
