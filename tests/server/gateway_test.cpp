// Clients of OpenAI's and Anthropic's APIs in front of upstreams of each format.
#include "server/gateway.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

using testing_support::assistant;
using testing_support::result;
using testing_support::user;
constexpr FormatId chat_format = FormatId::openai_chat;

// ---- stateless ----------------------------------------------------------------------------------

TEST(gateway, passes_a_request_of_the_models_own_format_on_as_it_is) {
    Gateway gateway(chat_format, {{.body = R"({"any":"thing", "choices":[] })"}});
    const std::string body = R"({ "model" : "m", "messages":[{"role":"user","content":"a"}],)"
                             R"("odd_field": [1, 2.50],"logprobs":true })";
    const Told told = gateway.post("/v1/chat/completions", body);
    EXPECT_EQ(told.status(), 200);
    EXPECT_EQ(told.response.body, R"({"any":"thing", "choices":[] })");
    EXPECT_EQ(gateway.upstream.requests().at(0).body,
              R"({ "model" : "upstream-model", "messages":[{"role":"user","content":"a"}],)"
              R"("odd_field": [1, 2.50],"logprobs":true })");
    EXPECT_EQ(gateway.upstream.requests().at(0).target, "/v1/chat/completions");
}

TEST(gateway, passes_the_upstreams_refusal_on_with_its_status) {
    Gateway gateway(FormatId::anthropic,
                    {{.status = 429,
                      .body = R"({"type":"error","error":{"type":"rate_limit_error"}})",
                      .headers = {{"Retry-After", "7"}}}});
    const Told told = gateway.message(user("a"), {{"anthropic-beta", "some-beta"}});
    EXPECT_EQ(told.status(), 429);
    EXPECT_EQ(told.header("Retry-After"), "7");
    EXPECT_EQ(told.error("type"), "rate_limit_error");
    EXPECT_EQ(gateway.upstream.requests().at(0).header("anthropic-beta"), "some-beta");
}

TEST(gateway, passes_the_events_of_a_stream_on_byte_for_byte) {
    Gateway gateway(chat_format, {tells(chat_format, "one two")});
    const Told told = gateway.chat(user("a"), {}, R"("stream":true)");
    EXPECT_TRUE(told.header("Content-Type").starts_with("text/event-stream"));
    EXPECT_TRUE(told.header("x-request-id").starts_with("req_"));
    EXPECT_EQ(told.response.body, told_events(chat_format, "one two"));
}

TEST(gateway, answers_a_stream_that_never_began_with_a_status) {
    Gateway gateway(chat_format, {{.status = 503, .body = R"({"error":{"message":"busy"}})"}});
    const Told told = gateway.chat(user("a"), {}, R"("stream":true)");
    EXPECT_EQ(told.status(), 503);
    EXPECT_EQ(told.error("message"), "busy");
}

TEST(gateway, speaks_chat_in_front_of_every_format) {
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "hi there"), tells(format, "hi there")});
        const Told plain = gateway.chat(user("a"));
        EXPECT_EQ(chat_text(plain), "hi there") << format_name(format);
        const Told streamed = gateway.chat(user("a"), {}, R"("stream":true)");
        EXPECT_EQ(stream_text(chat_format, streamed), "hi there") << streamed.response.body;
        EXPECT_TRUE(streamed.response.body.ends_with("data: [DONE]\n\n"));
    }
}

TEST(gateway, speaks_anthropic_in_front_of_every_format) {
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "hi there"), tells(format, "hi there")});
        const Told plain = gateway.message(user("a"), {}, R"("system":"be brief")");
        EXPECT_EQ(message_text(plain), "hi there") << format_name(format);
        EXPECT_EQ(plain.text("stop_reason"), "end_turn");
        const Told streamed = gateway.message(user("a"), {}, R"("stream":true)");
        EXPECT_EQ(stream_text(FormatId::anthropic, streamed), "hi there") << streamed.response.body;
        EXPECT_TRUE(gateway.upstream.requests().at(0).body.contains("be brief"));
    }
}

