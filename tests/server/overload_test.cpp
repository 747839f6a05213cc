// Too much at once: what is refused is refused quickly and says when to come again; the rest goes
// on.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "server/gateway.h"

namespace palimpsest {
namespace {

const std::string hello = R"({"role":"user","content":"hello"})";

void wait_until(const std::function<bool()>& true_now) {
    for (int i = 0; i < 2000 && !true_now(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(true_now());
}

bool shows(const Gateway& gateway, const std::string& line) {
    return gateway.get("/metrics").response.body.contains("\n" + line + "\n");
}

void expect_busy(const Told& told) {
    EXPECT_EQ(told.status(), 503) << told.response.body;
    EXPECT_EQ(told.error("code"), "unavailable");
    EXPECT_EQ(told.header("Retry-After"), "1");
    EXPECT_EQ(told.header("x-should-retry"), "");
    EXPECT_TRUE(told.header("x-request-id").starts_with("req_"));
}

TEST(overload, a_request_that_finds_a_full_queue_is_refused_at_once) {
    ServerOptions options;
    options.turns_max = 1;
    options.terms.limits.queue_max = 0;
    UpstreamReply late = says(FormatId::openai_chat, "late");
    late.hold_at = 0;
    Gateway gateway(FormatId::openai_chat, {late}, options);
    std::thread first([&] { EXPECT_EQ(chat_text(gateway.chat(hello)), "late"); });
    wait_until([&] { return !gateway.upstream.requests().empty(); });
    expect_busy(gateway.chat(hello));
    EXPECT_EQ(gateway.message(hello).error("type"), "overloaded_error");
    EXPECT_EQ(gateway.get("/healthz").status(), 200);
    EXPECT_EQ(gateway.get(conversations).status(), 200) << "the store has threads of its own";
    EXPECT_TRUE(shows(gateway, "memory_turns_running 1"));
    // Who waits for a model holds no thread, once it has come to waiting.
    wait_until(
        [&] { return shows(gateway, R"(memory_queue_threads{queue="model",state="busy"} 0)"); });
    EXPECT_TRUE(shows(gateway, R"(memory_queue_length{queue="model"} 0)"));
    EXPECT_TRUE(shows(gateway, R"(memory_refused_total{reason="queue"} 2)"));
    gateway.upstream.let_go();
    first.join();
    EXPECT_EQ(gateway.upstream.requests().size(), 1u);
}

TEST(overload, a_stream_more_than_allowed_is_refused_and_plain_answers_are_not) {
    ServerOptions options;
    options.terms.limits.streams_max = 1;
    UpstreamReply slow = tells(FormatId::openai_chat, "one two three four five");
    slow.piece_bytes = slow.hold_at.emplace(200);
    Gateway gateway(FormatId::openai_chat, {slow, says(FormatId::openai_chat, "plain")}, options);
    std::thread first([&] {
        EXPECT_EQ(stream_text(FormatId::openai_chat, gateway.chat(hello, {}, R"("stream":true)")),
                  "one two three four five");
    });
    wait_until([&] { return !gateway.upstream.requests().empty(); });
    expect_busy(gateway.chat(hello, {}, R"("stream":true)"));
    EXPECT_EQ(chat_text(gateway.chat(hello)), "plain");
    EXPECT_TRUE(shows(gateway, R"(memory_refused_total{reason="streams"} 1)"));
    gateway.upstream.let_go();
    first.join();
}

// Each of the four is a stream that was asked for and of which nothing has come yet.
TEST(overload, a_stream_has_its_place_before_its_first_byte_and_until_its_end) {
    const std::pair<std::string, std::string> asked[] = {
        {"/v1/chat/completions", R"({"model":"m","stream":true,"messages":[)" + hello + "]}"},
        {"/v1/messages",
         R"({"model":"m","max_tokens":50,"stream":true,"messages":[)" + hello + "]}"},
        {"/v1/responses", R"({"model":"m","stream":true,"input":"hello"})"},
        {"/api/v1/chat", R"({"stream":true,"message":"hello"})"}};
    for (const auto& [path, body] : asked) {
        ServerOptions options;
        options.terms.limits.streams_max = 1;
        UpstreamReply late = tells(FormatId::openai_chat, "late");
        late.hold_at = 0;
        Gateway gateway(FormatId::openai_chat, {late, tells(FormatId::openai_chat, "again")},
                        options);
        std::thread first(
            [&] { EXPECT_TRUE(gateway.post(path, body).response.body.contains("late")) << path; });
        wait_until([&] { return !gateway.upstream.requests().empty(); });
        for (const auto& [other, another] : asked)
            EXPECT_EQ(gateway.post(other, another).status(), 503) << path << " then " << other;
        EXPECT_TRUE(shows(gateway, "memory_open_streams 1"));
        EXPECT_TRUE(shows(gateway, R"(memory_refused_total{reason="streams"} 4)"));
        gateway.upstream.let_go();
        first.join();
        wait_until([&] { return shows(gateway, "memory_open_streams 0"); });
        EXPECT_TRUE(gateway.post(path, body).response.body.contains("again")) << path;
    }
}

// On a machine that is busy itself nothing may have come when the time is over, so there is more of
// it until something has.
TEST(overload, a_request_that_takes_too_long_is_stopped_and_what_was_said_is_kept) {
    ServerOptions options;
    options.terms.limits.request_timeout_ms = 300;
    UpstreamReply late = says(FormatId::openai_chat, "late");
    late.hold_at = 0;
    UpstreamReply slow = tells(FormatId::openai_chat, "one two three four five six");
    slow.piece_bytes = slow.hold_at.emplace(400);
    Gateway gateway(FormatId::openai_chat, {late}, options);
    EXPECT_GE(gateway.chat(hello).status(), 502);
    Told told;
    for (int& ms = options.terms.limits.request_timeout_ms; ms < 40'000; ms *= 4) {
        gateway.server->reload(options.terms);
        gateway.upstream.add(slow);
        told = gateway.chat(hello, in_alice, R"("stream":true)");
        if (told.response.body.contains("one")) break;
    }
    EXPECT_FALSE(told.response.body.contains("six"));
    const auto log = gateway.memory.log({"default", "alice"}, {.kinds = only(EntryKind::message)});
    ASSERT_TRUE(log);
    ASSERT_EQ(log->size(), 2u);
    EXPECT_TRUE(std::get<MessageEntry>(log->at(1).body).interrupted);
}

TEST(overload, a_list_that_is_too_long_is_refused_wherever_it_stands) {
    ServerOptions options;
    options.terms.limits.items_max = 2;
    const Running running("memory:", options);
    const std::pair<std::string, std::string> bodies[] = {
        {R"({"messages":[1,2,3]})", "messages"},
        {R"({"messages":[{"role":"user","content":[1,2,3]}]})", "content"},
        {R"({"parameters":{"stop":["a","b","c"]},"message":"hi"})", "stop"}};
    for (const auto& [body, param] : bodies) {
        const Told told = running.ask("POST", "/api/v1/chat", body);
        EXPECT_EQ(told.status(), 413) << body;
        EXPECT_EQ(told.error("param"), param) << body;
    }
    EXPECT_EQ(
        running.ask("POST", "/api/v1/chat", R"({"parameters":{"stop":["a","b"]},"message":"hi"})")
            .status(),
        200);
}

TEST(overload, limits_can_be_changed_while_it_runs) {
    Running running;
    const std::string body = R"({"id":"a","metadata":{"x":")" + std::string(500, 'x') + "\"}}";
    EXPECT_EQ(running.ask("POST", conversations, body).status(), 201);
    ServerTerms terms;
    terms.limits.body_bytes_max = 100;
    running.server().reload(terms);
    EXPECT_EQ(running.ask("POST", conversations, body).status(), 413);
}

}  // namespace
}  // namespace palimpsest
