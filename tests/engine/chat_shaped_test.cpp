// Structured output: three ways to ask for it, and what happens to an answer that does not fit.
#include <gtest/gtest.h>

#include "palimpsest/chat.h"
#include "support/scripted_model.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;
using Way = AnswerShape::Way;

namespace {

const std::string question = user("where is it warm?");
const AnswerShape city{
    .schema = R"({"type":"object","required":["city"],"properties":{"city":{"type":"string"}}})"};

// Sees what it is told beside the messages.
class WatchedModel : public ScriptedModel {
public:
    using ScriptedModel::ScriptedModel;
    std::string parameters = {};
    Result<Reply> call(const ModelRequest& request, const OnPiece& on_piece) override {
        parameters = request.parameters;
        return ScriptedModel::call(request, on_piece);
    }
};

}  // namespace

TEST(chat_shaped, asks_by_response_format_and_gives_the_checked_value) {
    Memory memory = open_memory();
    WatchedModel model;
    model.says("```json\n{\"city\":\"Lima\"}\n```");
    const auto done = chat_shaped(memory, alice, {.messages = question}, model, city);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->json, R"({"city":"Lima"})");
    EXPECT_EQ(done->attempts, 1u);
    EXPECT_NE(model.parameters.find(R"("response_format":{"type":"json_schema")"),
              std::string::npos);
}

TEST(chat_shaped, an_answer_that_does_not_fit_goes_back_with_the_reason) {
    Memory memory = open_memory();
    WatchedModel model;
    model.says("Lima, I think").says(R"({"town":"Lima"})").says(R"({"city":"Lima"})");
    const BeginRequest request{.messages = question, .write = {.key = "k"}};
    const auto done = chat_shaped(memory, alice, request, model, city);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->attempts, 3u);
    EXPECT_NE(model.sent.at(2).find("'city' is required"), std::string::npos) << model.sent[2];
    const auto again = chat_shaped(memory, alice, request, model, city);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->json, done->json);
    EXPECT_EQ(model.calls, 3);
}

TEST(chat_shaped, gives_up_after_the_last_retry_and_keeps_what_was_said) {
    Memory memory = open_memory();
    WatchedModel model;
    for (int i = 0; i < 3; ++i) model.says("no");
    AnswerShape shape = city;
    shape.retries = 2;
    const auto done = chat_shaped(memory, alice, {.messages = question}, model, shape);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::unprocessable);
    EXPECT_EQ(model.calls, 3);
    EXPECT_EQ(memory.view(alice)->items.size(), 6u);
}

TEST(chat_shaped, a_tool_takes_the_answer_and_ends_the_turn) {
    Memory memory = open_memory();
    WatchedModel model;
    AnswerShape shape = city;
    shape.way = Way::tool;
    model.asks_for({{"answer", R"({"town":"Lima"})"}}).asks_for({{"answer", R"({"city":"Lima"})"}});
    const BeginRequest request{.messages = question, .write = {.key = "k"}};
    for (int repeat = 0; repeat < 2; ++repeat) {
        const auto done = chat_shaped(memory, alice, request, model, shape);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->json, R"({"city":"Lima"})");
        EXPECT_EQ(model.calls, 2);
    }
    EXPECT_NE(model.parameters.find("tool_choice"), std::string::npos);
    EXPECT_TRUE(all_answered(memory));
}

TEST(chat_shaped, works_beside_other_tools) {
    Memory memory = open_memory();
    WatchedModel model;
    AnswerShape shape = city;
    shape.way = Way::tool;
    const Tool look =
        make_tool("look", [](std::string_view) { return Result<std::string>("30C"); });
    model.asks_for({{"look", "{}"}}).asks_for({{"answer", R"({"city":"Lima"})"}});
    const auto done =
        chat_shaped(memory, alice, {.messages = question}, model, shape, {.tools = {look}});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->json, R"({"city":"Lima"})");
    EXPECT_NE(model.parameters.find("required"), std::string::npos);
}

TEST(chat_shaped, in_words_for_servers_that_have_neither_and_streamed) {
    Memory memory = open_memory();
    WatchedModel model;
    AnswerShape shape = city;
    shape.way = Way::prompt;
    model.says("hm").says(R"({"city":"Lima"})");
    std::string heard;
    const auto listen = [&](const ChatEvent& event) {
        if (event.kind == ChatEvent::Kind::retry) heard += " again: ";
        if (event.kind == ChatEvent::Kind::text) heard += event.text;
        return true;
    };
    const auto done =
        chat_shaped(memory, alice, {.messages = question}, model, shape, {.on_event = listen});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(heard, R"(hm again: {"city":"Lima"})");
    for (const std::string& sent : model.sent)
        EXPECT_TRUE(sent.starts_with("Answer with one JSON value")) << sent;
    EXPECT_EQ(memory.view(alice)->items.size(), 4u);
}

TEST(chat_shaped, a_schema_that_is_none_is_refused_before_anything_is_said) {
    Memory memory = open_memory();
    WatchedModel model;
    EXPECT_EQ(
        chat_shaped(memory, alice, {.messages = question}, model, {.schema = "7"}).error().code,
        ErrorCode::invalid_request);
    EXPECT_EQ(model.calls, 0);
}
