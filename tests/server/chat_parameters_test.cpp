// What /api/v1/chat tells the model beside the messages.
#include <gtest/gtest.h>

#include "base/json_write.h"
#include "server/running.h"
#include "support/upstream.h"

namespace palimpsest {
namespace {

constexpr std::string_view said_hi =
    R"({"choices":[{"message":{"role":"assistant","content":"{\"a\":1}"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":9,"completion_tokens":3}})";

struct Site {
    Upstream upstream;
    Memory memory = Memory::open("memory:").value();
    std::unique_ptr<Model> model;
    std::unique_ptr<Server> server;

    explicit Site(FormatId format, std::string_view body)
        : Site(format, UpstreamReply{.body = std::string(body)}) {}
    explicit Site(FormatId format, UpstreamReply first) {
        upstream.add(std::move(first));
        Endpoint endpoint;
        endpoint.name = "m";
        endpoint.format = format;
        endpoint.url = upstream.url();
        endpoint.proxy = "none";
        model = make_http_model(endpoint).value();
        server = Server::start(memory, *model, {}).value();
    }
    Told chat(std::string body, const HeaderFields& headers = {}) const {
        HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
        return Running::ask(client, "POST", "/api/v1/chat", std::move(body), headers);
    }
    JsonDocument sent() {
        text = upstream.requests().at(0).body;
        return parse_json(text).value();
    }
    std::string text;
};

TEST(chat_parameters, reach_the_model_with_the_response_format) {
    Site site(FormatId::openai_chat, said_hi);
    const Told told =
        site.chat(R"({"message":"hi","parameters":{"temperature":0.5,"max_tokens":77},)"
                  R"("response_format":{"type":"json_object"}})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    const JsonDocument sent = site.sent();
    EXPECT_EQ(sent.root().find("temperature")->number(), 0.5);
    EXPECT_EQ(sent.root().find("max_tokens")->integer(), 77);
    EXPECT_EQ(sent.root().find("response_format")->raw(), R"({"type":"json_object"})");
}

TEST(chat_parameters, a_response_format_belongs_to_one_format) {
    Site site(FormatId::openai_chat, said_hi);
    const Told told = site.chat(
        R"({"message":{"role":"user","content":"hi"},"format":"anthropic","response_format":{}})");
    EXPECT_EQ(told.status(), 400);
    EXPECT_EQ(told.error("param"), "response_format");
    EXPECT_TRUE(site.upstream.requests().empty());
}

TEST(chat_parameters, all_items_of_an_answer_are_stored_and_their_calls_told) {
    Site site(
        FormatId::openai_responses,
        R"({"id":"r","object":"response","status":"completed","output":[)"
        R"({"type":"reasoning","id":"rs_1","summary":[]},)"
        R"({"type":"function_call","id":"fc_1","call_id":"c1","name":"look","arguments":"{}"},)"
        R"({"type":"function_call","id":"fc_2","call_id":"c2","name":"look","arguments":"{}"}],)"
        R"("usage":{"input_tokens":9,"output_tokens":3}})");
    const Told told = site.chat(R"({"message":"hi","conversation_id":"a"})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.json().find("tool_calls")->size(), 2u) << told.response.body;
    EXPECT_EQ(site.memory.head({"default", "a"})->messages, 4u);
}

TEST(exclusive_turns, a_model_that_fails_or_says_nothing_holds_nobody_up) {
    for (const std::string_view body : {R"({"choices":[]})", "no JSON"}) {
        Site site(FormatId::openai_chat, body);
        site.upstream.add({.body = std::string(said_hi)});
        const std::string ask = R"({"message":"hi","conversation_id":"a","turns":"refuse"})";
        EXPECT_GE(site.chat(ask).status(), 500) << body;
        const Told next = site.chat(ask);
        EXPECT_EQ(next.status(), 200) << next.response.body;
    }
}

// ---- an answer of a given shape -----------------------------------------------------------------

std::string said(std::string_view text) {
    return R"({"choices":[{"message":{"role":"assistant","content":)" + json_string(text) +
           R"(},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}})";
}

// A body of /api/v1/chat that asks for {"city": a text}.
std::string asks_for_city(std::string_view more) {
    return R"({"message":"where?","conversation_id":"a",)" + std::string(more) +
           R"("response_format":{"type":"json_schema","json_schema":{"name":"place",)"
           R"("strict":true,"schema":{"type":"object","required":["city"],)"
           R"("properties":{"city":{"type":"string"}}}}}})";
}

TEST(chat_in_shape, an_answer_that_does_not_fit_goes_back_and_the_value_is_given) {
    Site site(FormatId::openai_chat, said("Lima, I think"));
    site.upstream.add({.body = said(R"({"city":"Lima"})")});
    const Told told = site.chat(asks_for_city(""));
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.json().find("output")->raw(), R"({"city":"Lima"})");
    EXPECT_EQ(told.number("attempts"), 2);
    EXPECT_EQ(told.json().find("usage")->find("input_tokens")->integer(), 18);
    EXPECT_EQ(told.json().find("tool_calls")->size(), 0u);
    EXPECT_TRUE(told.text("turn_id").starts_with("turn_"));
    EXPECT_EQ(site.memory.head({"default", "a"})->messages, 4u);
    const JsonDocument sent = site.sent();
    EXPECT_EQ(sent.root().find("response_format")->find("json_schema")->find("strict")->boolean(),
              true);
}

TEST(chat_in_shape, every_attempt_has_the_callers_system_message) {
    Site site(FormatId::openai_chat, said("Lima, I think"));
    site.upstream.add({.body = said(R"({"city":"Lima"})")});
    std::string ask = asks_for_city("");
    ask.replace(ask.find(R"("message":"where?")"), 18,
                R"("messages":[{"role":"system","content":"Be brief."},)"
                R"({"role":"user","content":"where?"}])");
    ASSERT_EQ(site.chat(ask).status(), 200);
    ASSERT_EQ(site.upstream.requests().size(), 2u);
    for (const auto& request : site.upstream.requests())
        EXPECT_NE(request.body.find("Be brief."), std::string::npos) << request.body;
}

TEST(chat_in_shape, a_model_that_never_gets_it_right_is_unprocessable) {
    Site site(FormatId::openai_chat, said("no"));
    site.upstream.add({.body = said("no")});
    const Told told = site.chat(asks_for_city(R"("retries":1,)"));
    EXPECT_EQ(told.status(), 422) << told.response.body;
    EXPECT_EQ(told.error("code"), "unprocessable");
    EXPECT_EQ(site.upstream.requests().size(), 2u);
}

TEST(chat_in_shape, a_repeat_with_its_key_asks_no_model) {
    Site site(FormatId::openai_chat, said("no"));
    site.upstream.add({.body = said(R"({"city":"Lima"})")});
    const HeaderFields key = {{"Idempotency-Key", "k"}};
    const Told first = site.chat(asks_for_city(""), key);
    ASSERT_EQ(first.status(), 200) << first.response.body;
    const Told again = site.chat(asks_for_city(""), key);
    ASSERT_EQ(again.status(), 200) << again.response.body;
    EXPECT_EQ(again.json().find("output")->raw(), first.json().find("output")->raw());
    EXPECT_EQ(again.number("seq"), first.number("seq"));
    EXPECT_EQ(site.upstream.requests().size(), 2u);
    EXPECT_EQ(site.chat(R"({"message":"other","conversation_id":"a"})", key).status(), 422);
}

TEST(chat_in_shape, a_model_without_the_field_is_asked_by_a_tool) {
    Site site(FormatId::anthropic,
              R"({"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use",)"
              R"("id":"tu1","name":"place","input":{"city":"Lima"}}],"stop_reason":"tool_use",)"
              R"("usage":{"input_tokens":9,"output_tokens":3}})");
    const Told told = site.chat(asks_for_city(""));
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.json().find("output")->raw(), R"({"city":"Lima"})");
    EXPECT_EQ(told.json().find("tool_calls")->size(), 0u);
    EXPECT_EQ(site.sent().root().find("tool_choice")->find("name")->string(), "place");
}

TEST(chat_in_shape, calls_of_the_callers_tools_are_given_to_him) {
    Site site(FormatId::openai_chat,
              R"({"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":)"
              R"("c1","type":"function","function":{"name":"look","arguments":"{}"}}]},)"
              R"("finish_reason":"tool_calls"}]})");
    site.upstream.add({.body = said(R"({"city":"Lima"})")});
    const std::string tools =
        R"("tools":[{"type":"function","function":{"name":"look","parameters":{}}}],)";
    const Told told = site.chat(asks_for_city(tools));
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_TRUE(told.json().find("output")->is_null());
    ASSERT_EQ(told.json().find("tool_calls")->size(), 1u);
    std::string result = asks_for_city(tools);
    result.replace(result.find(R"("where?")"), 8,
                   R"({"role":"tool","tool_call_id":"c1","content":"Lima"})");
    const Told done = site.chat(result);
    ASSERT_EQ(done.status(), 200) << done.response.body;
    EXPECT_EQ(done.json().find("output")->raw(), R"({"city":"Lima"})");
}

TEST(chat_in_shape, streamed_it_says_when_what_was_told_is_not_the_answer) {
    const auto events = [](std::string_view text) {
        return event_stream_reply(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":"
            "\"assistant\",\"content\":" +
            json_string(text) + "},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    };
    Site site(FormatId::openai_chat, events("Lima"));
    site.upstream.add(events(R"({"city":"Lima"})"));
    const Told told = site.chat(asks_for_city(R"("stream":true,)"));
    ASSERT_EQ(told.status(), 200) << told.response.body;
    const std::string& body = told.response.body;
    std::size_t at = 0;
    for (const std::string_view name : {"start", "delta", "retry", "delta", "done"}) {
        const std::size_t found = body.find("event: " + std::string(name) + "\n", at);
        ASSERT_NE(found, std::string::npos) << name << " in " << body;
        at = found + 1;
    }
    EXPECT_NE(body.find(R"("output":{"city":"Lima"})"), std::string::npos) << body;
    // What is wrong with the request is an answer, not an event.
    EXPECT_EQ(site.chat(R"({"message":"x","stream":true,"response_format":{"type":"json_schema"}})")
                  .status(),
              400);
}

// ---- tools that the engine answers --------------------------------------------------------------

std::string calls(std::string_view id, std::string_view tool, std::string_view arguments) {
    return R"({"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":)" +
           json_string(id) + R"(,"type":"function","function":{"name":)" + json_string(tool) +
           R"(,"arguments":)" + json_string(arguments) +
           R"(}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9}})";
}

TEST(recall_tools, are_offered_and_answered_before_the_turn_ends) {
    Site site(FormatId::openai_chat, calls("c1", "search_memory", R"({"query":"gate"})"));
    site.upstream.add({.body = said("B42")});
    ASSERT_TRUE(
        site.memory
            .append({"default", "a"}, {.messages = R"([{"role":"user","content":"Gate B42."}])"})
            .has_value());
    const Told told =
        site.chat(R"({"message":"which?","conversation_id":"a","recall_tools":true})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.json().find("message")->find("content")->string(), "B42");
    EXPECT_EQ(told.text("outcome"), "done");
    EXPECT_EQ(told.json().find("tool_calls")->size(), 0u);
    EXPECT_EQ(told.json().find("usage")->find("input_tokens")->integer(), 18);
    EXPECT_EQ(site.sent().root().find("tools")->size(), 2u);
    EXPECT_NE(site.upstream.requests().at(1).body.find("Gate B42."), std::string::npos);
}

TEST(recall_tools, calls_of_the_callers_own_tools_are_given_to_him) {
    Site site(FormatId::openai_chat, calls("c1", "look", "{}"));
    const Told told =
        site.chat(R"({"message":"which?","recall_tools":true,)"
                  R"("tools":[{"type":"function","function":{"name":"look","parameters":{}}}]})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    EXPECT_EQ(told.text("outcome"), "pending");
    ASSERT_EQ(told.json().find("tool_calls")->size(), 1u);
    EXPECT_EQ(site.sent().root().find("tools")->size(), 3u);
}

TEST(recall_tools, a_tool_of_the_callers_with_their_name_is_refused) {
    Site site(FormatId::openai_chat, said("B42"));
    const Told told =
        site.chat(R"({"message":"which?","recall_tools":true,)"
                  R"("tools":[{"type":"function","function":{"name":"recall","parameters":{}}}]})");
    EXPECT_EQ(told.status(), 400) << told.response.body;
    EXPECT_EQ(told.error("param"), "tools");
    EXPECT_TRUE(site.upstream.requests().empty());
}

TEST(recall_tools, streamed_each_call_is_told) {
    Site site(
        FormatId::openai_chat,
        event_stream_reply(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":"
            "[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":"
            "\"search_memory\",\"arguments\":\"{\\\"query\\\":\\\"gate\\\"}\"}}]},"
            "\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"));
    site.upstream.add(event_stream_reply(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
        "\"content\":\"B42\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"));
    const Told told = site.chat(
        R"({"message":"which?","conversation_id":"a","recall_tools":true,"stream":true})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    const std::string& body = told.response.body;
    const std::size_t tool =
        body.find("event: tool\ndata: {\"id\":\"c1\",\"name\":\"search_memory\"");
    ASSERT_NE(tool, std::string::npos) << body;
    EXPECT_LT(tool, body.find("event: delta")) << body;
    EXPECT_NE(body.find("event: done"), std::string::npos) << body;
}

}  // namespace
}  // namespace palimpsest
