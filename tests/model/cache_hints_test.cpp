// What a provider's prompt cache is told: a key, or marks, and neither where it was said already.
#include <gtest/gtest.h>

#include "base/json.h"
#include "model/request_body.h"
#include "support/upstream.h"

namespace palimpsest {
namespace {

std::vector<Message> hello() {
    return {make_message(FormatId::openai_chat, Role::user, "Hello?").value()};
}

std::string body_of(FormatId format, std::string_view parameters = {}) {
    const std::vector<Message> messages = hello();
    const auto body = write_model_request(dialect_of(format), "m",
                                          {.messages = messages,
                                           .parameters = parameters,
                                           .fields_format = format,
                                           .cache_key = "k1"},
                                          {}, 100, false);
    EXPECT_TRUE(body) << body.error().message;
    return body ? body->json : "";
}

TEST(cache_hints, openai_is_told_a_key_in_both_formats) {
    for (const FormatId format : {FormatId::openai_chat, FormatId::openai_responses})
        EXPECT_NE(body_of(format).find(R"("prompt_cache_key":"k1")"), std::string::npos)
            << body_of(format);
}

TEST(cache_hints, a_key_of_the_callers_own_stays_the_only_one) {
    const std::string body = body_of(FormatId::openai_chat, R"({"prompt_cache_key":"mine"})");
    EXPECT_NE(body.find(R"("prompt_cache_key":"mine")"), std::string::npos) << body;
    EXPECT_EQ(body.find("k1"), std::string::npos) << body;
}

TEST(cache_hints, anthropic_is_told_by_marks_and_no_key) {
    const std::string body = body_of(FormatId::anthropic);
    EXPECT_NE(body.find(R"("cache_control":{"type":"ephemeral"})"), std::string::npos) << body;
    EXPECT_EQ(body.find("prompt_cache_key"), std::string::npos) << body;
}

// Two results are two messages in a chat and one in Anthropic's format.
TEST(cache_hints, the_message_that_was_edited_last_is_marked_where_neighbours_are_joined) {
    std::vector<Message> messages;
    const auto add = [&](const std::string& raw) {
        messages.push_back(
            read_message(FormatId::openai_chat, make_bytes(std::string(raw))).value());
    };
    const auto add_round = [&](const std::string& text) {
        const std::string call = R"(,"type":"function","function":{"name":"f","arguments":"{}"}})";
        add(R"({"role":"user","content":"look"})");
        add(R"({"role":"assistant","content":null,"tool_calls":[{"id":"a")" + call +
            R"(,{"id":"b")" + call + "]}");
        add(R"({"role":"tool","tool_call_id":"a","content":")" + text + R"("})");
        add(R"({"role":"tool","tool_call_id":"b","content":")" + text + R"("})");
        add(R"({"role":"assistant","content":"I saw."})");
    };
    add_round("cleared");
    add_round("whole");
    add(R"({"role":"user","content":"go on"})");
    const auto sent = [&](std::size_t edited) {
        const auto body = write_model_request(
            dialect_of(FormatId::anthropic), "m",
            {.messages = messages, .cache_key = "k1", .behind_edit = messages.size() - 1 - edited},
            {}, 100, false);
        EXPECT_TRUE(body) << body.error().message;
        return body ? body->json : "";
    };
    const std::string mark = R"("cache_control":{"type":"ephemeral"})";
    const std::string end = R"({"type":"text","text":"go on",)" + mark + "}";
    for (const std::size_t result : {2u, 3u}) {
        const std::string body = sent(result);
        EXPECT_TRUE(body.contains(R"("tool_use_id":"b","content":"cleared",)" + mark)) << body;
        EXPECT_TRUE(body.contains(end)) << body;
    }
    EXPECT_TRUE(sent(0).contains(R"("content":[{"type":"text","text":"look",)" + mark)) << sent(0);
}

// Six marked turns in the log, one mark each on tools and system prompt: four may be sent.
TEST(cache_hints, the_callers_marks_on_tools_and_prompt_stay_and_of_messages_the_newest) {
    const std::string mark = R"("cache_control":{"type":"ephemeral","ttl":"5m"})";
    std::vector<Message> messages = {
        read_message(
            FormatId::anthropic,
            make_bytes(R"({"role":"system","content":[{"type":"text","text":"s",)" + mark + "}]}"))
            .value()};
    for (const std::string turn : {"q1", "q2", "q3", "q4", "q5", "q6"})
        messages.push_back(
            read_message(FormatId::anthropic,
                         make_bytes(R"({"role":"user","content":[{"type":"text","text":")" + turn +
                                    "\"," + mark + "}]}"))
                .value());
    const std::string tools = R"([{"name":"f","input_schema":{"type":"object"},)" + mark + "}]";
    const auto body = write_model_request(dialect_of(FormatId::anthropic), "m",
                                          {.messages = messages,
                                           .tools = tools,
                                           .fields_format = FormatId::anthropic,
                                           .cache_key = "k1"},
                                          {}, 100, false);
    ASSERT_TRUE(body) << body.error().message;
    EXPECT_TRUE(body->lost.empty() && body->repairs.empty());
    EXPECT_NE(body->json.find(R"("system":[{"type":"text","text":"s",)" + mark + "}]"),
              std::string::npos)
        << body->json;
    EXPECT_NE(body->json.find(R"("tools":)" + tools), std::string::npos) << body->json;
    EXPECT_TRUE(is_sendable(*validate_json(FormatId::anthropic, body->json))) << body->json;
    EXPECT_NE(body->json.find(R"({"type":"text","text":"q4"})"), std::string::npos);
    EXPECT_NE(body->json.find(R"({"type":"text","text":"q5",)" + mark), std::string::npos);
}

// A server of the format that is not its own provider may refuse a field that it does not know.
TEST(cache_hints, other_servers_of_the_format_get_no_key) {
    Upstream upstream({{.body = R"({"choices":[{"message":{"role":"assistant","content":"hi"},)"
                                R"("finish_reason":"stop"}]})"}});
    Endpoint endpoint;
    endpoint.name = "m";
    endpoint.url = upstream.url();
    endpoint.proxy = "none";
    const std::vector<Message> messages = hello();
    const auto reply =
        make_http_model(endpoint).value()->call({.messages = messages, .cache_key = "k1"}, {});
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(upstream.requests().at(0).body.find("prompt_cache_key"), std::string::npos);
}

}  // namespace
}  // namespace palimpsest
