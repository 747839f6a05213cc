// States of goaitools and ailoop: read, gone on with, and written as they do it.
#include "support/scripted_model.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

// As goaitools 0.4 writes it.
const std::string blob =
    R"({"version":1,"provider":"openai","processed_length":2,"messages":[)"
    R"({"role":"user","content":"hello","custom":7},{"role":"assistant","content":"hi"}]})";

// As ailoop writes it: tags from outside, an error flag only where there is one.
const std::string snapshot =
    R"({"version":1,"messages":[{"User":{"blocks":[{"Text":{"text":"where is it?"}}]}},)"
    R"({"Assistant":{"blocks":[{"ToolCall":{"call_id":"c1","name":"look","args":{"at":"home"}}}]}},)"
    R"({"User":{"blocks":[{"ToolResult":{"call_id":"c1","content":{"blocks":[)"
    R"({"type":"text","text":"there"}]}}}]}},)"
    R"({"Assistant":{"blocks":[{"Text":{"text":"It is there."}}]}}],)"
    R"("pinned":[true,false,false,false]})";

const StateOptions as_goaitools{.shape = StateShape::goaitools};
const StateOptions as_ailoop{.shape = StateShape::ailoop};
const StateOptions as_read{.shape = StateShape::same};

AppendRequest one(const std::string& message, FormatId format = FormatId::openai_chat) {
    return {.messages = message, .format = format};
}

}  // namespace

TEST(state_shapes, a_blob_of_goaitools_goes_on_and_comes_back_as_one) {
    ScriptedModel model;
    model.says("fine");
    const std::string said = user("how are you?");
    const auto turn = chat_with_state(blob, {.messages = said}, model, as_read);
    ASSERT_TRUE(turn) << turn.error().message;
    EXPECT_TRUE(turn->report.problem.empty()) << turn->report.detail;
    EXPECT_TRUE(turn->report.lost.empty());
    EXPECT_EQ(model.sent.at(0), "hello hi how are you?");
    EXPECT_EQ(turn->state, R"({"version":1,"provider":"openai","processed_length":4,"messages":[)"
                           R"({"role":"user","content":"hello","custom":7},)"
                           R"({"role":"assistant","content":"hi"},)" +
                               said + "," + assistant("fine") + "]}");
}

TEST(state_shapes, appending_to_a_blob_leaves_the_processed_length) {
    const std::string event = user("the door opened");
    const auto more = append_to_state(blob, one(event), as_read);
    ASSERT_TRUE(more);
    std::string expected = blob;
    expected.replace(expected.size() - 2, 2, "," + event + "]}");
    EXPECT_EQ(more->state, expected);
}

TEST(state_shapes, the_provider_locks_a_blob) {
    const auto other = append_to_state(
        R"({"version":1,"provider":"anthropic","processed_length":0,"messages":[]})",
        one(user("x")));
    EXPECT_EQ(other->report.problem, "provider_mismatch");
    const auto own =
        append_to_state(R"({"version":1,"provider":"mine","processed_length":0,"messages":[]})",
                        one(user("x")), {.provider = "mine", .shape = StateShape::same});
    EXPECT_EQ(own->report.problem, "");
    EXPECT_TRUE(own->state.starts_with(R"({"version":1,"provider":"mine")")) << own->state;
}

TEST(state_shapes, a_snapshot_of_ailoop_comes_back_byte_for_byte) {
    const std::string said = R"({"role":"user","content":"thanks"})";
    const auto more = append_to_state(snapshot, one(said, FormatId::anthropic), as_read);
    ASSERT_TRUE(more) << more.error().message;
    EXPECT_EQ(more->report.problem, "") << more->report.detail;
    std::string expected = snapshot;
    expected.insert(expected.find("],\"pinned\""),
                    R"(,{"User":{"blocks":[{"Text":{"text":"thanks"}}]}})");
    expected.insert(expected.size() - 2, ",false");
    EXPECT_EQ(more->state, expected);
    ASSERT_EQ(more->report.lost.size(), 1u);
    EXPECT_EQ(more->report.lost[0], "how many messages a model has seen");
}

TEST(state_shapes, a_snapshot_goes_on_with_a_model_of_another_format) {
    ScriptedModel model;
    model.says("You are welcome.");
    const std::string said = user("thanks");
    const auto turn = chat_with_state(snapshot, {.messages = said}, model);
    ASSERT_TRUE(turn) << turn.error().message;
    EXPECT_EQ(turn->report.problem, "") << turn->report.detail;
    EXPECT_EQ(model.sent.at(0), "where is it? call:c1 there It is there. thanks");
    EXPECT_TRUE(turn->state.starts_with(R"({"version":2,"provider":"openai_chat")"));
    EXPECT_NE(turn->state.find(R"("pinned":[0])"), std::string::npos) << turn->state;
}

TEST(state_shapes, a_bad_snapshot_is_reported) {
    const auto lengths = append_to_state(
        R"({"version":1,"messages":[{"User":{"blocks":[]}}],"pinned":[]})", one(user("x")));
    EXPECT_EQ(lengths->report.problem, "invalid_conversation_state");
    const auto version =
        append_to_state(R"({"version":999,"messages":[],"pinned":[]})", one(user("x")));
    EXPECT_EQ(version->report.problem, "unsupported_state_version");
    const auto strict =
        append_to_state(R"({"version":1,"messages":[{"User":{"blocks":[]}}],"pinned":[]})",
                        one(user("x")), {.bad = BadState::fail});
    ASSERT_FALSE(strict);
    EXPECT_NE(strict.error().message.find("differ in length"), std::string::npos);
}

TEST(state_shapes, what_a_shape_cannot_carry_is_said) {
    const std::string state =
        R"({"version":2,"provider":"openai_chat","processed_length":1,"messages":[)" +
        user("[summary] they met") + "," + user("pinned") +
        R"(],"pinned":[1],"summaries":[{"at":0,"text":"[summary] they met"}]})";
    const auto plain = append_to_state(state, one(user("x")), as_goaitools);
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->report.lost,
              (std::vector<std::string>{"which messages are summaries", "pins"}));
    EXPECT_TRUE(
        plain->state.starts_with(R"({"version":1,"provider":"openai","processed_length":1)"))
        << plain->state;
    EXPECT_EQ(plain->state.find("summaries"), std::string::npos);
    const auto tagged = append_to_state(state, one(user("x")), as_ailoop);
    ASSERT_TRUE(tagged);
    EXPECT_EQ(tagged->report.lost.front(), "which messages are summaries");
}

TEST(state_shapes, calls_for_tools_of_the_caller_end_the_turn_and_go_on_with_their_results) {
    ScriptedModel model;
    model.asks_for({{"look", R"({"at":"home"})"}}).says("It is there.");
    const std::string said = user("where is it?");
    const std::string tools =
        R"([{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])";
    const auto asked = chat_with_state("", {.messages = said, .tools = tools}, model, {},
                                       {.others_pending = true});
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_EQ(asked->chat.outcome, ChatDone::Outcome::pending);
    ASSERT_EQ(asked->chat.pending.size(), 1u);
    EXPECT_EQ(asked->chat.pending[0].name, "look");
    EXPECT_EQ(asked->chat.pending[0].arguments, R"({"at":"home"})");
    const std::string found = result("c1", "there");
    const auto done = chat_with_state(asked->state, {.messages = found, .tools = tools}, model, {},
                                      {.others_pending = true});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->chat.text, "It is there.");
    EXPECT_EQ(model.sent.at(1), "where is it? call:c1 there");
}
