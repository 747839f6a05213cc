// The portable state: bytes in, a turn, bytes out.
#include <gtest/gtest.h>

#include "base/json.h"
#include "palimpsest/chat.h"
#include "support/scripted_model.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

std::string messages_in(std::string_view state) {
    const auto document = parse_json(state);
    if (!document) return "?";
    std::string out;
    for (const JsonValue one : document->root().find("messages")->elements())
        out += std::string(out.empty() ? "" : " ") + std::string(one.find("role")->string());
    return out;
}
std::int64_t processed_in(std::string_view state) {
    return *parse_json(state)->root().find("processed_length")->integer();
}
const std::string hello = user("hello");

}  // namespace

TEST(state_blob, a_second_turn_sees_the_first_and_never_the_old_preamble) {
    ScriptedModel model;
    model.says("hi").says("fine");
    const std::string first = "[" + message("system", "be brief") + "," + hello + "]";
    const auto one = chat_with_state("", {.messages = first}, model);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(one->chat.text, "hi");
    EXPECT_EQ(messages_in(one->state), "user assistant");
    EXPECT_EQ(processed_in(one->state), 2);
    const std::string second = "[" + message("system", "be kind") + "," + user("how?") + "]";
    const auto two = chat_with_state(one->state, {.messages = second}, model);
    ASSERT_TRUE(two) << two.error().message;
    EXPECT_EQ(model.sent.at(1), "be kind hello hi how?");
    EXPECT_EQ(messages_in(two->state), "user assistant user assistant");
    EXPECT_TRUE(two->report.problem.empty());
}

TEST(state_blob, append_adds_without_a_model_and_leaves_the_processed_length) {
    ScriptedModel model;
    model.says("hi").says("noted");
    const auto one = chat_with_state("", {.messages = hello}, model);
    const auto more = append_event(one->state, "the door opened");
    ASSERT_TRUE(more) << more.error().message;
    EXPECT_EQ(messages_in(more->state), "user assistant user");
    EXPECT_EQ(processed_in(more->state), 2);
    EXPECT_EQ(model.calls, 1);
    const std::string ask = user("what happened?");
    ASSERT_TRUE(chat_with_state(more->state, {.messages = ask}, model));
    EXPECT_EQ(model.sent.at(1), "hello hi the door opened what happened?");
    const std::string note = message("system", "a rule");
    const auto fresh = append_to_state("", {.messages = note});
    ASSERT_TRUE(fresh);
    EXPECT_EQ(messages_in(fresh->state), "system");
    EXPECT_EQ(processed_in(fresh->state), 0);
}

TEST(state_blob, what_cannot_be_read_is_a_fresh_start_with_a_report_unless_told_otherwise) {
    struct Case {
        std::string state, problem;
        std::size_t salvaged;
    };
    const std::string good = R"({"role":"user","content":"a"})";
    const Case cases[] = {
        {"not json", "invalid_conversation_state", 0},
        {R"({"version":9,"provider":"openai_chat","messages":[]})", "unsupported_state_version", 0},
        {R"({"version":1,"provider":"other","messages":[]})", "provider_mismatch", 0},
        {R"({"version":1,"provider":"openai_chat","messages":[)" + good + R"(,7]})",
         "message_unmarshal_failed", 1},
    };
    for (const Case& one : cases) {
        ScriptedModel model;
        model.says("hi").says("hi");
        const auto fresh = chat_with_state(one.state, {.messages = hello}, model);
        ASSERT_TRUE(fresh) << fresh.error().message;
        EXPECT_EQ(fresh->report.problem, one.problem);
        EXPECT_EQ(model.sent.at(0), "hello");
        const auto saved =
            chat_with_state(one.state, {.messages = hello}, model, {.bad = BadState::salvage});
        ASSERT_TRUE(saved) << saved.error().message;
        EXPECT_EQ(saved->report.kept, one.salvaged);
        EXPECT_EQ(chat_with_state(one.state, {.messages = hello}, model, {.bad = BadState::fail})
                      .error()
                      .code,
                  ErrorCode::invalid_request);
    }
}