TEST(gateway, carries_tools_over_both_ways) {
    Gateway gateway(FormatId::anthropic,
                    {{.body = R"({"id":"msg_1","type":"message","role":"assistant","model":"x",)"
                              R"("content":[{"type":"tool_use","id":"c1","name":"look",)"
                              R"("input":{"at":1}}],"stop_reason":"tool_use","usage":{}})"}});
    const Told told = gateway.chat(
        user("a"), {},
        R"("tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])");
    const JsonValue choice = *told.json().find("choices")->elements().begin();
    EXPECT_EQ(choice.find("finish_reason")->string(), "tool_calls");
    const JsonValue call = *choice.find("message")->find("tool_calls")->elements().begin();
    EXPECT_EQ(call.find("id")->string(), "c1");
    EXPECT_EQ(call.find("function")->find("arguments")->string(), R"({"at":1})");
    const JsonDocument sent = gateway.sent(0);
    const JsonValue tool = *sent.root().find("tools")->elements().begin();
    EXPECT_TRUE(tool.find("input_schema"));
}

TEST(gateway, gives_the_usage_chunk_to_those_who_ask_for_it) {
    for (const FormatId format : {chat_format, FormatId::anthropic}) {
        Gateway gateway(format, {tells(format, "hi"), tells(format, "hi")});
        const Told without = gateway.chat(user("a"), in_alice, R"("stream":true)");
        EXPECT_FALSE(without.response.body.contains("prompt_tokens")) << without.response.body;
        const Told with = gateway.chat(user("b"), in_alice,
                                       R"("stream":true,"stream_options":{"include_usage":true})");
        EXPECT_TRUE(with.response.body.contains("\"prompt_tokens\":11")) << with.response.body;
    }
}

TEST(gateway, refuses_several_answers_where_the_model_gives_one) {
    Gateway gateway(FormatId::anthropic);
    const Told told = gateway.chat(user("a"), {}, R"("n":2)");
    EXPECT_EQ(told.status(), 400);
    EXPECT_EQ(told.error("param"), "n");
}

TEST(gateway, says_what_it_could_not_carry_over) {
    Gateway gateway(FormatId::anthropic, {says(FormatId::anthropic, "hi")});
    const Told told = gateway.chat(user("a"), {}, R"("logit_bias":{"50256":-100})");
    EXPECT_EQ(told.status(), 200);
    EXPECT_TRUE(told.header("x-warnings").contains("logit_bias")) << told.header("x-warnings");
}

TEST(gateway, refuses_an_unknown_model_by_its_name) {
    Gateway gateway(chat_format);
    const Told told = gateway.post("/v1/chat/completions", R"({"model":"gpt-9","messages":[{}]})");
    EXPECT_EQ(told.status(), 404);
    EXPECT_EQ(told.error("param"), "model");
    EXPECT_TRUE(told.error("message").contains("there is: m"));
}

TEST(gateway, shows_errors_in_the_shape_that_the_client_knows) {
    Gateway gateway(chat_format);
    const Told told = gateway.post("/v1/messages", R"({"model":"m","messages":[]})");
    EXPECT_EQ(told.status(), 400);
    EXPECT_EQ(told.text("type"), "error");
    EXPECT_EQ(told.error("type"), "invalid_request_error");
    EXPECT_EQ(gateway.post("/v1/messages", "{").text("type"), "error");
    EXPECT_EQ(gateway.post("/v1/chat/completions", "{").error("code"), "invalid_request");
}

TEST(gateway, tells_in_the_stream_that_the_upstream_broke_off) {
    UpstreamReply cut = tells(chat_format, "one two three");
    cut.cut_at = cut.body.find("three");
    Gateway gateway(chat_format, {cut, cut});
    const Told passed = gateway.chat(user("a"), {}, R"("stream":true)");
    EXPECT_TRUE(passed.response.body.contains(R"({"error":)")) << passed.response.body;
    EXPECT_FALSE(passed.response.body.contains("[DONE]"));
    const Told kept = gateway.chat(user("a"), in_alice, R"("stream":true)");
    EXPECT_TRUE(kept.response.body.contains("broke off")) << kept.response.body;
    EXPECT_FALSE(kept.response.body.contains("[DONE]"));
    EXPECT_EQ(gateway.view("alice"), "a one two ");
}

// ---- stateful -----------------------------------------------------------------------------------

