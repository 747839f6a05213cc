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

TEST(gateway, passes_what_a_client_tells_its_provider_on_with_every_call) {
    const UpstreamReply one = says(FormatId::anthropic, "one");
    Gateway gateway(FormatId::anthropic, {one, one, one});
    const auto status = [&](const std::string& more, bool in_turn) {
        HttpRequest request = make_request(
            "POST", "/v1/messages",
            R"({"model":"m","max_tokens":9,"messages":[)" + user("a") + "]" + more + "}",
            "application/json");
        request.headers.add("anthropic-beta", "mcp-client-2025-04-04");
        request.headers.add("anthropic-beta", "files-api-2025-04-14");
        if (in_turn) request.headers.add("X-Conversation-Id", "alice");
        return gateway.client().send(request)->status;
    };
    EXPECT_EQ(status("", false), 200);
    EXPECT_EQ(status(R"(,"context_management":{"edits":[]})", false), 200);
    EXPECT_EQ(status(R"(,"mcp_servers":[])", true), 200);
    ASSERT_EQ(gateway.upstream.requests().size(), 3u);
    for (const HttpRequest& sent : gateway.upstream.requests())
        EXPECT_EQ(sent.header("anthropic-beta"), "mcp-client-2025-04-04,files-api-2025-04-14");
}

TEST(gateway, tells_a_provider_of_another_format_nothing_of_it) {
    const HeaderFields betas = {
        {"OpenAI-Beta", "b=1"}, {"anthropic-beta", "b"}, {"X-Conversation-Id", "alice"}};
    Gateway chat(chat_format, {says(chat_format, "one"), says(chat_format, "two")});
    ASSERT_EQ(chat.chat(user("a"), betas).status(), 200);
    ASSERT_EQ(chat.message(user("b"), betas).status(), 200);
    EXPECT_EQ(chat.upstream.requests().at(0).header("OpenAI-Beta"), "b=1");
    EXPECT_EQ(chat.upstream.requests().at(1).header("anthropic-beta"), "");
    const FormatId items = FormatId::openai_responses;
    Gateway responses(items, {says(items, "one")});
    const Told told = responses.post("/v1/responses", R"({"model":"m","input":"a"})", betas);
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(responses.upstream.requests().at(0).header("OpenAI-Beta"), "b=1");
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
    const Told wrong = gateway.get("/v1/messages");
    EXPECT_EQ(wrong.status(), 405);
    EXPECT_EQ(wrong.error("type"), "invalid_request_error");
    EXPECT_EQ(wrong.header("request-id"), wrong.header("x-request-id"));
    EXPECT_EQ(gateway.get("/v1/models").header("request-id"), "");
    for (const HeaderFields& bad :
         {HeaderFields{{"Expect", "magic"}}, HeaderFields{{"Content-Encoding", "gzip"}}}) {
        const Told refused = gateway.post("/v1/messages", "{}", bad);
        EXPECT_EQ(refused.text("type"), "error") << refused.response.body;
        EXPECT_EQ(refused.error("type"), "invalid_request_error");
        EXPECT_NE(refused.header("request-id"), "");
    }
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

TEST(gateway, streams_nothing_that_it_does_not_keep) {
    const std::pair<FormatId, std::string> routes[] = {{chat_format, "/v1/chat/completions"},
                                                       {FormatId::anthropic, "/v1/messages"}};
    for (const auto& [format, route] : routes) {
        std::string events = told_events(format, "one two three");
        events.insert(events.rfind("\n\n", events.find("three")) + 2, "data: {not json\n\n");
        UpstreamReply broken = event_stream_reply(events);
        broken.piece_bytes = events.find("\n\n", events.find("one")) + 2;
        broken.hold_at = broken.piece_bytes;
        Gateway gateway(format, {broken});
        HttpRequest request = make_request(
            "POST", route,
            R"({"model":"m","max_tokens":9,"stream":true,"messages":[)" + user("a") + "]}",
            "application/json");
        request.headers.set("X-Conversation-Id", "alice");
        std::string told;
        const auto hear = [&](std::string_view bytes) {
            told += bytes;
            gateway.upstream.let_go();
            return true;
        };
        HttpClient client = gateway.client();
        ASSERT_TRUE(client.stream(request, hear));
        EXPECT_TRUE(told.contains("what came is kept")) << told;
        EXPECT_FALSE(told.contains("data: {not json")) << told;
        EXPECT_FALSE(told.contains("three")) << told;
        EXPECT_EQ(gateway.view("alice"), "a one two ");
    }
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
    const Told first = Running::ask(client, "GET", "/v1/models?limit=1");
    EXPECT_EQ(first.text("last_id"), "one");
    EXPECT_TRUE(*first.json().find("has_more")->boolean());
    EXPECT_EQ(Running::ask(client, "GET", "/v1/models?after_id=one").text("first_id"), "two");
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

TEST(count_tokens, has_the_words_of_blocks_and_items_that_are_not_known_closely) {
    std::string words;
    for (int n = 0; n < 300; ++n) words += "word ";
    Gateway ours(chat_format);
    const std::string found = R"({"type":"search_result","source":"x","title":"t","content":[)"
                              R"({"type":"text","text":")" +
                              words + "\"}]}";
    EXPECT_GT(ours.post("/v1/messages/count_tokens",
                        R"({"model":"m","messages":[{"role":"user","content":[)" + found + "]}]}")
                  .number("input_tokens"),
              300);
    const std::string called =
        R"({"type":"mcp_call","id":"m","server_label":"s","name":"l","arguments":"{}","output":")" +
        words + "\"}";
    EXPECT_GT(ours.post("/v1/responses/input_tokens", R"({"model":"m","input":[)" + called + "]}")
                  .number("input_tokens"),
              300);
}

