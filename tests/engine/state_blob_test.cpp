// The portable state: bytes in, a turn, bytes out.
#include <gtest/gtest.h>

#include "base/json.h"
#include "palimpsest/chat.h"
#include "support/fake_summarizer.h"
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

TEST(state_blob, a_field_that_cannot_be_true_is_reported_and_treated_as_the_caller_says) {
    const std::string two = user("a") + "," + assistant("b");
    const auto state = [&](std::string_view fields) {
        return R"({"version":2,"provider":"openai_chat","messages":[)" + two + "]," +
               std::string(fields) + "}";
    };
    const std::string_view fields[] = {
        R"("processed_length":-5)",
        R"("processed_length":1e30)",
        R"("processed_length":3)",
        R"("processed_length":"2")",
        R"("pinned":[99])",
        R"("pinned":[-1])",
        R"("pinned":"0")",
        R"("summaries":[{"at":7,"text":"x"}])",
        R"("summaries":[{"at":0,"text":" "}])",
        R"("summaries":{})",
        R"("compactions":[[{"kind":"folded","from":0,"to":9,"text":"x"}]])",
        R"("compactions":[[{"kind":"folded","from":0,"to":1}]])",
        R"("compactions":[[{"kind":"lost","from":0,"to":1}]])",
        R"("compactions":[[{"kind":"cleared","from":0,"to":0,"message":7}]])",
        R"("compactions":[[]])",
    };
    for (const std::string_view field : fields) {
        const std::string bad = state(field);
        const auto fresh = append_event(bad, "c");
        ASSERT_TRUE(fresh) << field << ": " << fresh.error().message;
        EXPECT_EQ(fresh->report.problem, "invalid_conversation_state") << field;
        EXPECT_FALSE(fresh->report.detail.empty()) << field;
        EXPECT_EQ(messages_in(fresh->state), "user") << field;
        const auto saved =
            append_event(bad, "c", FormatId::openai_chat, {.bad = BadState::salvage});
        ASSERT_TRUE(saved) << field << ": " << saved.error().message;
        EXPECT_EQ(messages_in(saved->state), "user assistant user") << field;
        EXPECT_EQ(saved->report.kept, 2u) << field;
        const auto refused = append_event(bad, "c", FormatId::openai_chat, {.bad = BadState::fail});
        ASSERT_FALSE(refused) << field;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_request) << field;
        EXPECT_EQ(refused.error().param, "state") << field;
    }
}

// Each edit can be read, and the conversation refuses it.
TEST(state_blob, an_edit_that_parts_a_call_from_its_result_is_a_bad_state) {
    const std::string state = R"({"version":2,"provider":"openai_chat","messages":[)" + user("a") +
                              "," + call("c1") + "," + result("c1", "r") +
                              R"(],"compactions":[[{"kind":"dropped","from":2,"to":2}]]})";
    const auto fresh = append_event(state, "d");
    ASSERT_TRUE(fresh) << fresh.error().message;
    EXPECT_EQ(fresh->report.problem, "invalid_conversation_state");
    EXPECT_EQ(messages_in(fresh->state), "user");
    const auto saved = append_event(state, "d", FormatId::openai_chat, {.bad = BadState::salvage});
    ASSERT_TRUE(saved) << saved.error().message;
    EXPECT_EQ(messages_in(saved->state), "user assistant tool user");
    EXPECT_FALSE(append_event(state, "d", FormatId::openai_chat, {.bad = BadState::fail}));
}

TEST(state_blob, what_is_kept_of_a_state_that_breaks_off_keeps_its_pins) {
    const std::string state = R"({"version":2,"provider":"openai_chat","processed_length":2,)"
                              R"("messages":[)" +
                              user("a") + "," + user("b") + R"(,7],"pinned":[1,2]})";
    const auto saved = append_event(state, "c", FormatId::openai_chat, {.bad = BadState::salvage});
    ASSERT_TRUE(saved) << saved.error().message;
    EXPECT_EQ(saved->report.problem, "message_unmarshal_failed");
    EXPECT_NE(saved->state.find(R"("pinned":[1])"), std::string::npos) << saved->state;
    EXPECT_EQ(processed_in(saved->state), 2);
}

