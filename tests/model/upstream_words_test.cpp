// What whoever asks is told when a server breaks off, answers with something else, or refuses the
// key; and how long all tries of a call may take.
#include <gtest/gtest.h>

#include <cstdlib>

#include "palimpsest/format.h"
#include "palimpsest/model.h"
#include "support/upstream.h"

namespace palimpsest {
namespace {

constexpr std::string_view hello_event =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"}}]}"
    "\n\n";

Endpoint endpoint_at(const Upstream& upstream) {
    Endpoint endpoint;
    endpoint.name = "mine";
    endpoint.url = upstream.url();
    endpoint.proxy = "none";
    return endpoint;
}

Result<Reply> ask(const Endpoint& endpoint, bool streamed) {
    const std::vector<Message> said = {
        make_message(FormatId::openai_chat, Role::user, "Hello?").value()};
    OnPiece on_piece;
    if (streamed) on_piece = [](const StreamDelta&) { return true; };
    return make_http_model(endpoint).value()->call({.messages = said}, on_piece);
}

bool has(const std::vector<std::string>& warnings, std::string_view words) {
    for (const std::string& warning : warnings)
        if (warning.contains(words)) return true;
    return false;
}

}  // namespace

TEST(upstream_words, of_an_error_inside_a_stream_stay_with_what_came_before_it) {
    ::setenv("PAL_WORDS_KEY", "sk-secret-9", 1);
    Upstream upstream({event_stream_reply(std::string(hello_event) +
                                          "data: {\"error\":{\"message\":\"capacity lost for "
                                          "sk-secret-9\",\"type\":\"server_error\"}}"
                                          "\n\n")});
    Endpoint endpoint = endpoint_at(upstream);
    endpoint.key_env = "PAL_WORDS_KEY";
    const auto reply = ask(endpoint, true);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(reply->interrupted);
    EXPECT_TRUE(has(reply->warnings, "capacity lost for [key]")) << reply->warnings.size();
}

TEST(upstream_words, of_a_response_that_fails_stay_with_what_came_before_it) {
    const std::string delta =
        "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,"
        "\"content_index\":0,\"delta\":\"Hello\"}\n\n";
    const std::string failed =
        "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"output\":[],"
        "\"error\":{\"code\":\"server_error\",\"message\":\"Overloaded now\"}}}\n\n";
    Upstream upstream({event_stream_reply(delta + failed), event_stream_reply(failed)});
    Endpoint endpoint = endpoint_at(upstream);
    endpoint.format = FormatId::openai_responses;
    endpoint.retries = 0;
    const auto reply = ask(endpoint, true);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(reply->interrupted);
    EXPECT_TRUE(view_of(reply->messages.at(0).raw).contains("Hello"));
    EXPECT_TRUE(has(reply->warnings, "Overloaded now")) << reply->warnings.size();
    const auto refused = ask(endpoint, true);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().message;
}

TEST(upstream_words, behind_an_event_that_cannot_be_read_are_not_passed_on) {
    const std::string events =
        std::string(hello_event) +
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" to\"}}]}\n\n"
        "data: {not json\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" you\"},"
        "\"finish_reason\":\"stop\"}]}\n\n";
    UpstreamReply broken = event_stream_reply(events);
    broken.piece_bytes = hello_event.size();
    broken.hold_at = hello_event.size();
    Upstream upstream({broken});
    const std::vector<Message> said = {
        make_message(FormatId::openai_chat, Role::user, "Hello?").value()};
    std::string passed;
    const auto reply = make_http_model(endpoint_at(upstream))
                           .value()
                           ->call({.messages = said,
                                   .on_bytes =
                                       [&](std::string_view bytes) {
                                           passed += bytes;
                                           upstream.let_go();
                                           return true;
                                       }},
                                  {});
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(reply->interrupted);
    ASSERT_EQ(reply->messages.size(), 1u);
    EXPECT_TRUE(view_of(reply->messages[0].raw).contains("Hello to\""));
    EXPECT_TRUE(passed.contains(" to")) << passed;
    EXPECT_FALSE(passed.contains("not json\n\n")) << passed;
    EXPECT_FALSE(passed.contains(" you")) << passed;
}

TEST(upstream_words, a_cut_connection_is_told_and_a_listener_who_stops_is_not) {
    UpstreamReply cut = event_stream_reply(std::string(hello_event) + "data: {\"cho");
    cut.cut_at = cut.body.size();
    Upstream upstream({cut, cut});
    const auto reply = ask(endpoint_at(upstream), true);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(reply->interrupted);
    EXPECT_EQ(reply->warnings.size(), 1u);
    const std::vector<Message> said = {
        make_message(FormatId::openai_chat, Role::user, "Hello?").value()};
    const auto stopped = make_http_model(endpoint_at(upstream))
                             .value()
                             ->call({.messages = said}, [](const StreamDelta&) { return false; });
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_TRUE(stopped->interrupted);
    EXPECT_TRUE(stopped->warnings.empty()) << stopped->warnings.front();
}

TEST(upstream_words, an_error_event_before_anything_was_said_has_its_code) {
    const std::pair<std::string_view, ErrorCode> rows[] = {
        {R"({"error":{"message":"Try later","type":"overloaded_error"}})", ErrorCode::unavailable},
        {R"({"error":{"message":"Slow down","code":"rate_limit_exceeded"}})",
         ErrorCode::rate_limited},
        {R"({"error":{"message":"no","code":"x"}})", ErrorCode::upstream_failed}};
    for (const auto& [event, code] : rows) {
        const UpstreamReply refused = event_stream_reply("data: " + std::string(event) + "\n\n");
        Upstream upstream({refused, event_stream_reply(std::string(hello_event))});
        Endpoint endpoint = endpoint_at(upstream);
        endpoint.retries = 0;
        const auto reply = ask(endpoint, true);
        ASSERT_FALSE(reply);
        EXPECT_EQ(reply.error().code, code) << reply.error().message;
        // What is refused for now is asked again, as if the status had said so.
        upstream.play({refused, event_stream_reply(std::string(hello_event))});
        endpoint.retries = 1;
        EXPECT_EQ(ask(endpoint, true).has_value(), code != ErrorCode::upstream_failed);
    }
    Upstream upstream({event_stream_reply(
        "data: {\"error\":{\"message\":\"no\",\"code\":\"context_length_exceeded\"}}\n\n")});
    EXPECT_TRUE(is_context_overflow(ask(endpoint_at(upstream), true).error()));
}

TEST(upstream_words, success_without_an_answer_says_what_came_and_where_to_look) {
    UpstreamReply page{.type = "text/html", .body = "<html><title>Welcome to nginx</title></html>"};
    UpstreamReply nothing{.body = ""};
    UpstreamReply other{.body = R"({"models":["llama3"]})"};
    for (const bool streamed : {false, true}) {
        Upstream upstream({page, nothing, other});
        const Endpoint endpoint = endpoint_at(upstream);
        for (const std::string_view words : {"Welcome to nginx", "an empty body", "llama3"}) {
            const auto reply = ask(endpoint, streamed);
            ASSERT_FALSE(reply);
            EXPECT_EQ(reply.error().code, ErrorCode::upstream_failed);
            EXPECT_TRUE(reply.error().message.contains(words)) << reply.error().message;
            EXPECT_TRUE(reply.error().message.contains("url")) << reply.error().message;
        }
    }
    ::setenv("PAL_WORDS_KEY", "sk-secret-9", 1);
    Upstream upstream({UpstreamReply{.type = "text/html", .body = "<p>you sent sk-secret-9</p>"}});
    Endpoint endpoint = endpoint_at(upstream);
    endpoint.key_env = "PAL_WORDS_KEY";
    const auto reply = ask(endpoint, false);
    ASSERT_FALSE(reply);
    EXPECT_TRUE(reply.error().message.contains("text/html")) << reply.error().message;
    EXPECT_FALSE(reply.error().message.contains("sk-secret")) << reply.error().message;
}

TEST(upstream_words, a_refused_key_is_told_with_where_it_comes_from) {
    ::setenv("PAL_WORDS_KEY", "sk-secret-9", 1);
    for (const int status : {401, 403}) {
        const UpstreamReply refused{.status = status, .body = R"({"error":{"message":"bad key"}})"};
        Upstream upstream({refused, refused});
        Endpoint endpoint = endpoint_at(upstream);
        auto told = ask(endpoint, false);
        ASSERT_FALSE(told);
        EXPECT_TRUE(told.error().message.contains("key_env")) << told.error().message;
        EXPECT_TRUE(told.error().message.contains("[models.mine]")) << told.error().message;
        endpoint.key_env = "PAL_WORDS_KEY";
        told = ask(endpoint, false);
        ASSERT_FALSE(told);
        EXPECT_TRUE(told.error().message.contains("PAL_WORDS_KEY")) << told.error().message;
        EXPECT_FALSE(told.error().message.contains("sk-secret")) << told.error().message;
    }
}

TEST(upstream_words, settings_that_cannot_be_name_the_model) {
    Endpoint endpoint;
    endpoint.name = "mine";
    for (const char* url : {"https://me:secret@api.example.com/v1", "ftp://x", "not a url"}) {
        endpoint.url = url;
        const auto model = make_http_model(endpoint);
        ASSERT_FALSE(model) << url;
        EXPECT_TRUE(model.error().message.contains("mine")) << model.error().message;
        EXPECT_FALSE(model.error().message.contains("secret")) << model.error().message;
    }
}

TEST(upstream_words, an_answer_under_another_role_is_the_assistants) {
    for (const std::string role : {"user", "system", "developer"}) {
        const std::string plain = R"({"choices":[{"message":{"role":")" + role +
                                  R"(","content":"Hello","extra":1},"finish_reason":"stop"}]})";
        const std::string events =
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"" + role +
            "\",\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        Upstream upstream({UpstreamReply{.body = plain}, event_stream_reply(events)});
        for (const bool streamed : {false, true}) {
            const auto reply = ask(endpoint_at(upstream), streamed);
            ASSERT_TRUE(reply) << reply.error().message;
            ASSERT_EQ(reply->messages.size(), 1u);
            EXPECT_EQ(reply->messages[0].shape.role, Role::assistant) << role;
            EXPECT_TRUE(has(reply->warnings, "'" + role + "'")) << role;
            EXPECT_TRUE(view_of(reply->messages[0].raw).contains("Hello"));
        }
    }
}