TEST(gateway_turn, is_named_by_a_header_or_a_field_of_the_body) {
    Gateway gateway(chat_format, {says(chat_format, "one"), says(chat_format, "two"),
                                  says(chat_format, "three")});
    const Told first = gateway.chat(user("a"), in_alice);
    EXPECT_EQ(chat_text(first), "one");
    EXPECT_EQ(first.header("X-Conversation-Id"), "alice");
    EXPECT_EQ(chat_text(gateway.chat(user("b"), {}, R"("conversation":"alice")")), "two");
    EXPECT_EQ(chat_text(gateway.chat(user("c"), {}, R"("conversation":{"id":"alice"})")), "three");
    EXPECT_EQ(gateway.view("alice"), "a one b two c three");
    const Told both = gateway.chat(user("d"), in_alice, R"("conversation":"bob")");
    EXPECT_EQ(both.status(), 400);
    EXPECT_EQ(both.error("param"), "conversation");
}

TEST(gateway_turn, sends_the_whole_conversation_to_an_upstream_of_each_format) {
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "one"), tells(format, "two three")});
        EXPECT_EQ(chat_text(gateway.chat(user("a"), in_alice)), "one");
        const Told told = gateway.chat(user("b"), in_alice, R"("stream":true)");
        EXPECT_EQ(stream_text(chat_format, told), "two three");
        EXPECT_EQ(told.header("X-Conversation-Id"), "alice");
        EXPECT_EQ(gateway.view("alice"), "a one b two three") << format_name(format);
        const JsonDocument sent = gateway.sent(1);
        const auto list =
            sent.root().find(format == FormatId::openai_responses ? "input" : "messages");
        EXPECT_EQ(list->size(), 3u) << list->raw();
    }
}

TEST(gateway_turn, stores_a_full_resend_once_whatever_is_behind) {
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "one"), says(format, "two"), says(format, "three")});
        gateway.chat(user("a"), in_alice);
        gateway.chat(user("a") + "," + assistant("one") + "," + user("b"), in_alice);
        EXPECT_EQ(gateway.view("alice"), "a one b two") << format_name(format);
        gateway.chat(user("a") + "," + assistant("one") + "," + user("other"), in_alice);
        EXPECT_EQ(gateway.view("alice"), "a one other three") << format_name(format);
    }
}

TEST(gateway_turn, stores_anthropics_full_resend_once) {
    Gateway gateway(chat_format, {says(chat_format, "one"), says(chat_format, "two")});
    const std::string said = R"({"role":"user","content":[{"type":"text","text":"a"}]})";
    EXPECT_EQ(message_text(gateway.message(said, in_alice, R"("system":"be brief")")), "one");
    const Told told = gateway.message(
        said + R"(,{"role":"assistant","content":[{"type":"text","text":"one"}]},)" + user("b"),
        in_alice, R"("system":[{"type":"text","text":"be brief"}])");
    EXPECT_EQ(message_text(told), "two");
    EXPECT_EQ(gateway.view("alice"), "a one b two");
    const JsonDocument sent = gateway.sent(1);
    EXPECT_EQ(sent.root().find("messages")->size(), 4u) << sent.root().raw();
}

TEST(gateway_turn, keeps_calls_and_results_together) {
    const std::string call =
        R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
        R"("function":{"name":"look","arguments":"{}"}}]})";
    Gateway gateway(chat_format,
                    {{.body = R"({"id":"x","object":"chat.completion","created":1,"model":"u",)"
                              R"("choices":[{"index":0,"message":)" +
                              call + R"(,"finish_reason":"tool_calls"}]})"},
                     says(chat_format, "found")});
    const std::string tools =
        R"("tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])";
    gateway.chat(user("a"), in_alice, tools);
    EXPECT_EQ(
        chat_text(gateway.chat(user("a") + "," + call + "," + result("c1", "it"), in_alice, tools)),
        "found");
    EXPECT_EQ(gateway.view("alice"), "a call:c1 it found");
}

TEST(gateway_turn, gives_a_finished_turn_again_when_the_client_repeats_it) {
    Gateway gateway(chat_format, {says(chat_format, "one"), says(chat_format, "two")});
    gateway.chat(user("a"), in_alice);
    HeaderFields repeat = in_alice;
    repeat.emplace_back("x-stainless-retry-count", "1");
    const Told again = gateway.chat(user("a"), repeat);
    EXPECT_EQ(chat_text(again), "one");
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
    EXPECT_EQ(gateway.view("alice"), "a one");
    // Another body is no repeat, whatever the client counts.
    EXPECT_EQ(chat_text(gateway.chat(user("b"), repeat)), "two");
    // Streamed, it comes as events.
    const Told streamed = gateway.chat(user("b"), repeat, R"("stream":true)");
    EXPECT_EQ(streamed.status(), 502) << "another body: the script is over";
}

