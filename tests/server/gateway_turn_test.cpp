// Turns of conversations through the gateway: resends, repeats, clients and servers that go.
#include "server/gateway.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

using testing_support::assistant;
using testing_support::result;
using testing_support::user;
constexpr FormatId chat_format = FormatId::openai_chat;

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

TEST(gateway_turn, stores_a_resend_of_what_nobody_answered_once) {
    Gateway gateway(chat_format, {{.status = 500}, {.status = 500}, says(chat_format, "one")});
    EXPECT_EQ(gateway.chat(user("a"), in_alice).status(), 502);
    EXPECT_EQ(gateway.message(user("a") + "," + user("b"), in_alice).status(), 502);
    gateway.chat(user("a") + "," + user("b") + "," + user("c"), in_alice);
    EXPECT_EQ(gateway.view("alice"), "a b c one");
    EXPECT_EQ(gateway.sent(2).root().find("messages")->size(), 3u);
}

TEST(gateway_turn, stops_an_answer_that_is_too_long_and_keeps_what_came) {
    std::string words;
    for (int i = 0; i < 2000; ++i) words += "word ";
    for (const FormatId format : every_format) {
        Gateway gateway(format, {tells(format, words), says(format, words)});
        Models limited;
        limited.add(model_of("m", format, gateway.upstream, 2000));
        gateway.server->reload(std::move(limited), {});
        const Told told = gateway.chat(user("a"), in_alice, R"("stream":true)");
        EXPECT_TRUE(told.response.body.contains("message_bytes_max")) << told.response.body;
        EXPECT_FALSE(told.response.body.contains("[DONE]"));
        EXPECT_TRUE(gateway.view("alice").starts_with("a word word ")) << gateway.view("alice");
        const Told whole = gateway.chat(user("b"), in_alice);
        EXPECT_EQ(whole.status(), 502);
        EXPECT_EQ(whole.error("param"), "message_bytes_max");
        EXPECT_EQ(whole.header("x-should-retry"), "false");
    }
}

TEST(gateway_turn, sends_anthropic_four_of_the_callers_cache_marks_and_the_prompts_own) {
    constexpr FormatId anthropic = FormatId::anthropic;
    Gateway gateway(anthropic, {});
    const std::string mark = R"("cache_control":{"type":"ephemeral","ttl":"5m"})";
    const std::string system = R"("system":[{"type":"text","text":"be brief",)" + mark + "}]";
    for (int turn = 1; turn <= 6; ++turn) {
        gateway.upstream.add(says(anthropic, "yes"));
        gateway.message(R"({"role":"user","content":[{"type":"text","text":"q)" +
                            std::to_string(turn) + "\"," + mark + "}]}",
                        in_alice, system);
        const std::string body = gateway.upstream.requests().back().body;
        std::size_t marks = 0;
        for (std::size_t at = 0; (at = body.find(mark, at)) != body.npos; ++at) ++marks;
        EXPECT_EQ(marks, std::min<std::size_t>(static_cast<std::size_t>(turn) + 1, 4)) << body;
        EXPECT_TRUE(body.contains(system)) << body;
        EXPECT_TRUE(body.contains("\"q" + std::to_string(turn) + "\"," + mark)) << body;
    }
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

TEST(gateway_turn, names_the_header_of_a_key_that_was_used_for_something_else) {
    Gateway gateway(chat_format, {says(chat_format, "one")});
    HeaderFields keyed = in_alice;
    keyed.emplace_back("Idempotency-Key", "k");
    gateway.chat(user("a"), keyed);
    const Told other = gateway.chat(user("b"), keyed);
    EXPECT_EQ(other.status(), 422) << other.response.body;
    EXPECT_EQ(other.error("param"), "Idempotency-Key");
}

TEST(gateway_turn, takes_the_same_idempotency_key_on_another_route_for_another) {
    Gateway gateway(chat_format, {says(chat_format, "one"), says(chat_format, "two"),
                                  says(chat_format, "three")});
    HeaderFields keyed = in_alice;
    keyed.emplace_back("Idempotency-Key", "k");
    EXPECT_EQ(chat_text(gateway.chat(user("a"), keyed)), "one");
    EXPECT_EQ(message_text(gateway.message(user("b"), keyed)), "two");
    EXPECT_EQ(message_text(gateway.message(user("b"), keyed)), "two");
    const Told response =
        gateway.post("/v1/responses", R"({"model":"m","input":"c","conversation":"alice"})", keyed);
    EXPECT_EQ(response.status(), 200) << response.response.body;
    EXPECT_EQ(gateway.view("alice"), "a one b two c three");
}

// Of a whole reply, or of the first event of a stream.
std::string name_of(const Told& told, bool streamed) {
    const std::string& body = told.response.body;
    const std::string json = streamed ? body.substr(6, body.find('\n') - 6) : body;
    const auto reply = parse_json(json);
    std::string name;
    for (const char* field : {"id", "model", "created"})
        if (reply && reply->root().find(field))
            name += std::string(reply->root().find(field)->raw()) + " ";
    return name.empty() ? body : name;
}

TEST(gateway_turn, calls_the_repeat_by_a_key_what_it_called_the_first) {
    HeaderFields keyed = in_alice;
    keyed.emplace_back("Idempotency-Key", "k");
    std::vector<std::unique_ptr<Gateway>> gateways;
    std::vector<std::string> names;
    const auto ask = [&](std::size_t which) {
        const bool streamed = which % 2 == 1;
        return name_of(gateways[which]->chat(user("a"), keyed, streamed ? R"("stream":true)" : ""),
                       streamed);
    };
    for (const FormatId format : every_format)
        for (const bool streamed : {false, true}) {
            gateways.push_back(std::make_unique<Gateway>(
                format, std::vector{streamed ? tells(format, "one") : says(format, "one")}));
            names.push_back(ask(gateways.size() - 1));
        }
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // Another second has begun.
    for (std::size_t i = 0; i < gateways.size(); ++i) {
        EXPECT_EQ(ask(i), names[i]);
        EXPECT_EQ(gateways[i]->upstream.requests().size(), 1u);
    }
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
    Gateway gateway(chat_format, {slow}, {.terms = {.finish_abandoned = true}});
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

TEST(gateway, two_headers_that_name_two_conversations_are_refused) {
    Gateway gateway(FormatId::openai_chat);
    HttpRequest request =
        request_of("POST", "/v1/chat/completions",
                   R"({"model":"m","messages":[{"role":"user","content":"a"}]})", in_alice);
    request.headers.add("X-Conversation-Id", "bob");
    HttpClient client = gateway.client();
    const auto answer = client.send(request);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 400);
    EXPECT_TRUE(gateway.upstream.requests().empty());
}

}  // namespace
}  // namespace palimpsest
