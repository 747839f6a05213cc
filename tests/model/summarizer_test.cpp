// The summariser over models, against the scripted server.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "palimpsest/model.h"
#include "support/upstream.h"

namespace palimpsest {
namespace {

std::string body_of(std::string_view text) {
    return R"({"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,)"
           R"("message":{"role":"assistant","content":")" +
           std::string(text) +
           R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":90,"completion_tokens":3}})";
}

std::shared_ptr<Model> model_at(const Upstream& upstream, std::string name) {
    auto model = make_http_model(
        {.name = std::move(name), .url = upstream.url(), .retries = 0, .proxy = "none"});
    EXPECT_TRUE(model);
    return std::move(*model);
}

TEST(summarizer, asks_the_model_that_the_policy_names_and_tells_what_it_took) {
    Upstream cheap({{.body = body_of("  short  ")}}), dear({{.body = body_of("dear")}});
    auto summarizer = make_summarizer({model_at(cheap, "cheap"), model_at(dear, "dear")});
    ASSERT_TRUE(summarizer);
    const auto any =
        (*summarizer)->summarize({.system = "sum up", .user = "text", .max_tokens = 9});
    ASSERT_TRUE(any) << any.error().message;
    EXPECT_EQ(any->text, "short");
    EXPECT_EQ(any->model, "cheap");
    EXPECT_EQ(any->usage.input_tokens, 90u);
    const std::string sent = cheap.requests().at(0).body;
    EXPECT_NE(sent.find(R"("max_completion_tokens":9)"), std::string::npos) << sent;
    EXPECT_NE(sent.find("sum up"), std::string::npos);
    EXPECT_EQ(sent.find("tools"), std::string::npos);
    const auto named = (*summarizer)->summarize({.system = "s", .user = "t", .model = "dear"});
    ASSERT_TRUE(named);
    EXPECT_EQ(named->text, "dear");
}

TEST(summarizer, an_empty_answer_has_a_fault_and_its_usage) {
    Upstream upstream({{.body = body_of("")}});
    auto summarizer = make_summarizer({model_at(upstream, "m")});
    const auto answer = (*summarizer)->summarize({.system = "s", .user = "t"});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->fault, "the model m wrote no summary");
    EXPECT_GT(answer->usage.input_tokens, 0u);
}

TEST(summarizer, a_prompt_file_replaces_the_words_and_must_be_there) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("pal_prompt_" + std::to_string(::getpid()) + ".txt");
    std::ofstream(path) << "in verse, please";
    Upstream upstream({{.body = body_of("ok")}});
    auto summarizer = make_summarizer({model_at(upstream, "m")}, {.prompt_file = path.string()});
    ASSERT_TRUE(summarizer);
    ASSERT_TRUE((*summarizer)->summarize({.system = "sum up", .user = "t"}));
    EXPECT_NE(upstream.requests().at(0).body.find("in verse, please"), std::string::npos);
    EXPECT_EQ(upstream.requests().at(0).body.find("sum up"), std::string::npos);
    std::filesystem::remove(path);
    EXPECT_EQ(
        make_summarizer({model_at(upstream, "m")}, {.prompt_file = path.string()}).error().code,
        ErrorCode::not_found);
    EXPECT_FALSE(make_summarizer({}));
}

}  // namespace
}  // namespace palimpsest