TEST(gateway_turn, gives_a_finished_stream_again_as_a_stream) {
    for (const FormatId format : every_format) {
        Gateway gateway(format, {tells(format, "one two")});
        gateway.chat(user("a"), in_alice, R"("stream":true)");
        HeaderFields repeat = in_alice;
        repeat.emplace_back("x-stainless-retry-count", "2");
        const Told again = gateway.chat(user("a"), repeat, R"("stream":true)");
        EXPECT_EQ(stream_text(chat_format, again), "one two") << again.response.body;
        EXPECT_EQ(gateway.upstream.requests().size(), 1u);
        EXPECT_EQ(gateway.view("alice"), "a one two");
    }
}

TEST(gateway_turn, honours_an_idempotency_key) {
    Gateway gateway(chat_format, {says(chat_format, "one")});
    HeaderFields keyed = in_alice;
    keyed.emplace_back("Idempotency-Key", "k");
    EXPECT_EQ(chat_text(gateway.chat(user("a"), keyed)), "one");
    EXPECT_EQ(chat_text(gateway.chat(user("a"), keyed)), "one");
    EXPECT_EQ(gateway.upstream.requests().size(), 1u);
    EXPECT_EQ(gateway.chat(user("b"), keyed).status(), 422);
}

TEST(gateway_turn, stores_nothing_twice_when_the_upstream_failed_before) {
    Gateway gateway(chat_format, {{.status = 500, .body = "{}"},
                                  says(chat_format, "one"),
                                  {.status = 500, .body = "{}"},
                                  says(chat_format, "two")});
    const Told failed = gateway.chat(user("a"), in_alice);
    EXPECT_EQ(failed.status(), 502);
    EXPECT_EQ(failed.header("x-should-retry"), "");  // a repeat is recognised
    EXPECT_EQ(chat_text(gateway.chat(user("a"), in_alice)), "one");
    EXPECT_EQ(gateway.view("alice"), "a one");
    HeaderFields repeat = in_alice;
    EXPECT_EQ(gateway.chat(user("b"), repeat).status(), 502);
    repeat.emplace_back("x-stainless-retry-count", "1");
    EXPECT_EQ(chat_text(gateway.chat(user("b"), repeat)), "two");
    EXPECT_EQ(gateway.view("alice"), "a one b two");
}

TEST(gateway_turn, lets_a_repeat_wait_for_the_turn_that_is_running) {
    UpstreamReply slow = says(chat_format, "one");
    slow.delay_ms = 300;
    Gateway gateway(chat_format, {slow});
    std::string first, second;
    std::thread early([&] { first = chat_text(gateway.chat(user("a"), in_alice)); });
    while (gateway.upstream.requests().empty()) std::this_thread::yield();
    second = chat_text(gateway.chat(user("a"), in_alice));
    early.join();
    EXPECT_EQ(first, "one");
    EXPECT_EQ(second, "one");
    EXPECT_EQ(gateway.upstream.requests().size(), 1u);
    EXPECT_EQ(gateway.view("alice"), "a one");
}

