// The same conversation in another format: what is carried, and what is reported.
#include <gtest/gtest.h>

#include "format/random_history.h"
#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

constexpr FormatId chat = FormatId::openai_chat;
constexpr FormatId responses = FormatId::openai_responses;
constexpr FormatId anthropic = FormatId::anthropic;

std::string converted(FormatId from, FormatId to, const std::string& json,
                      std::vector<std::string>* lost = nullptr) {
    auto result = convert_json(from, to, json);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return "";
    const auto violations = validate_json(to, result->json);
    EXPECT_TRUE(violations && is_sendable(*violations)) << result->json;
    if (lost)
        *lost = result->lost;
    else
        EXPECT_TRUE(result->lost.empty()) << result->lost[0];
    return result->json;
}

const std::string parallel_chat =
    R"([{"role":"user","content":"go"},)"
    R"({"role":"assistant","content":"see","tool_calls":[)"
    R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1.10}"}},)"
    R"({"id":"c2","type":"function","function":{"name":"g","arguments":"{\"b\":"}}]},)"
    R"({"role":"tool","tool_call_id":"c1","content":"one"},)"
    R"({"role":"tool","tool_call_id":"c2","content":"two"},)"
    R"({"role":"user","content":"and?"}])";

}  // namespace

TEST(convert, puts_parallel_results_into_one_user_message_for_anthropic) {
    EXPECT_EQ(converted(chat, anthropic, parallel_chat),
              R"([{"role":"user","content":"go"},{"role":"assistant","content":[)"
              R"({"type":"text","text":"see"},)"
              R"({"type":"tool_use","id":"c1","name":"f","input":{"a": 1.10}},)"
              R"({"type":"tool_use","id":"c2","name":"g","input":{"_text_arguments":"{\"b\":"}}]},)"
              R"({"role":"user","content":[)"
              R"({"type":"tool_result","tool_use_id":"c1","content":"one"},)"
              R"({"type":"tool_result","tool_use_id":"c2","content":"two"}]},)"
              R"({"role":"user","content":"and?"}])");
}

TEST(convert, goes_round_the_three_formats_without_losing_a_byte_of_meaning) {
    const std::string items = converted(chat, responses, parallel_chat);
    const std::string blocks = converted(responses, anthropic, items);
    EXPECT_EQ(converted(anthropic, chat, blocks), parallel_chat);
}

TEST(convert, carries_custom_tools_and_their_free_text) {
    const std::string json =
        R"([{"role":"user","content":"go"},)"
        R"({"role":"assistant","content":null,"tool_calls":[)"
        R"({"id":"c1","type":"custom","custom":{"name":"sh","input":"ls -l"}}]},)"
        R"({"role":"tool","tool_call_id":"c1","content":"x"}])";
    const std::string items = converted(chat, responses, json);
    EXPECT_NE(
        items.find(R"({"type":"custom_tool_call","call_id":"c1","name":"sh","input":"ls -l"})"),
        std::string::npos);
    EXPECT_EQ(converted(anthropic, chat, converted(chat, anthropic, json)), json);
}

TEST(convert, moves_the_system_prompt_where_the_format_keeps_it) {
    const std::string json =
        R"([{"role":"system","content":"be brief"},{"role":"user","content":"hi"}])";
    EXPECT_EQ(converted(chat, anthropic, json),
              R"({"system":"be brief","messages":[{"role":"user","content":"hi"}]})");
    EXPECT_EQ(converted(anthropic, chat, converted(chat, anthropic, json)), json);
    EXPECT_EQ(converted(chat, responses, json), json);
}

TEST(convert, carries_media_by_url_and_by_data) {
    const std::string json =
        R"([{"role":"user","content":[{"type":"text","text":"see"},)"
        R"({"type":"image_url","image_url":{"url":"https://x/y.png"}},)"
        R"({"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}])";
    const std::string blocks = converted(chat, anthropic, json);
    EXPECT_NE(blocks.find(R"({"type":"url","url":"https://x/y.png"})"), std::string::npos);
    EXPECT_NE(blocks.find(R"({"type":"base64","media_type":"image/png","data":"AAAA"})"),
              std::string::npos);
    EXPECT_EQ(converted(anthropic, chat, blocks), json);
}

TEST(convert, reports_what_has_no_place_in_the_target) {
    std::vector<std::string> lost;
    converted(anthropic, chat,
              R"([{"role":"user","content":"q"},{"role":"assistant","content":[
                 {"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a",
                  "citations":[{"type":"char_location"}]},
                 {"type":"server_tool_use","id":"s1","name":"web_search","input":{}}]}])",
              &lost);
    EXPECT_EQ(lost, (std::vector<std::string>{"thinking: reasoning is not carried over",
                                              "text: citations are not carried over",
                                              "server_tool_use: a tool of another provider"}));
}