TEST(state_blob, version_1_is_read_and_raw_messages_come_back_byte_for_byte) {
    ScriptedModel model;
    model.says("hi");
    const std::string odd = R"({"role":"user","content":"a","name":"x","extra":{"b":1.50}})";
    const std::string state =
        R"({"version":1,"provider":"openai_chat","processed_length":1,"messages":[)" + odd + "]}";
    const auto turn = chat_with_state(state, {.messages = hello}, model);
    ASSERT_TRUE(turn) << turn.error().message;
    EXPECT_NE(turn->state.find(odd), std::string::npos) << turn->state;
}

TEST(state_blob, under_a_policy_it_stays_bounded_and_the_conversation_goes_on) {
    const StateOptions options{
        .policy = R"({"triggers":{"messages":6},"passes":[{"pass":"keep_last","turns":2}]})"};
    std::string state;
    std::size_t largest = 0;
    for (int i = 0; i < 40; ++i) {
        ScriptedModel model;
        model.says("answer " + std::to_string(i));
        const std::string said = user("question " + std::to_string(i));
        const auto turn = chat_with_state(state, {.messages = said}, model, options);
        ASSERT_TRUE(turn) << turn.error().message;
        state = turn->state;
        largest = std::max(largest, state.size());
    }
    EXPECT_LT(largest, 1000u);
    EXPECT_NE(state.find("question 39"), std::string::npos);
    EXPECT_EQ(state.find("question 30"), std::string::npos);
}

TEST(state_blob, summaries_stay_summaries_over_turns) {
    const StateOptions options{
        .policy = R"({"triggers":{"messages":6},"passes":[{"pass":"summarize","keep_turns":1}]})"};
    std::string state;
    for (int i = 0; i < 8; ++i) {
        ScriptedModel model;
        std::string long_text;
        for (int n = 0; n < 200; ++n) long_text += " word" + std::to_string(n);
        model.says("answer " + std::to_string(i) + long_text);
        const std::string said = user("question " + std::to_string(i) + long_text);
        const auto turn = chat_with_state(state, {.messages = said}, model, options);
        ASSERT_TRUE(turn) << turn.error().message;
        state = turn->state;
    }
    const auto document = parse_json(state);
    ASSERT_TRUE(document);
    EXPECT_GE(document->root().find("summaries")->size(), 1u) << state;
}

// The state is in the caller's format, the model speaks another one.
TEST(state_blob, a_call_that_waits_for_its_result_gets_it_whatever_the_model_speaks) {
    ScriptedModel model(FormatId::anthropic);
    model.answers(
        R"({"role":"assistant","content":[{"type":"tool_use","id":"tu1","name":"f","input":{}}]})");
    model.answers(R"({"role":"assistant","content":[{"type":"text","text":"done"}]})");
    const auto one = chat_with_state("", {.messages = hello}, model, {}, {.others_pending = true});
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(messages_in(one->state), "user assistant");
    const auto two = chat_with_state(
        one->state, {.messages = R"({"role":"tool","tool_call_id":"tu1","content":"RESULT"})"},
        model, {}, {.others_pending = true});
    ASSERT_TRUE(two) << two.error().message;
    EXPECT_NE(model.sent.at(1).find("RESULT"), std::string::npos) << model.sent.at(1);
    EXPECT_EQ(messages_in(two->state), "user assistant tool assistant");
}

TEST(state_blob, no_message_is_made_up_when_the_state_is_in_another_format) {
    ScriptedModel model;
    model.says("one").says("two");
    std::string state;
    for (const char* text : {"a", "b"}) {
        const auto turn =
            chat_with_state(state, {.messages = user(text), .format = FormatId::anthropic}, model);
        ASSERT_TRUE(turn) << turn.error().message;
        state = turn->state;
    }
    EXPECT_EQ(messages_in(state), "user assistant user assistant");
}

TEST(state_blob, keeping_the_log_keeps_pins_and_what_no_model_has_seen_stays_unseen) {
    const std::string state =
        R"({"version":2,"provider":"openai_chat","processed_length":1,"messages":[)" + user("a") +
        "," + user("b") + R"(],"pinned":[0],"summaries":[]})";
    const auto kept = append_event(state, "c", FormatId::openai_chat, {.keep_log = true});
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_NE(kept->state.find("\"pinned\":[0]"), std::string::npos) << kept->state;
    EXPECT_EQ(processed_in(kept->state), 1);
}
