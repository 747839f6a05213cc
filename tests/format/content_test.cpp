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
    if (!bytes) return "refused: " + bytes.error().message;
    return *bytes ? std::string(**bytes) : "nothing";
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

TEST(content, a_message_of_which_nothing_is_left_has_no_bytes) {
    const Message only = message(
        FormatId::anthropic,
        R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]})");
    EXPECT_EQ(changed(only, 0, std::nullopt), "nothing");
    const Message item =
        message(FormatId::openai_responses, R"({"type":"reasoning","id":"rs_1","summary":[]})");
    EXPECT_EQ(changed(item, 0, std::nullopt), "nothing");
}

TEST(content, pictures_that_hosted_tools_made_are_media_and_go_as_such) {
    const std::string large(200, 'A');
    const Message shot = message(
        FormatId::openai_responses,
        R"({"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,)" +
            large + "\"}}");
    EXPECT_EQ(shot.shape.media, 1);
    EXPECT_FALSE(changed(shot, 1, "[image removed]").contains(large));
    EXPECT_TRUE(changed(shot, 1, "[image removed]")
                    .contains(R"("type":"computer_screenshot","image_url":"data:image/png)"));
    const Message made = message(
        FormatId::openai_responses,
        R"({"type":"image_generation_call","id":"i","status":"completed","result":"AAAA"})");
    EXPECT_EQ(made.shape.media, 1);
    EXPECT_EQ(changed(made, 1, "[image removed]"),
              R"({"type":"image_generation_call","id":"i","status":"completed","result":null})");
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
                R"({"type":"file_search_call","id":"f","queries":["q"],"results":[{"file_id":"a","text":"big"},{"file_id":"b","text":"big"}]})",
                R"({"type":"file_search_call","id":"f","queries":["q"],"results":[{"file_id":"a","text":"X"}]})"},
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

TEST(content, hosted_results_have_the_name_of_their_tool_and_the_text_of_their_payload) {
    struct Case {
        FormatId format;
        const char* raw;
        const char *tool, *text;
    };
    for (
        const Case& one : {
            Case{
                FormatId::openai_responses,
                R"({"type":"mcp_call","id":"m","server_label":"s","name":"n","arguments":"{}","output":"big"})",
                "n", "big"},
            Case{
                FormatId::anthropic,
                R"({"role":"assistant","content":[{"type":"mcp_tool_result","tool_use_id":"s","content":[{"type":"text","text":"big"}]},{"type":"mcp_tool_use","id":"s","name":"n","server_name":"x","input":{}}]})",
                "n", "big"},
            Case{
                FormatId::anthropic,
                R"({"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"s","content":{"type":"code_execution_result","stdout":"out","stderr":"err","return_code":0,"content":[]}},{"type":"server_tool_use","id":"s","name":"code_execution","input":{}}]})",
                "code_execution", "outerr"},
            Case{FormatId::openai_responses,
                 R"({"type":"local_shell_call_output","id":"c","output":"big"})",
                 "local_shell_call", "big"},
            Case{
                FormatId::openai_responses,
                R"({"type":"code_interpreter_call","id":"c","code":"x","container_id":"c","outputs":[{"type":"logs","logs":"big"}]})",
                "code_interpreter_call", "big"},
        }) {
        const auto content = read_content_of(message(one.format, one.raw));
        ASSERT_TRUE(content) << one.raw;
        EXPECT_EQ(content->parts[0].tool, one.tool) << one.raw;
        EXPECT_EQ(content->parts[0].text, one.text) << one.raw;
    }
    const auto content = read_content_of(message(
        FormatId::openai_responses,
        R"({"type":"file_search_call","id":"f","queries":["q"],"results":[{"text":"big"}]})"));
    ASSERT_EQ(content->parts.size(), 2u);
    EXPECT_EQ(content->parts[0].text, "big");
    EXPECT_EQ(content->parts[1].kind, ContentKind::tool_call);
    EXPECT_EQ(content->parts[1].text, R"(["q"])");
    EXPECT_FALSE(content->parts[1].can_change);
}

TEST(content, media_inside_a_result_are_parts_of_their_own_and_stay_beside_its_new_text) {
    const Message result = message(
        FormatId::anthropic,
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"long"},{"type":"image","source":{"type":"url","url":"u"}}]},{"type":"text","text":"?"}]})");
    const auto content = read_content_of(result);
    ASSERT_TRUE(content);
    ASSERT_EQ(content->parts.size(), 3u);
    EXPECT_EQ(content->parts[0].text, "long");
    EXPECT_EQ(content->parts[2].kind, ContentKind::media);
    EXPECT_EQ(content->parts[2].id, "t");
    EXPECT_EQ(
        changed(result, 2, "[image removed]"),
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"long"},{"type":"text","text":"[image removed]"}]},{"type":"text","text":"?"}]})");
    EXPECT_EQ(
        changed(result, 0, "l"),
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"l"},{"type":"image","source":{"type":"url","url":"u"}}]},{"type":"text","text":"?"}]})");
    const std::vector<PartChange> both = {{0, "gone"}, {2, std::nullopt}};
    EXPECT_EQ(
        std::string(**change_content(result, both)),
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"gone"},{"type":"text","text":"?"}]})");
}

TEST(content, documents_that_are_words_say_them) {
    const auto said = [](FormatId format, const std::string& part) {
        const auto content =
            read_content_of(message(format, R"({"role":"user","content":[)" + part + "]}"));
        EXPECT_TRUE(content && content->parts[0].kind == ContentKind::media);
        return std::string(content->parts[0].text);
    };
    const auto of_source = [&](const std::string& source) {
        return said(FormatId::anthropic, R"({"type":"document","source":{)" + source + "}}");
    };
    EXPECT_EQ(of_source(R"("type":"text","media_type":"text/plain","data":"a b")"), "a b");
    EXPECT_EQ(of_source(R"("type":"content","content":[{"type":"text","text":"a"}])"), "a");
    EXPECT_EQ(of_source(R"("type":"base64","media_type":"application/pdf","data":"AAAA")"), "");
    EXPECT_EQ(of_source(R"("type":"base64","media_type":"text/plain","data":"//8=")"), "");
    EXPECT_EQ(of_source(R"("type":"url","url":"https://example.org/a.txt")"), "");
    EXPECT_EQ(said(FormatId::anthropic,
                   R"({"type":"document","title":"T","context":"of old",)"
                   R"("source":{"type":"text","media_type":"text/plain","data":"a b"}})"),
              "T\nof old\na b");
    EXPECT_EQ(
        said(FormatId::openai_chat, R"({"type":"file","file":{"filename":"n.txt",)"
                                    R"("file_data":"data:text/plain;base64,aGVsbG8gd29ybGQ="}})"),
        "n.txt\nhello world");
}

TEST(content, a_result_and_a_document_in_it_change_together) {
    const Message result = message(
        FormatId::anthropic,
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[)"
        R"({"type":"document","source":{"type":"text","media_type":"text/plain","data":"long"}},)"
        R"({"type":"text","text":"also long"}]}]})");
    const std::vector<PartChange> both = {{0, "also"}, {1, "l"}};
    EXPECT_EQ(std::string(**change_content(result, both)),
              R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[)"
              R"({"type":"text","text":"also"},{"type":"text","text":"l"}]}]})");
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
