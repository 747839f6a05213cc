// What /api/v1/chat tells the model beside the messages.
#include <gtest/gtest.h>

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

    explicit Site(FormatId format, std::string_view body) {
        upstream.add({.body = std::string(body)});
        Endpoint endpoint;
        endpoint.name = "m";
        endpoint.format = format;
        endpoint.url = upstream.url();
        endpoint.proxy = "none";
        model = make_http_model(endpoint).value();
        server = Server::start(memory, *model, {}).value();
    }
    Told chat(std::string body) const {
        HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
        return Running::ask(client, "POST", "/api/v1/chat", std::move(body));
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

}  // namespace
}  // namespace palimpsest
