// Compaction that somebody asks for, where no trigger is due.
#include <gtest/gtest.h>

#include "palimpsest/memory.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

std::string sentences(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "Box " + std::to_string(i) + " stands there. ";
    return out;
}

void talk(Memory& memory, int turns) {
    for (int i = 0; i < turns; ++i) {
        const std::string list =
            "[" + user("what is on shelf " + std::to_string(i) + "? " + sentences(20)) + "," +
            assistant("On it: " + sentences(20)) + "]";
        ASSERT_TRUE(memory.append(alice, {.messages = list}).has_value());
    }
}

}  // namespace

TEST(compaction_by_hand, again_and_again_folds_and_never_drops_what_is_left_of_the_past) {
    Memory memory = open_memory();
    talk(memory, 10);
    Compaction::Outcome outcome = Compaction::Outcome::done;
    for (std::uint64_t i = 0; i < 20 && outcome == Compaction::Outcome::done; ++i) {
        // Each time for another window, with room in all of them: the same would not be done twice.
        const auto told = memory.compact(alice, {.policy = "balanced", .window = 100'000 - i});
        ASSERT_TRUE(told.has_value()) << told.error().message;
        outcome = told->outcome;
        for (const Edit& edit : told->edits) EXPECT_NE(edit.treatment, Treatment::dropped);
    }
    EXPECT_NE(outcome, Compaction::Outcome::done);
    const auto view = memory.view(alice);
    ASSERT_GT(view->items.size(), 1u);
    EXPECT_EQ(view->items.front().kind, ItemKind::summary);
}

TEST(compaction_by_hand, a_second_time_takes_no_more_until_something_is_said) {
    const std::string policies[] = {
        "balanced",
        R"({"passes":[{"pass":"drop_oldest"}]})",
        R"({"passes":[{"pass":"summarize","mode":"whole"}]})",
        R"({"passes":[{"pass":"summarize","mode":"rolling","batch":4}]})",
        R"({"passes":[{"pass":"summarize","mode":"chunked","chunk_tokens":300}]})",
        R"({"passes":[{"pass":"summarize","keep_first_user":true}]})",
        R"({"passes":[{"pass":"select_relevant"}]})",
        R"({"passes":[{"pass":"keep_last","messages":5}]})",
        R"({"triggers":{"tokens":1000},"passes":[{"pass":"summarize"}]})"};
    for (const std::string& policy : policies) {
        Memory memory = open_memory();
        talk(memory, 10);
        const auto first = memory.compact(alice, {.policy = policy});
        ASSERT_EQ(first->outcome, Compaction::Outcome::done) << policy;
        const Seq end = memory.head(alice)->end;
        for (const bool preview : {true, false}) {
            const auto second = memory.compact(alice, {.policy = policy, .preview = preview});
            EXPECT_EQ(second->outcome, Compaction::Outcome::not_due) << policy;
            EXPECT_TRUE(second->report.explanation.starts_with("nothing was said since"))
                << second->report.explanation;
        }
        EXPECT_EQ(memory.head(alice)->end, end) << policy;
        talk(memory, 1);
        EXPECT_EQ(memory.compact(alice, {.policy = policy})->outcome, Compaction::Outcome::done)
            << policy;
    }
}

TEST(compaction_by_hand, what_a_pass_does_anyway_may_be_said_or_not) {
    std::vector<std::uint64_t> left;
    for (const char* said : {"", R"(,"mode":"whole")", R"(,"mode":null,"keep_turns":null)",
                             R"(,"keep_first_user":false)"}) {
        Memory memory = open_memory();
        talk(memory, 10);
        const std::string policy = R"({"passes":[{"pass":"summarize")" + std::string(said) + "}]}";
        const auto done = memory.compact(alice, {.policy = policy});
        ASSERT_TRUE(done) << done.error().message;
        left.push_back(done->tokens_after);
    }
    EXPECT_EQ(left, std::vector<std::uint64_t>(left.size(), left.front()));
}

TEST(compaction_by_hand, policies_without_a_name_are_told_apart) {
    Memory memory = open_memory();
    talk(memory, 10);
    const auto outcome = [&](std::string policy) {
        return memory.compact(alice, {.policy = policy})->outcome;
    };
    EXPECT_EQ(outcome(R"({"passes":[{"pass":"summarize"}]})"), Compaction::Outcome::done);
    EXPECT_EQ(outcome(R"({"passes":[{"pass":"drop_oldest"}]})"), Compaction::Outcome::done);
}

TEST(compaction_by_hand, another_policy_a_smaller_window_or_an_undo_is_something_new) {
    Memory memory = open_memory();
    talk(memory, 10);
    ASSERT_EQ(memory.compact(alice, {.policy = "balanced"})->outcome, Compaction::Outcome::done);
    const auto would = [&](std::string policy, std::optional<std::uint64_t> window) {
        return memory.compact(alice, {.policy = policy, .preview = true, .window = window})
            ->outcome;
    };
    EXPECT_EQ(would("balanced", {}), Compaction::Outcome::not_due);
    EXPECT_EQ(would("trim", {}), Compaction::Outcome::done);
    EXPECT_EQ(would("balanced", 1000), Compaction::Outcome::done);
    ASSERT_TRUE(memory.undo(alice));
    EXPECT_EQ(would("balanced", {}), Compaction::Outcome::done);
}

TEST(compaction_by_hand, for_a_window_that_cannot_be_kept_says_so) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.append(alice, {.messages = user(sentences(50))}).has_value());
    ASSERT_TRUE(memory.pin(alice, Seq{1}).has_value());
    const auto told = memory.compact(alice, {.policy = "balanced", .window = 100});
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->outcome, Compaction::Outcome::unreachable);
    EXPECT_EQ(told->report.limit, 100u);
}
