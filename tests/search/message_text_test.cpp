#include "search/message_text.h"

#include <gtest/gtest.h>

#include "palimpsest/format.h"

namespace palimpsest {
namespace {

std::string searched(FormatId format, std::string json) {
    const auto message = read_message(format, make_bytes(std::move(json)));
    EXPECT_TRUE(message) << message.error().message;
    return message ? search_text(*message).text : "";
}

void expect_words(const std::string& text, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
        EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST(message_text, has_what_a_providers_own_tools_were_asked_and_answered) {
    const FormatId items = FormatId::openai_responses, blocks = FormatId::anthropic;
    expect_words(searched(items, R"({"type":"mcp_call","id":"m1","name":"roll","server_label":"d",
        "arguments":"{\"a\":\"kinkajou\"}","output":"olingo rolled"})"),
                 {"roll", "kinkajou", "olingo rolled"});
    expect_words(searched(items, R"({"type":"file_search_call","id":"f1","status":"completed",
        "queries":["red pandas"],"results":[{"file_id":"x","filename":"a.md","text":"a panda"}]})"),
                 {"red pandas", "a.md", "a panda"});
    expect_words(searched(blocks, R"({"role":"assistant","content":[
        {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"tapir food"}},
        {"type":"web_search_tool_result","tool_use_id":"s1","content":[
            {"type":"web_search_result","title":"What tapirs eat","url":"https://t.example"}]}]})"),
                 {"web_search", "tapir food", "What tapirs eat"});
}

TEST(message_text, has_documents_of_text_and_what_was_spoken) {
    expect_words(searched(FormatId::anthropic, R"({"role":"user","content":[{"type":"document",
        "source":{"type":"text","media_type":"text/plain","data":"the okapi report"},
        "title":"Okapis"}]})"),
                 {"the okapi report", "Okapis"});
    expect_words(searched(FormatId::anthropic, R"({"role":"user","content":[
        {"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"plain"},
            {"type":"search_result","title":"Found","source":"s","content":[
                {"type":"text","text":"a numbat"}]}]}]})"),
                 {"plain", "Found", "a numbat"});
    expect_words(searched(FormatId::openai_chat, R"({"role":"assistant","content":null,
        "audio":{"id":"a1","transcript":"hello aardvark"}})"),
                 {"hello aardvark"});
}

TEST(message_text, has_nothing_that_is_sealed_encoded_or_only_names_things) {
    const std::string data(4000, 'A');
    EXPECT_EQ(searched(FormatId::openai_responses,
                       R"({"type":"image_generation_call","id":"i1","result":")" + data + "\"}"),
              "");
    const std::string text =
        searched(FormatId::anthropic, R"({"role":"user","content":[{"type":"document",
        "source":{"type":"base64","media_type":"application/pdf","data":")" +
                                          data + R"("},"title":"A report"}]})");
    EXPECT_EQ(text.find("AAAA"), std::string::npos);
    expect_words(text, {"A report"});
}

}  // namespace
}  // namespace palimpsest
