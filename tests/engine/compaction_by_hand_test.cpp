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
    for (int i = 0; i < 20 && outcome == Compaction::Outcome::done; ++i) {
        const auto told = memory.compact(alice, {.policy = "balanced"});
        ASSERT_TRUE(told.has_value()) << told.error().message;
        outcome = told->outcome;
        for (const Edit& edit : told->edits) EXPECT_NE(edit.treatment, Treatment::dropped);
    }
    EXPECT_NE(outcome, Compaction::Outcome::done);
    const auto view = memory.view(alice);
    ASSERT_GT(view->items.size(), 1u);
    EXPECT_EQ(view->items.front().kind, ItemKind::summary);
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