TEST(gateway_turn, understands_a_repeat_of_a_client_that_went_before_its_answer) {
    UpstreamReply slow = says(chat_format, "one");
    slow.delay_ms = 300;
    Gateway gateway(chat_format, {slow, says(chat_format, "two")});
    {
        HttpClient hasty(
            parse_url("http://127.0.0.1:" + std::to_string(gateway.server->port())).value(),
            {.first_byte_timeout_ms = 50});
        EXPECT_FALSE(hasty.send(
            request_of("POST", "/v1/chat/completions",
                       R"({"model":"m","messages":[{"role":"user","content":"a"}]})", in_alice)));
    }
    for (int i = 0; i < 500 && gateway.view("alice") != "a one"; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(chat_text(gateway.chat(user("a"), in_alice)), "one");
    EXPECT_EQ(gateway.view("alice"), "a one");
    // It has its answer now: the same words are said again.
    EXPECT_EQ(chat_text(gateway.chat(user("a"), in_alice)), "two");
    EXPECT_EQ(gateway.view("alice"), "a one a two");
}

TEST(gateway_turn, keeps_what_came_when_the_client_goes) {
    UpstreamReply slow = tells(chat_format, "one two three four five six seven eight");
    slow.piece_bytes = 400;
    slow.piece_delay_ms = 50;
    Gateway gateway(chat_format, {slow, says(chat_format, "whole")});
    {
        HttpClient client = gateway.client();
        const auto cut = client.stream(
            request_of("POST", "/v1/chat/completions",
                       R"({"messages":[{"role":"user","content":"a"}],"stream":true})", in_alice),
            [](std::string_view bytes) { return !bytes.contains("one"); });
        EXPECT_FALSE(cut);
    }
    for (int i = 0; i < 500 && !gateway.view("alice").contains("one"); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto view = gateway.memory.view({"default", "alice"});
    ASSERT_EQ(view->items.size(), 2u);
    EXPECT_TRUE(view->items[1].interrupted);
    EXPECT_FALSE(gateway.view("alice").contains("eight"));
    // Asked again, the partial answer makes room for a whole one.
    EXPECT_EQ(chat_text(gateway.chat(user("a"), in_alice)), "whole");
    EXPECT_EQ(gateway.view("alice"), "a whole");
}

TEST(gateway_turn, tells_in_the_stream_that_its_answer_could_not_be_stored) {
    UpstreamReply slow = tells(chat_format, "one two three");
    slow.piece_bytes = 300;
    slow.piece_delay_ms = 100;
    Gateway gateway(chat_format, {slow});
    Told told;
    std::thread asking([&] { told = gateway.chat(user("a"), in_alice, R"("stream":true)"); });
    while (gateway.upstream.requests().empty()) std::this_thread::yield();
    ASSERT_TRUE(gateway.memory.erase({"default", "alice"}));
    asking.join();
    EXPECT_EQ(told.status(), 200);
    EXPECT_TRUE(told.response.body.contains("three")) << told.response.body;
    EXPECT_TRUE(told.response.body.contains(R"({"error":)")) << told.response.body;
    EXPECT_FALSE(told.response.body.contains("[DONE]")) << told.response.body;
}

TEST(gateway_turn, is_kept_as_far_as_it_came_when_the_server_is_stopped) {
    UpstreamReply slow = tells(chat_format, "one two three four five six seven eight nine ten");
    slow.piece_bytes = 200;
    slow.piece_delay_ms = 100;
    Gateway gateway(chat_format, {slow});
    std::atomic<bool> heard = false;
    std::thread asking([&] {
        HttpClient client = gateway.client();
        (void)client.stream(
            request_of("POST", "/v1/chat/completions",
                       R"({"messages":[{"role":"user","content":"a"}],"stream":true})", in_alice),
            [&](std::string_view bytes) {
                heard = heard || bytes.contains("one");
                return true;
            });
    });
    while (!heard) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gateway.server->stop(std::chrono::milliseconds(0));
    asking.join();
    const auto view = gateway.memory.view({"default", "alice"});
    ASSERT_EQ(view->items.size(), 2u);
    EXPECT_TRUE(view->items[1].interrupted);
    EXPECT_TRUE(gateway.view("alice").starts_with("a one")) << gateway.view("alice");
    EXPECT_FALSE(gateway.view("alice").contains("ten"));
}

TEST(gateway_turn, is_brought_to_its_end_without_the_client_when_so_told) {
    UpstreamReply slow = tells(chat_format, "one two three");
    slow.piece_bytes = 400;
    slow.piece_delay_ms = 30;
    Gateway gateway(chat_format, {slow}, {.finish_abandoned = true});
    {
        HttpClient client = gateway.client();
        (void)client.stream(
            request_of("POST", "/v1/chat/completions",
                       R"({"messages":[{"role":"user","content":"a"}],"stream":true})", in_alice),
            [](std::string_view) { return false; });
    }
    for (int i = 0; i < 500 && gateway.view("alice") != "a one two three"; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(gateway.view("alice"), "a one two three");
}

TEST(gateway_turn, compacts_by_anthropics_context_management) {
    const std::string use =
        R"({"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{}}]})";
    const std::string more =
        R"({"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"look","input":{}}]})";
    const auto result_of = [](const std::string& id) {
        return R"({"role":"user","content":[{"type":"tool_result","tool_use_id":")" + id +
               R"(","content":")" + std::string(400, 'x') + R"("}]})";
    };
    const std::string history =
        user("a") + "," + use + "," + result_of("t1") + "," + more + "," + result_of("t2");
    const std::string wish =
        R"("context_management":{"edits":[{"type":"clear_tool_uses_20250919",)"
        R"("trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":1}}]})";
    for (const FormatId format : every_format) {
        Gateway gateway(format, {says(format, "one"), says(format, "one"), tells(format, "two")});
        for (const HeaderFields& headers : {in_alice, HeaderFields{}}) {
            const Told told = gateway.message(history, headers, wish);
            EXPECT_EQ(message_text(told), "one") << told.response.body;
            EXPECT_TRUE(told.response.body.contains(R"("cleared_tool_uses":1)"))
                << told.response.body;
        }
        for (const std::size_t i : {0u, 1u}) {
            const std::string sent = gateway.upstream.requests().at(i).body;
            EXPECT_TRUE(sent.contains("removed: tool output")) << sent;
            EXPECT_FALSE(sent.contains("context_management")) << sent;
        }
        const Told streamed = gateway.message(history, {}, wish + R"(,"stream":true)");
        EXPECT_TRUE(streamed.response.body.contains(R"("cleared_tool_uses":1)"))
            << streamed.response.body;
    }
}