// The server asks for a second before each try, and the whole may take a fifth of one.
TEST(upstream_words, the_total_time_bounds_all_tries_together) {
    UpstreamReply busy{.status = 429, .body = R"({"error":{"message":"busy"}})"};
    busy.headers = {{"retry-after", "1"}};
    Upstream upstream({busy, busy, busy});
    Endpoint endpoint = endpoint_at(upstream);
    endpoint.total_timeout_ms = 200;
    const auto told = ask(endpoint, false);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, ErrorCode::rate_limited) << told.error().message;
    EXPECT_EQ(upstream.requests().size(), 1u);
    // What is left after the first try is what the second one has.
    UpstreamReply slow{.status = 503, .body = R"({"error":{"message":"busy"}})"};
    slow.headers = {{"retry-after-ms", "1"}};
    slow.delay_ms = 150;
    UpstreamReply late{.body = R"({"choices":[]})"};
    late.delay_ms = 5'000;
    Upstream second({slow, late});
    endpoint = endpoint_at(second);
    endpoint.total_timeout_ms = 300;
    const auto begun = std::chrono::steady_clock::now();
    ASSERT_FALSE(ask(endpoint, false));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
    EXPECT_EQ(second.requests().size(), 2u);
}

TEST(upstream_words, compressed_bytes_are_not_asked_for_and_stand_in_no_message) {
    const std::string packed("\x1f\x8b\x08\x00\x00\xff\xfe packed", 14);
    UpstreamReply success{.body = packed, .headers = {{"Content-Encoding", "gzip"}}};
    Upstream upstream({success, {.status = 400, .body = packed}});
    for (const bool streamed : {true, false}) {
        const Error error = ask(endpoint_at(upstream), streamed).error();
        EXPECT_EQ(error.code, ErrorCode::upstream_failed);
        EXPECT_TRUE(error.message.contains("14 bytes")) << error.message;
        EXPECT_FALSE(error.message.contains("packed")) << error.message;
        EXPECT_EQ(error.message.contains("gzip"), streamed) << error.message;
    }
    EXPECT_EQ(upstream.requests().at(0).header("accept-encoding"), "identity");
}

}  // namespace palimpsest