TEST(convert, maps_the_fields_of_a_request) {
    const std::string body =
        R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],)"
        R"("tools":[{"type":"function","function":{"name":"f","description":"d",)"
        R"("parameters":{"type":"object"}}}],"tool_choice":"required","parallel_tool_calls":false,)"
        R"("max_completion_tokens":50,"temperature":0.50,"stop":["x"],"logit_bias":{},)"
        R"("response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"a":1}}}})";
    std::vector<std::string> lost;
    EXPECT_EQ(converted(chat, anthropic, body, &lost),
              R"({"model":"m","system":"s","messages":[{"role":"user","content":"u"}],)"
              R"("tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],)"
              R"("tool_choice":{"type":"any","disable_parallel_tool_use":true},)"
              R"("max_tokens":50,"temperature":0.50,"stop_sequences":["x"],)"
              R"("output_config":{"format":{"type":"json_schema","schema":{"a":1}}}})");
    EXPECT_EQ(lost, std::vector<std::string>{"logit_bias: has no common form"});
    EXPECT_EQ(converted(chat, responses, body, &lost),
              R"({"model":"m","input":[{"role":"system","content":"s"},)"
              R"({"role":"user","content":"u"}],"tools":[{"type":"function","name":"f",)"
              R"("description":"d","parameters":{"type":"object"}}],"parallel_tool_calls":false,)"
              R"("tool_choice":"required","max_output_tokens":50,"temperature":0.50,)"
              R"("text":{"format":{"type":"json_schema","name":"n","schema":{"a":1}}}})");
    EXPECT_EQ(lost, (std::vector<std::string>{"logit_bias: has no common form",
                                              "stop: Responses has no stop sequences"}));
}

TEST(render, keeps_the_bytes_of_messages_of_the_target_format) {
    const std::string odd = R"({ "role":"user", "content":"x\u0041", "name":"n" })";
    const Message one = *read_message(chat, make_bytes(odd));
    const Message two = *make_message(anthropic, Role::assistant, "y");
    const std::vector<Message> view{one, two};
    const auto rendered = render(chat, view);
    ASSERT_TRUE(rendered) << rendered.error().message;
    EXPECT_EQ(write_list(rendered->messages),
              "[" + odd + R"(,{"role":"assistant","content":"y"}])");
}

TEST(render, makes_any_log_of_any_formats_sendable_in_any_format) {
    const FormatId formats[] = {chat, responses, anthropic};
    for (unsigned seed = 0; seed < 150; ++seed) {
        std::vector<Message> log;
        for (unsigned run = 0; run < 3; ++run) {
            const FormatId format = formats[(seed + run * 7) % 3];
            const std::string json = test::RandomHistory(format, seed * 3 + run + 1).json();
            const auto messages = read_messages(format, make_bytes(json));
            ASSERT_TRUE(messages);
            log.insert(log.end(), messages->begin(), messages->end());
        }
        for (const FormatId to : formats) {
            const auto rendered = render(to, log);
            ASSERT_TRUE(rendered) << seed << rendered.error().message << write_list(log);
            const auto violations = validate_json(to, write_list(rendered->messages));
            ASSERT_TRUE(violations && is_sendable(*violations));
            const auto again = render(to, rendered->messages);
            ASSERT_TRUE(again);
            EXPECT_EQ(write_list(again->messages), write_list(rendered->messages));
        }
    }
}

TEST(render, a_leading_system_message_in_anthropics_own_format_goes_to_its_field) {
    const auto system = make_message(FormatId::anthropic, Role::system, "be brief");
    const auto said = make_message(FormatId::anthropic, Role::user, "hi");
    ASSERT_TRUE(system && said);
    const std::vector<Message> messages = {*system, *said};
    const auto rendered = render(FormatId::anthropic, messages);
    ASSERT_TRUE(rendered) << rendered.error().message;
    EXPECT_EQ(rendered->system, "be brief");
    ASSERT_EQ(rendered->messages.size(), 1u);
    EXPECT_EQ(view_of(rendered->messages[0].raw), view_of(said->raw));
    EXPECT_TRUE(rendered->notes.empty());
}