TEST(count_tokens, knows_the_models_of_the_settings) {
    const auto counting = [](const char* encoding) {
        OwnModel own{.name = "m"};
        own.encoding = encoding;
        return MemoryOptions{.models = {own}};
    };
    Gateway usual(chat_format, {}, {}, "memory:", counting("cl100k_base"));
    Gateway other(chat_format, {}, {}, "memory:", counting("r50k_base"));
    const std::string text = "\u0441\u044a\u0435\u0448\u044c \u0435\u0449\u0451 \u0447\u0430\u044e";
    const auto difference =
        (*open_tokenizer("r50k_base"))->count(text) - (*open_tokenizer("cl100k_base"))->count(text);
    ASSERT_GT(difference, 0u);
    const std::string messages =
        R"({"model":"m","messages":[{"role":"user","content":")" + text + R"("}]})";
    const std::string input = R"({"model":"m","input":")" + text + R"("})";
    for (const auto& [route, body] : {std::pair("/v1/messages/count_tokens", messages),
                                      std::pair("/v1/responses/input_tokens", input)})
        EXPECT_EQ(other.post(route, body).number("input_tokens") -
                      usual.post(route, body).number("input_tokens"),
                  static_cast<std::int64_t>(difference))
            << route;
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

TEST(gateway, says_of_a_stream_that_breaks_off_whether_it_is_kept) {
    constexpr FormatId other = FormatId::anthropic;
    const std::string events = told_events(other, "one two three");
    const std::string begun = events.substr(0, events.find("three"));
    const auto words = [&](const HeaderFields& headers, const std::string& more) {
        Gateway gateway(other, {event_stream_reply(begun.substr(0, begun.rfind("\n\n") + 2))});
        return gateway.chat(R"({"role":"user","content":"a"})", headers, R"("stream":true)" + more)
            .response.body;
    };
    const std::string kept = "what came is kept", gone = "nothing of it is kept";
    EXPECT_TRUE(words({}, "").contains(gone)) << words({}, "");
    EXPECT_TRUE(words(in_alice, "").contains(kept)) << words(in_alice, "");
    EXPECT_TRUE(words({}, R"(,"store":true)").contains(kept));
}

}  // namespace
}  // namespace palimpsest
