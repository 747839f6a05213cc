// What is kept free for the answer is the same for a turn, for a body and for a list.
#include <gtest/gtest.h>

#include "engine/compact_document.h"
#include "support/engine.h"

namespace palimpsest {
namespace {

using namespace testing_support;

std::string talk(int messages, int words) {
    std::string list, text;
    for (int n = 0; n < words; ++n) text += "word ";
    for (int n = 0; n < messages; ++n)
        list += (n == 0 ? "" : ",") + (n % 2 == 0 ? user(text) : assistant(text));
    return list;
}

constexpr std::string_view drop_oldest =
    R"({"triggers":{"window":true},"passes":[{"pass":"drop_oldest"}]})";

TEST(reply_room, is_what_the_request_asks_for_also_when_that_is_most_of_the_window) {
    const std::string list = talk(25, 200);  // 5,100 tokens and more
    for (const char* field : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
        const std::string asked = "{\"" + std::string(field) + "\":5000";
        const auto done = compact_document(asked + R"(,"model":"gpt-4","messages":[)" + list + "]}",
                                           {.policy = std::string(drop_oldest)});
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->plan.limit, 8192u - 5000u);
        EXPECT_EQ(done->plan.outcome, PlanOutcome::done);
        EXPECT_LE(done->plan.used_after, done->plan.limit);
        Memory memory = open_memory();
        const auto begun = memory.begin(alice, {.messages = "[" + list + "]",
                                                .model = "gpt-4",
                                                .parameters = asked + "}",
                                                .policy = std::string(drop_oldest)});
        ASSERT_TRUE(begun) << begun.error().message;
        ASSERT_TRUE(begun->compaction);
        EXPECT_EQ(begun->compaction->report.limit, done->plan.limit);
    }
}

TEST(reply_room, of_the_whole_window_cannot_be_had_and_the_refusal_names_it) {
    const auto done = compact_document(
        R"({"max_tokens":8192,"model":"gpt-4","messages":[)" + user("hi") + "]}", {});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::budget_unreachable);
    EXPECT_TRUE(done.error().message.ends_with(
        "the limit is 0; max_tokens 8192 leaves 0 of the window of 8192: ask for a shorter answer"))
        << done.error().message;
    Memory memory = open_memory();
    const std::string said = "[" + user("hi") + "]";
    const auto begun = memory.begin(alice, {.messages = said,
                                            .model = "gpt-4",
                                            .parameters = R"({"max_tokens":9000})",
                                            .policy = "balanced"});
    ASSERT_FALSE(begun);
    EXPECT_TRUE(begun.error().message.ends_with(
        "max_tokens 9000 leaves 0 of the window of 8192: ask for a shorter answer"))
        << begun.error().message;
}

TEST(reply_room, is_refused_in_the_words_of_the_field_that_asked_for_it) {
    Memory memory = open_memory();
    const std::string list = "[" + user("hi") + "]";
    for (const std::string field : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
        const std::string asked = "{\"" + field + "\":9000";
        const auto begun = memory.begin(
            alice,
            {.messages = list, .model = "gpt-4", .parameters = asked + "}", .policy = "balanced"});
        const auto done = compact_document(asked + R"(,"model":"gpt-4","messages":)" + list + "}",
                                           {.policy = "balanced"});
        for (const Error& error : {begun.error(), done.error()}) {
            EXPECT_TRUE(error.message.contains("; " + field + " 9000 leaves 0")) << error.message;
            EXPECT_EQ(error.param, field);
        }
    }
    const auto begun = memory.begin(
        alice, {.messages = list,
                .policy = R"({"window_tokens":100,"reply_tokens":100,"passes":[{"pass":"fail"}],)"
                          R"("last_resort":[{"pass":"drop_oldest"}]})"});
    EXPECT_TRUE(begun.error().message.contains("reply_tokens 100 leaves")) << begun.error().message;
}

TEST(reply_room, that_leaves_little_of_the_window_is_told_beside_the_numbers) {
    const auto told = [](const std::string& asked, const std::string& list) {
        const auto done =
            compact_document("{" + asked + R"("model":"gpt-4","messages":[)" + list + "]}",
                             {.policy = std::string(drop_oldest)});
        return done ? done->plan.explanation : done.error().message;
    };
    const std::string cause =
        "; max_tokens 8000 leaves 192 of the window of 8192: ask for a "
        "shorter answer";
    EXPECT_TRUE(told(R"("max_tokens":8000,)", talk(9, 50)).ends_with(cause));
    EXPECT_TRUE(told(R"("max_tokens":8000,)", talk(1, 500)).ends_with(cause));
    // A usual answer would not make it fit.
    std::string tool = R"("tools":[{"type":"function","function":{"name":"look","description":")";
    for (int n = 0; n < 5000; ++n) tool += "word ";
    tool += R"("}}],)";
    EXPECT_TRUE(told(R"("max_tokens":8000,)" + tool, talk(1, 5)).contains("send fewer tools"));
    EXPECT_FALSE(told(R"("max_tokens":1000,)", talk(49, 200)).contains("shorter"));
}

// Claude's requests name a limit, by default the model's largest: more than this policy's window.
TEST(reply_room, that_nobody_asked_for_is_at_most_half_of_the_policys_window) {
    const std::string policy =
        R"({"window_tokens":8000,"triggers":{"window":true},"passes":[{"pass":"drop_oldest"}]})";
    Memory memory = open_memory();
    const auto begun = memory.begin(
        alice,
        {.messages = "[" + talk(5, 200) + "]", .model = "claude-sonnet-4-5", .policy = policy});
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_FALSE(begun->compaction) << "1,000 tokens are less than 4,000";
    const auto done = compact_document(
        R"({"model":"claude-sonnet-4-5","messages":[)" + talk(25, 200) + "]}", {.policy = policy});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->plan.limit, 4000u);
}

}  // namespace
}  // namespace palimpsest
