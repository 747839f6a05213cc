#include "model/request_body.h"

#include <gtest/gtest.h>

#include "base/json.h"

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

}  // namespace
}  // namespace palimpsest
