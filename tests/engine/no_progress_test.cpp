// The no-progress guard in turns: a trigger of a policy that freed nothing twice rests, says so at
// every turn, and nothing else rests with it.
#include <gtest/gtest.h>

#include "palimpsest/memory.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr std::string_view frees_nothing =
    R"({"triggers":{"tokens":100},"passes":[{"pass":"clear_media"}]})";
constexpr std::string_view keeps_one =
    R"({"triggers":{"tokens":100},"passes":[{"pass":"keep_last","turns":1}]})";

std::string words(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "word ";
    return out;
}

void fill(Memory& memory) {
    const std::string list = "[" + user(words(200)) + "," + assistant("so it is") + "]";
    ASSERT_TRUE(memory.append(alice, {.messages = list}));
}

Begun say(Memory& memory, std::string_view text, std::string_view policy = {}) {
    const std::string said = user(text);
    auto begun = memory.begin(alice, {.messages = said, .policy = std::string(policy)});
    EXPECT_TRUE(begun) << begun.error().message;
    return begun.value_or(Begun{});
}

std::string warnings_of(const Begun& begun) {
    std::string all;
    for (const std::string& warning : begun.warnings) all += warning + "\n";
    return all;
}

}  // namespace

TEST(no_progress, a_trigger_that_rests_is_named_at_every_turn_until_the_view_has_grown) {
    Memory memory = open_memory();
    fill(memory);
    for (const bool second : {false, true}) {
        const std::string told = warnings_of(say(memory, "hm", frees_nothing));
        EXPECT_TRUE(told.contains("compaction was due (tokens) and changed nothing")) << told;
        EXPECT_EQ(told.contains("until the view has grown by an eighth"), second) << told;
    }
    for (int turn = 0; turn < 3; ++turn) {
        const std::string told = warnings_of(say(memory, "hm", frees_nothing));
        EXPECT_TRUE(told.contains("compaction is due (tokens) and rests")) << told;
    }
    const std::string told = warnings_of(say(memory, words(40), frees_nothing));
    EXPECT_TRUE(told.contains("compaction was due (tokens) and changed nothing")) << told;
}

TEST(no_progress, of_a_policy_leaves_the_one_that_takes_its_place_awake) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.create(alice, {.policy = std::string(frees_nothing)}));
    fill(memory);
    for (int turn = 0; turn < 3; ++turn) EXPECT_FALSE(say(memory, "hm").compaction);
    ASSERT_TRUE(memory.patch(alice, {.policy = std::string(keeps_one)}));
    const Begun begun = say(memory, "hm");
    ASSERT_TRUE(begun.compaction) << warnings_of(begun);
    EXPECT_EQ(begun.compaction->outcome, Compaction::Outcome::done);
}

TEST(no_progress, of_a_policy_for_one_request_leaves_the_conversations_own_awake) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.create(alice, {.policy = std::string(keeps_one)}));
    fill(memory);
    for (int turn = 0; turn < 3; ++turn) EXPECT_FALSE(say(memory, "hm", frees_nothing).compaction);
    EXPECT_TRUE(say(memory, "hm").compaction);
}

TEST(no_progress, of_one_trigger_leaves_the_policys_others_awake) {
    Memory memory = open_memory();
    const std::string policy = R"({"triggers":{"tokens":100,"messages":4},"target":100,)"
                               R"("passes":[{"pass":"clear_media","when":{"tokens":100}},)"
                               R"({"pass":"drop_oldest","when":{"messages":4}}]})";
    fill(memory);
    EXPECT_FALSE(say(memory, "one", policy).compaction);
    EXPECT_FALSE(say(memory, "two", policy).compaction);
    const Begun begun = say(memory, "three", policy);
    ASSERT_TRUE(begun.compaction) << warnings_of(begun);
    EXPECT_EQ(begun.compaction->report.trigger, "messages");
}

TEST(no_progress, every_trigger_of_a_list_that_rests_is_named_also_beside_one_that_is_due) {
    Memory memory = open_memory();
    const std::string policy = R"({"triggers":{"any":[{"tokens":100},{"messages":2}]},)"
                               R"("passes":[{"pass":"clear_media"}]})";
    const std::string rests = "compaction is due (tokens) and rests";
    fill(memory);
    for (int turn = 0; turn < 2; ++turn) say(memory, "hm", policy);
    std::string told = warnings_of(say(memory, "hm", policy));
    EXPECT_TRUE(told.contains(rests)) << told;
    EXPECT_TRUE(told.contains("compaction was due (messages)")) << told;
    say(memory, "hm", policy);
    told = warnings_of(say(memory, "hm", policy));
    EXPECT_TRUE(told.contains(rests)) << told;
    EXPECT_TRUE(told.contains("compaction is due (messages) and rests")) << told;
}

TEST(no_progress, of_a_soft_trigger_is_named_where_the_hard_one_is_due) {
    Memory memory = open_memory();
    const std::string policy = R"({"triggers":{"soft":{"tokens":100},"hard":{"messages":5}},)"
                               R"("passes":[{"pass":"clear_media"}]})";
    fill(memory);
    for (int turn = 0; turn < 3; ++turn) say(memory, "hm", policy);
    const std::string told = warnings_of(say(memory, "hm", policy));
    EXPECT_TRUE(told.contains("compaction was due (messages)")) << told;
    EXPECT_TRUE(told.contains("compaction is due (tokens) and rests")) << told;
}

TEST(no_progress, a_policy_that_refuses_never_rests) {
    Memory memory = open_memory();
    const std::string policy = R"({"triggers":{"tokens":100},"passes":[{"pass":"fail"}]})";
    fill(memory);
    const std::string said = user("hm");
    for (int turn = 0; turn < 4; ++turn)
        EXPECT_EQ(memory.begin(alice, {.messages = said, .policy = policy}).error().code,
                  ErrorCode::budget_unreachable);
}

TEST(no_progress, of_a_soft_trigger_in_the_background_rests_too) {
    Memory memory(memory_store(), {.background = true});
    const std::string policy =
        R"({"triggers":{"soft":{"tokens":100}},"passes":[{"pass":"clear_media"}]})";
    ASSERT_TRUE(memory.create(alice, {.policy = policy}));
    fill(memory);
    for (int turn = 0; turn < 2; ++turn) {
        EXPECT_EQ(warnings_of(say(memory, "hm")), "");
        EXPECT_EQ(memory.run_jobs("t").value(), 0u);
    }
    for (int turn = 0; turn < 3; ++turn) {
        const std::string told = warnings_of(say(memory, "hm"));
        EXPECT_TRUE(told.contains("compaction is due (tokens) and rests")) << told;
    }
    EXPECT_EQ(warnings_of(say(memory, words(60))), "") << "it has grown: it is tried again";
}

TEST(no_progress, of_a_hard_trigger_is_named_where_a_soft_one_is_due) {
    Memory memory(memory_store(), {.background = true});
    const std::string policy = R"({"triggers":{"hard":{"tokens":100},"soft":{"messages":5}},)"
                               R"("passes":[{"pass":"clear_media"}]})";
    fill(memory);
    for (int turn = 0; turn < 2; ++turn) say(memory, "hm", policy);
    for (int turn = 0; turn < 2; ++turn) {
        const std::string told = warnings_of(say(memory, "hm", policy));
        EXPECT_TRUE(told.contains("compaction is due (tokens) and rests")) << told;
    }
}
