#include "format/content.h"

#include <gtest/gtest.h>

#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

Message message(FormatId format, std::string raw) {
    auto read = read_message(format, make_bytes(std::move(raw)));
    EXPECT_TRUE(read.has_value());
    return *std::move(read);
}

std::string changed(const Message& from, std::size_t part, std::optional<std::string> text) {
    const std::vector<PartChange> changes = {{part, std::move(text)}};
    const auto bytes = change_content(from, changes);
    return bytes ? std::string(**bytes) : "refused: " + bytes.error().message;
}

}  // namespace

TEST(content, a_result_is_replaced_and_everything_else_keeps_its_bytes) {
    const Message tool = message(
        FormatId::openai_chat,
        R"({"role": "tool",  "name":"w","tool_call_id":"c1","content":"long \u00e9","extra":[1, 2]})");
    EXPECT_EQ(changed(tool, 0, "short"),
              R"({"role":"tool","name":"w","tool_call_id":"c1","content":"short","extra":[1, 2]})");
}

TEST(content, calls_keep_name_and_id_and_get_one_field) {
    const Message chat = message(
        FormatId::openai_chat,
        R"({"role":"assistant","content":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]})");
    EXPECT_EQ(
        changed(chat, 1, "gone"),
        R"({"role":"assistant","content":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"removed\":\"gone\"}"}}]})");
    const Message block = message(
        FormatId::anthropic,
        R"({"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]})");
    EXPECT_EQ(
        changed(block, 0, "gone"),
        R"({"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"removed":"gone"}}]})");
    const Message custom =
        message(FormatId::openai_responses,
                R"({"type":"custom_tool_call","call_id":"t","name":"f","input":"free text"})");
    EXPECT_EQ(changed(custom, 0, "gone"),
              R"({"type":"custom_tool_call","call_id":"t","name":"f","input":"gone"})");
}

TEST(content, reasoning_goes_whole_and_is_never_rewritten) {
    const Message thinking = message(
        FormatId::anthropic,
        R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"ok"}]})");
    EXPECT_EQ(changed(thinking, 0, std::nullopt),
              R"({"role":"assistant","content":[{"type":"text","text":"ok"}]})");
    EXPECT_TRUE(changed(thinking, 0, "shorter").starts_with("refused"));
    const Message chat = message(FormatId::openai_chat,
                                 R"({"role":"assistant","content":"ok","reasoning_content":"hm"})");
    const auto content = read_content_of(chat);
    ASSERT_TRUE(content);
    for (std::size_t p = 0; p < content->parts.size(); ++p) {
        if (content->parts[p].kind != ContentKind::reasoning) continue;
        EXPECT_EQ(changed(chat, p, std::nullopt), R"({"role":"assistant","content":"ok"})");
    }
}

TEST(content, a_message_is_never_left_empty) {
    const Message only = message(
        FormatId::anthropic,
        R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]})");
    EXPECT_TRUE(changed(only, 0, std::nullopt).starts_with("refused"));
}

TEST(content, media_become_a_text_part) {
    const Message image = message(
        FormatId::openai_responses,
        R"({"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"},{"type":"input_text","text":"?"}]})");
    EXPECT_EQ(
        changed(image, 0, "[image removed]"),
        R"({"role":"user","content":[{"type":"input_text","text":"[image removed]"},{"type":"input_text","text":"?"}]})");
}

TEST(content, hosted_results_have_a_rule_for_each_type) {
    struct Case {
        FormatId format;
        const char* before;
        const char* after;
    };
    for (
        const Case& one : {
            Case{
                FormatId::openai_responses,
                R"({"type":"mcp_call","id":"m","server_label":"s","name":"n","arguments":"{}","output":"big"})",
                R"({"type":"mcp_call","id":"m","server_label":"s","name":"n","arguments":"{}","output":"X"})"},
            Case{
                FormatId::openai_responses,
                R"({"type":"image_generation_call","id":"i","status":"completed","result":"AAAA"})",
                R"({"type":"image_generation_call","id":"i","status":"completed","result":null})"},
            Case{
                FormatId::openai_responses,
                R"({"type":"shell_call_output","call_id":"c","output":[{"stdout":"big","stderr":"","outcome":{"type":"exit","exit_code":1}}]})",
                R"({"type":"shell_call_output","call_id":"c","output":[{"stdout":"X","stderr":"","outcome":{"type":"exit","exit_code":1}}]})"},
            Case{
                FormatId::anthropic,
                R"({"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"e"}]}]})",
                R"({"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"s","content":[]}]})"},
            Case{
                FormatId::anthropic,
                R"({"role":"assistant","content":[{"type":"mcp_tool_result","tool_use_id":"s","is_error":false,"content":[{"type":"text","text":"big"}]}]})",
                R"({"role":"assistant","content":[{"type":"mcp_tool_result","tool_use_id":"s","is_error":false,"content":"X"}]})"},
        }) {
        const Message from = message(one.format, one.before);
        EXPECT_TRUE(may_hold_results(from)) << one.before;
        EXPECT_EQ(changed(from, 0, "X"), one.after);
    }
}

TEST(content, what_has_no_payload_cannot_be_changed) {
    const Message search = message(FormatId::openai_responses,
                                   R"({"type":"web_search_call","id":"w","status":"completed"})");
    EXPECT_TRUE(changed(search, 0, "X").starts_with("refused"));
    const auto content = read_content_of(search);
    ASSERT_TRUE(content);
    EXPECT_FALSE(content->parts[0].can_change);
}

TEST(content, errors_are_known_by_flag_or_by_their_first_word) {
    EXPECT_TRUE(has_error_result(message(
        FormatId::openai_chat, R"({"role":"tool","tool_call_id":"c", "content" : "Error: no"})")));
    EXPECT_FALSE(has_error_result(
        message(FormatId::openai_chat,
                R"({"role":"tool","tool_call_id":"c","content":"No Error: fine"})")));
    EXPECT_TRUE(has_error_result(message(
        FormatId::anthropic,
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"no"}]})")));
    EXPECT_FALSE(has_error_result(message(
        FormatId::anthropic,
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":false,"content":"yes"}]})")));
}