// All that was said stays in the bytes, and what the model is sent does not grow with it.
TEST(state_blob, a_kept_log_keeps_its_compactions) {
    const std::string_view policies[] = {
        R"({"triggers":{"messages":6},"passes":[{"pass":"keep_last","turns":2}]})",
        R"({"triggers":{"messages":6},"target":{"tokens":1},)"
        R"("passes":[{"pass":"summarize","keep_turns":1}]})",
    };
    std::string filler;
    for (int n = 0; n < 100; ++n) filler += " word" + std::to_string(n);
    for (const std::string_view policy : policies) {
        const StateOptions kept{.keep_log = true, .policy = std::string(policy)};
        const StateOptions lean{.policy = std::string(policy)};
        std::string whole, view;
        for (int i = 0; i < 12; ++i) {
            ScriptedModel one, other;
            one.says("answer " + std::to_string(i) + filler);
            other.says("answer " + std::to_string(i) + filler);
            const std::string said = user("question " + std::to_string(i) + filler);
            const auto with_log = chat_with_state(whole, {.messages = said}, one, kept);
            ASSERT_TRUE(with_log) << with_log.error().message;
            EXPECT_TRUE(with_log->report.problem.empty()) << with_log->report.detail;
            const auto without = chat_with_state(view, {.messages = said}, other, lean);
            ASSERT_TRUE(without) << without.error().message;
            // The words of a summary name other places.
            const auto behind_summary = [](const ScriptedModel& model) {
                return model.sent.at(0).substr(model.sent.at(0).find("question"));
            };
            EXPECT_EQ(behind_summary(one), behind_summary(other)) << i << " under " << policy;
            whole = with_log->state;
            view = without->state;
        }
        const auto document = parse_json(whole);
        EXPECT_EQ(document->root().find("messages")->size(), 24u);
        EXPECT_GE(document->root().find("compactions")->size(), 2u);
        EXPECT_NE(whole.find("question 0"), std::string::npos);
    }
}

TEST(state_blob, a_kept_log_keeps_what_was_cleared_whatever_the_model_speaks) {
    const std::string policy =
        R"({"triggers":{"messages":4},"passes":[{"pass":"clear_tool_results","keep_turns":1}]})";
    const std::string big(4000, 'x');
    const std::string start = "[" + user("a") + "," + call("c1") + "," + result("c1", big) + "," +
                              assistant("seen") + "," + user("b") + "," + assistant("ok") + "]";
    const auto begun = append_to_state("", {.messages = start}, {.keep_log = true});
    ASSERT_TRUE(begun) << begun.error().message;
    ScriptedModel model(FormatId::anthropic);
    for (const char* text : {"one", "two"})
        model.answers(R"({"role":"assistant","content":[{"type":"text","text":")" +
                      std::string(text) + "\"}]}");
    std::string state = begun->state;
    for (const char* text : {"c", "d"}) {
        const auto turn = chat_with_state(state, {.messages = user(text)}, model,
                                          {.keep_log = true, .policy = policy});
        ASSERT_TRUE(turn) << turn.error().message;
        EXPECT_TRUE(turn->report.problem.empty()) << turn->report.detail;
        state = turn->state;
    }
    EXPECT_EQ(model.sent.at(1).find(big), std::string::npos);
    EXPECT_NE(state.find(big), std::string::npos);
    EXPECT_NE(state.find(R"("kind":"cleared")"), std::string::npos) << state.substr(0, 600);
}

TEST(state_blob, a_model_of_ones_own_has_its_price_its_window_and_a_summariser) {
    MemoryOptions terms;
    terms.models.push_back({.name = "scripted", .window_tokens = 1000, .input_price = 1e4});
    const auto summarizer = std::make_shared<FakeSummarizer>();
    terms.summarizer = summarizer;
    const StateOptions options{.policy =
                                   R"({"triggers":{"remaining_pct":0.5},"target":{"tokens":300},)"
                                   R"("passes":[{"pass":"summarize","keep_turns":1}]})",
                               .memory = &terms};
    std::string filler = "number";
    for (int n = 0; n < 150; ++n) filler += " word";
    std::string state;
    bool compacted = false;
    for (int i = 0; i < 6; ++i) {
        ScriptedModel model;
        model.says(filler);
        const auto turn = chat_with_state(state, {.messages = user(filler)}, model, options);
        ASSERT_TRUE(turn) << turn.error().message;
        ASSERT_TRUE(turn->chat.cost);
        EXPECT_NEAR(*turn->chat.cost, 1.0, 1e-9);
        compacted = compacted || turn->compaction;
        state = turn->state;
    }
    EXPECT_TRUE(compacted);
    EXPECT_GE(summarizer->calls, 1);
    EXPECT_NE(state.find(summarizer->text), std::string::npos) << state;
}