TEST(gateway_turn, refuses_an_unknown_edit_by_its_name) {
    Gateway gateway(chat_format);
    const Told told =
        gateway.message(user("a"), {}, R"("context_management":{"edits":[{"type":"shrink"}]})");
    EXPECT_EQ(told.status(), 400);
    EXPECT_TRUE(told.error("message").contains("shrink")) << told.response.body;
}

TEST(gateway_turn, tells_the_client_of_its_own_mistake_with_the_providers_status) {
    const UpstreamReply refused{.status = 400, .body = R"({"error":{"message":"no such role"}})"};
    const UpstreamReply locked{.status = 401, .body = R"({"error":{"message":"bad key"}})"};
    Gateway gateway(chat_format, {refused, refused, locked});
    const Told chat = gateway.chat(user("a"), in_alice);
    EXPECT_EQ(chat.status(), 400);
    EXPECT_EQ(chat.header("x-should-retry"), "false");
    EXPECT_TRUE(chat.error("message").contains("no such role"));
    const Told message = gateway.message(user("a"), in_alice);
    EXPECT_EQ(message.status(), 400);
    EXPECT_EQ(message.error("type"), "invalid_request_error");
    EXPECT_EQ(gateway.chat(user("a"), in_alice).status(), 502);  // our key, not the client's fault
}

TEST(gateway, counts_requests_and_open_streams) {
    Gateway gateway(chat_format, {tells(chat_format, "one two")});
    gateway.chat(user("a"), {}, R"("stream":true)");
    gateway.post("/v1/messages", "{");
    std::string metrics;
    // A request is counted when its last byte is out.
    for (int i = 0; i < 200 && !metrics.contains("memory_request_seconds_count"); ++i)
        metrics = gateway.get("/metrics").response.body;
    EXPECT_TRUE(metrics.contains(
        R"(memory_requests_total{method="POST",route="/v1/chat/completions",status="200"} 1)"))
        << metrics;
    EXPECT_TRUE(metrics.contains("memory_open_streams 0")) << metrics;
    EXPECT_TRUE(metrics.contains(R"(route="/v1/messages",status="400"} 1)")) << metrics;
}

// ---- stored completions -------------------------------------------------------------------------

