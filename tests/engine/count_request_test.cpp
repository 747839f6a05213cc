// A view and a whole request are counted by the same judgement, whatever stands in them.
#include "engine/count_request.h"

#include <gtest/gtest.h>

#include "engine/compact_document.h"
#include "engine/count.h"
#include "palimpsest/format.h"
#include "token/models.h"

namespace palimpsest {
namespace {

std::string words(int count) {
    std::string out;
    for (int n = 0; n < count; ++n) out += "word ";
    return out;
}

std::string quoted_words(int count) {
    return "\"" + words(count) + "\"";
}

std::uint64_t in_view(FormatId format, const std::string& list) {
    const auto done = compact_document(
        list, {.format = format, .policy = "none", .window = 1'000'000}, *exact_tokenizer());
    EXPECT_TRUE(done) << done.error().message;
    return done ? done->plan.used_before : 0;
}

std::uint64_t in_request(FormatId format, const std::string& list, const char* model) {
    const auto counted =
        count_request(format, *find_model(model).spec, *exact_tokenizer()->counter(), list);
    EXPECT_TRUE(counted) << counted.error().message;
    return counted ? counted->total() : 0;
}

// The view knows no model: it has the rules for images of the one, for calls of the other.
std::uint64_t tokens_of_block(const std::string& block, const char* model = "gpt-4o") {
    const std::string list = R"([{"role":"user","content":[)" + block + "]}]";
    const std::string empty = R"([{"role":"user","content":[]}])";
    const std::uint64_t viewed =
        in_view(FormatId::anthropic, list) - in_view(FormatId::anthropic, empty);
    EXPECT_EQ(viewed, in_request(FormatId::anthropic, list, model) -
                          in_request(FormatId::anthropic, empty, model))
        << block.substr(0, 100);
    return viewed;
}

std::string document(const std::string& fields) {
    return R"({"type":"document",)" + fields + "}";
}

TEST(count_request, a_document_of_plain_text_has_its_words) {
    EXPECT_EQ(
        tokens_of_block(document(R"("source":{"type":"text","media_type":"text/plain","data":)" +
                                 quoted_words(3000) + "}")),
        exact_tokenizer()->count(words(3000)));
    EXPECT_EQ(tokens_of_block(document(R"("source":{"type":"text","media_type":"text/plain",)"
                                       R"("data":"http is a protocol"})")),
              4u);
}

TEST(count_request, a_document_given_as_content_has_its_words_and_images) {
    const std::uint64_t many = exact_tokenizer()->count(words(3000));
    EXPECT_EQ(tokens_of_block(
                  document(R"("source":{"type":"content","content":)" + quoted_words(3000) + "}")),
              many);
    EXPECT_EQ(
        tokens_of_block(document(
            R"("source":{"type":"content","content":[{"type":"text","text":)" + quoted_words(3000) +
            R"(},{"type":"image","source":{"type":"url","url":"https://x.org/a.png"}}]})")),
        many + 765);
}

TEST(count_request, title_and_context_of_a_document_count) {
    const std::string source =
        R"("source":{"type":"text","media_type":"text/plain","data":"hello world"})";
    EXPECT_EQ(tokens_of_block(
                  document(R"("title":"hello","context":)" + quoted_words(3000) + "," + source)),
              3 + exact_tokenizer()->count(words(3000)));
    EXPECT_EQ(tokens_of_block(document(R"("title":null,)" + source)), 2u);
}

TEST(count_request, files_of_documents_count_by_what_they_hold) {
    EXPECT_EQ(tokens_of_block(document(R"("source":{"type":"base64","media_type":"text/plain",)"
                                       R"("data":"aGVsbG8gd29ybGQ="})")),
              2u);
    EXPECT_EQ(tokens_of_block(document(R"("title":"hello","source":{"type":"url",)"
                                       R"("url":"https://example.org/a.pdf"})")),
              221u);
    EXPECT_EQ(tokens_of_block(document(R"("source":{"type":"file","file_id":"file_1"})")), 220u);
}

TEST(count_request, blocks_of_types_that_are_not_known_have_their_words) {
    const std::string found = R"({"type":"search_result","source":"x","title":"t","content":[)"
                              R"({"type":"text","text":)" +
                              quoted_words(3000) + "}]}";
    EXPECT_GT(tokens_of_block(found), 3000u);
    EXPECT_GT(tokens_of_block(
                  R"({"type":"web_fetch_tool_result","tool_use_id":"t","content":{)"
                  R"("type":"web_fetch_result","url":"https://x.org","content":)" +
                  document(R"("source":{"type":"text","data":)" + quoted_words(3000) + "}") + "}}"),
              3000u);
    const std::string result = R"({"type":"tool_result","tool_use_id":"t","content":)";
    EXPECT_EQ(tokens_of_block(result + R"([{"type":"text","text":"ok"},)" + found +
                                  R"(,{"type":"tool_reference","tool_name":"f"}]})",
                              "claude"),
              tokens_of_block(found) + tokens_of_block(result + R"("ok"})", "claude"));
}

TEST(count_request, items_of_hosted_tools_count_as_in_a_view) {
    const std::string text = quoted_words(3000);
    for (
        const std::string& item :
        {R"({"type":"mcp_call","id":"m","server_label":"s","name":"l","arguments":"{}","output":)" +
             text + "}",
         R"({"type":"code_interpreter_call","id":"c","code":"1","outputs":[{"type":"logs","logs":)" +
             text + "}]}",
         R"({"type":"file_search_call","id":"f","queries":["q"],"results":[{"text":)" + text +
             "}]}",
         R"({"type":"custom_tool_call_output","call_id":"d","output":)" + text + "}",
         R"({"type":"function_call_output","call_id":"d","output":)" + text + "}",
         R"({"type":"shell_call","call_id":"s","action":{"commands":[)" + text + "]}}",
         R"({"type":"shell_call_output","call_id":"s","output":[{"stdout":)" + text +
             R"(,"stderr":"","outcome":{"type":"exit","exit_code":0}}]})",
         R"({"type":"local_shell_call_output","id":"s","output":)" + text + "}",
         R"({"type":"computer_call","call_id":"c","action":{"type":"type","text":)" + text + "}}",
         R"({"type":"tool_search_output","call_id":"c","tools":[{"description":)" + text + "}]}"}) {
        const std::string list = "[" + item + "]";
        const std::uint64_t counted = in_request(FormatId::openai_responses, list, "gpt-4o");
        EXPECT_GT(counted, 3000u) << item.substr(0, 40);
        EXPECT_EQ(counted, in_view(FormatId::openai_responses, list)) << item.substr(0, 40);
    }
    const std::string screen =
        R"([{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot",)"
        R"("file_id":"f"}}])";
    EXPECT_EQ(in_request(FormatId::openai_responses, screen, "gpt-4o"), 3u + 4 + 765);
}

TEST(count_request, what_a_custom_tool_is_given_counts) {
    const std::string list = R"([{"type":"custom_tool_call","call_id":"d","name":"g","input":)" +
                             quoted_words(3000) +
                             R"(},{"type":"custom_tool_call_output","call_id":"d","output":"ok"}])";
    EXPECT_GT(in_request(FormatId::openai_responses, list, "gpt-4o"), 3000u);
    EXPECT_GE(in_view(FormatId::openai_responses, list),
              in_request(FormatId::openai_responses, list, "gpt-4o"));
}

// The service drops what was thought in earlier turns; 567 bytes of it are about 100 tokens.
TEST(count_request, sealed_thoughts_count_in_their_turn) {
    const std::string thought =
        R"({"type":"reasoning","id":"r","summary":[],"encrypted_content":")" +
        std::string(880 + 5670, 'A') + "\"}";
    const std::string ask = R"({"role":"user","content":"hi"})";
    const auto count = [](const std::string& list) {
        return in_request(FormatId::openai_responses, "[" + list + "]", "gpt-5");
    };
    EXPECT_GT(count(ask + "," + thought), 1000u);
    EXPECT_EQ(count(ask + "," + thought + "," + ask), count(ask + "," + ask));
}

TEST(count_request, parts_of_a_chat_that_are_not_known_count_as_in_a_view) {
    const std::string list = R"([{"role":"user","content":[{"type":"video","text":)" +
                             quoted_words(3000) +
                             R"(},{"type":"file","file":{"filename":"hello world",)"
                             R"("file_data":"data:text/plain;base64,aGVsbG8gd29ybGQ="}}]}])";
    const std::uint64_t counted = in_request(FormatId::openai_chat, list, "gpt-4o");
    EXPECT_GT(counted, 3000u);
    EXPECT_EQ(counted, in_view(FormatId::openai_chat, list));
}

// Recorded requests, and what the service reported of them.
TEST(count_request, a_request_of_items_counts_what_was_reported) {
    const auto tool = [](const std::string& name, const std::string& schema) {
        return R"("tools":[{"type":"function","name":")" + name +
               R"(","description":null,"parameters":{"type":"object","additionalProperties":false,)" +
               schema + "}}]";
    };
    const auto ask = [](const std::string& text) {
        return R"("input":[{"role":"user","content":")" + text + R"("}])";
    };
    const std::string helpful = R"(,"instructions":"You are a helpful assistant.")";
    struct Recorded {
        const char* model;
        std::string fields;
        std::uint64_t reported;
    };
    for (const Recorded& one : std::vector<Recorded>{
             {"gpt-5-mini",
              ask("Use the get_file tool now to retrieve a document file, then describe what you "
                  "received.") +
                  "," + tool("get_file", R"("properties":{})"),
              47},
             {"gpt-5",
              ask("What is the meaning of life?") + "," +
                  tool("get_meaning_of_life", R"("properties":{})"),
              40},
             {"gpt-4.1",
              ask("Say hi in one word, no punctuation.") + "," +
                  tool("get_weather",
                       R"("properties":{"city":{"type":"string"}},"required":["city"])"),
              40},
             {"gpt-4o-mini", ask("What is the capital of Minas Gerais?") + helpful, 25},
             {"gpt-4o-mini", ask("Hello!") + helpful, 19}}) {
        const std::string body =
            R"({"model":")" + std::string(one.model) + "\"," + one.fields + "}";
        EXPECT_EQ(in_request(FormatId::openai_responses, body, one.model), one.reported) << body;
        EXPECT_EQ(in_view(FormatId::openai_responses, body), one.reported) << body;
    }
}

}  // namespace
}  // namespace palimpsest
