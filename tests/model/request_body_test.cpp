#include "model/request_body.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

std::string limit_told_to_anthropic(std::string_view parameters, std::string_view defaults) {
    const std::vector<Message> messages = {
        make_message(FormatId::openai_chat, Role::user, "Hello?").value()};
    const auto body = write_model_request(
        dialect_of(FormatId::anthropic), "m",
        {.messages = messages, .parameters = parameters, .fields_format = FormatId::openai_chat},
        defaults, 100, false);
    EXPECT_TRUE(body) << body.error().message;
    const auto json = parse_json(body->json);
    return std::string(json->root().find("max_tokens")->raw());
}

TEST(request_body, a_limit_that_nobody_named_is_the_models_own) {
    EXPECT_EQ(limit_told_to_anthropic("{}", {}), "100");
    EXPECT_EQ(limit_told_to_anthropic(R"({"temperature":0.5})", {}), "100");
    EXPECT_EQ(limit_told_to_anthropic(R"({"temperature":0.5})", R"({"max_tokens":50})"), "50");
    EXPECT_EQ(limit_told_to_anthropic(R"({"max_completion_tokens":7})", {}), "7");
    EXPECT_EQ(limit_told_to_anthropic(R"({"max_tokens":8})", R"({"max_tokens":50})"), "8");
}

TEST(request_body, reasoning_that_the_service_does_not_keep_is_left_out_and_told) {
    const std::vector<Message> messages =
        read_messages(FormatId::openai_responses, make_bytes(R"([{"role":"user","content":"go"},
            {"type":"reasoning","id":"rs_1","summary":[]},
            {"type":"message","id":"msg_1","role":"assistant",
             "content":[{"type":"output_text","text":"hey"}]},
            {"role":"user","content":"on"}])"))
            .value();
    const auto sent = [&](std::string_view parameters, std::string_view defaults) {
        return write_model_request(dialect_of(FormatId::openai_responses), "m",
                                   {.messages = messages,
                                    .parameters = parameters,
                                    .fields_format = FormatId::openai_responses},
                                   defaults, 100, false)
            .value();
    };
    EXPECT_TRUE(sent("{}", {}).json.contains("rs_1"));
    for (const RequestBody& body :
         {sent(R"({"store":false})", {}), sent("{}", R"({"store":false})")}) {
        EXPECT_FALSE(body.json.contains("rs_1")) << body.json;
        EXPECT_FALSE(body.json.contains("msg_1")) << "an id that the reasoning is looked for by";
        ASSERT_EQ(body.repairs.size(), 1U);
        EXPECT_TRUE(body.repairs[0].contains("not stored")) << body.repairs[0];
    }
    EXPECT_EQ(repairs_of(FormatId::openai_responses, "m",
                         {.messages = messages,
                          .parameters = R"({"store":false})",
                          .fields_format = FormatId::openai_responses})
                  .size(),
              1U);
}

const std::vector<Message> after_a_call =
    read_messages(FormatId::openai_chat, make_bytes(R"([{"role":"user","content":"Weather?"},
        {"role":"assistant","content":null,"tool_calls":[
            {"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}},
            {"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"rain"},
        {"role":"tool","tool_call_id":"c2","content":"sun"},
        {"role":"user","content":"And tomorrow?"}])"))
        .value();

TEST(request_body, whom_to_call_is_nobody_when_only_calls_of_before_have_tools) {
    for (const char* choice : {R"({"type":"any"})", R"({"type":"tool","name":"other"})"}) {
        const auto body =
            write_model_request(dialect_of(FormatId::anthropic), "m",
                                {.messages = after_a_call,
                                 .parameters = R"({"tool_choice":)" + std::string(choice) + "}",
                                 .fields_format = FormatId::anthropic},
                                {}, 100, false);
        ASSERT_TRUE(body) << body.error().message;
        EXPECT_EQ(parse_json(body->json)->root().find("tool_choice")->raw(), R"({"type":"none"})");
    }
}

TEST(request_body, calls_of_before_have_their_tools_where_the_format_wants_them) {
    const auto body = write_model_request(dialect_of(FormatId::anthropic), "m",
                                          {.messages = after_a_call}, {}, 100, false);
    ASSERT_TRUE(body) << body.error().message;
    EXPECT_TRUE(validate_json(FormatId::anthropic, body->json)->empty()) << body->json;
    const auto json = parse_json(body->json);
    EXPECT_EQ(json->root().find("tools")->raw(),
              R"([{"name":"look","input_schema":{"type":"object","properties":{}}}])");
    EXPECT_EQ(json->root().find("tool_choice")->raw(), R"({"type":"none"})");
    EXPECT_TRUE(body->repairs.empty());
    const auto chat = write_model_request(dialect_of(FormatId::openai_chat), "m",
                                          {.messages = after_a_call}, {}, 100, false);
    EXPECT_FALSE(parse_json(chat->json)->root().find("tools"));
}

TEST(request_body, tools_that_were_sent_are_the_tools) {
    const auto body =
        write_model_request(dialect_of(FormatId::anthropic), "m",
                            {.messages = after_a_call,
                             .tools = R"([{"name":"find","input_schema":{"type":"object"}}])",
                             .fields_format = FormatId::anthropic},
                            {}, 100, false);
    ASSERT_TRUE(body) << body.error().message;
    const auto json = parse_json(body->json);
    EXPECT_EQ(json->root().find("tools")->size(), 1u);
    EXPECT_FALSE(json->root().find("tool_choice"));
    EXPECT_TRUE(body->repairs.empty());
}

// A stream's header goes out before the request is written.
TEST(request_body, thinking_that_is_switched_off_is_told_beforehand) {
    const auto messages = read_messages(FormatId::anthropic, make_bytes(R"([
        {"role":"user","content":"go"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}])"));
    ASSERT_TRUE(messages) << messages.error().message;
    const auto repairs = [&](std::string_view parameters) {
        return repairs_of(FormatId::anthropic, "m",
                          {.messages = *messages,
                           .parameters = parameters,
                           .fields_format = FormatId::anthropic});
    };
    EXPECT_EQ(repairs("{}"), std::vector<std::string>());
    const auto told = repairs(R"({"thinking":{"type":"enabled","budget_tokens":1024}})");
    ASSERT_EQ(told.size(), 1u);
    EXPECT_TRUE(told.front().contains("thinking is switched off")) << told.front();
}

}  // namespace
}  // namespace palimpsest