TEST(stored_completions, are_kept_listed_changed_and_removed) {
    Gateway gateway(chat_format, {says(chat_format, "one"), tells(chat_format, "two words")});
    const Told plain = gateway.chat(user("a"), {}, R"("store":true,"metadata":{"k":"v"})");
    const std::string first = plain.text("id");
    EXPECT_TRUE(first.starts_with("chatcmpl-")) << first;
    EXPECT_EQ(chat_text(plain), "one");
    const JsonDocument sent = gateway.sent(0);
    EXPECT_FALSE(sent.root().find("store"));
    EXPECT_FALSE(sent.root().find("metadata"));
    const Told streamed = gateway.chat(user("b"), {}, R"("store":true,"stream":true)");
    const std::string second = std::string(
        parse_json(read_stream(chat_format, streamed).body)->root().find("id")->string());
    EXPECT_FALSE(streamed.response.body.contains("up_1")) << streamed.response.body;

    const std::string base = "/v1/chat/completions";
    const Told list = gateway.get(base);
    ASSERT_EQ(list.json().find("data")->size(), 2u) << list.response.body;
    EXPECT_EQ(list.text("first_id"), first);
    EXPECT_EQ(list.text("last_id"), second);
    EXPECT_EQ(gateway.get(base + "?order=desc&limit=1").text("first_id"), second);
    EXPECT_EQ(gateway.get(base + "?after=" + first).text("first_id"), second);
    EXPECT_EQ(gateway.get(base + "?metadata%5Bk%5D=v").json().find("data")->size(), 1u);
    EXPECT_EQ(gateway.get(base + "?model=other").json().find("data")->size(), 0u);

    EXPECT_EQ(chat_text(gateway.get(base + "/" + second)), "two words");
    const Told messages = gateway.get(base + "/" + first + "/messages");
    EXPECT_EQ((*messages.json().find("data")->elements().begin()).find("content")->string(), "a");
    const Told changed = gateway.post(base + "/" + first, R"({"metadata":{"k":"w"}})");
    EXPECT_EQ(changed.json().find("metadata")->find("k")->string(), "w");
    HttpClient client = gateway.client();
    EXPECT_EQ(Running::ask(client, "DELETE", base + "/" + first).status(), 200);
    EXPECT_EQ(gateway.get(base + "/" + first).status(), 404);
    EXPECT_EQ(gateway.get(base).json().find("data")->size(), 1u);
}

// ---- models, counting, embeddings ---------------------------------------------------------------

TEST(models, are_listed_and_chosen_by_name) {
    Upstream one({says(chat_format, "from one")}), two({says(FormatId::anthropic, "from two")});
    Memory memory = Memory::open("memory:").value();
    Models models;
    models.add(model_of("one", chat_format, one));
    models.add(model_of("two", FormatId::anthropic, two));
    const auto server = Server::start(memory, std::move(models), {}).value();
    HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
    const Told list = Running::ask(client, "GET", "/v1/models");
    EXPECT_EQ(list.json().find("data")->size(), 2u);
    EXPECT_EQ(Running::ask(client, "GET", "/v1/models/two").text("id"), "two");
    EXPECT_EQ(Running::ask(client, "GET", "/v1/models/three").status(), 404);
    const std::string rest = R"("messages":[{"role":"user","content":"a"}]})";
    EXPECT_EQ(chat_text(Running::ask(client, "POST", "/v1/chat/completions",
                                     R"({"model":"two",)" + rest)),
              "from two");
    EXPECT_EQ(chat_text(Running::ask(client, "POST", "/v1/chat/completions", "{" + rest)),
              "from one");
}

TEST(count_tokens, counts_here_or_asks_the_service) {
    Gateway ours(chat_format);
    const Told counted = ours.post("/v1/messages/count_tokens",
                                   R"({"model":"m","messages":[{"role":"user","content":"a b"}]})");
    EXPECT_GT(counted.number("input_tokens"), 2);
    Gateway theirs(FormatId::anthropic, {{.body = R"({"input_tokens":42})"}});
    const Told asked = theirs.post("/v1/messages/count_tokens",
                                   R"({"model":"m","messages":[{"role":"user","content":"a b"}]})");
    EXPECT_EQ(asked.number("input_tokens"), 42);
    EXPECT_EQ(theirs.upstream.requests().at(0).target, "/v1/messages/count_tokens");
}

TEST(embeddings, are_passed_on_to_a_server_that_may_have_them) {
    Gateway gateway(chat_format, {{.body = R"({"object":"list","data":[]})"}});
    const Told told = gateway.post("/v1/embeddings", R"({"model":"m","input":"a"})");
    EXPECT_EQ(told.response.body, R"({"object":"list","data":[]})");
    EXPECT_EQ(gateway.upstream.requests().at(0).target, "/v1/embeddings");
    Gateway anthropic(FormatId::anthropic);
    EXPECT_EQ(anthropic.post("/v1/embeddings", R"({"model":"m","input":"a"})").error("param"),
              "model");
}

}  // namespace
}  // namespace palimpsest
