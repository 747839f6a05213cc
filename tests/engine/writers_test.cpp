// Whose reasoning a model is sent: its own, and not that of another one.
#include <gtest/gtest.h>

#include "engine/call_note.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr FormatId format = FormatId::anthropic;

// Hot views and notes have to tell the same.
MemoryOptions with_models(std::size_t hot_bytes_max) {
    return {.models = {{.name = "a", .same_as = "claude-1"},
                       {.name = "alias", .same_as = "claude-1"},
                       {.name = "b", .same_as = "claude-2"}},
            .hot_bytes_max = hot_bytes_max};
}

// Asks the model, and gives the signatures of the thoughts that it was sent.
std::string thoughts_sent(Memory& memory, std::string_view model, std::string_view signature) {
    const std::string question = user("go on");
    const auto begun =
        memory.begin(alice, {.messages = question, .format = format, .model = std::string(model)});
    EXPECT_TRUE(begun) << begun.error().message;
    std::string sent;
    for (const Message& one : begun->request()) {
        const auto parts = read_parts(one);
        for (const Part& part : parts->parts)
            if (const auto* thought = std::get_if<Reasoning>(&part)) sent += thought->signature;
    }
    const std::string answer =
        R"({"role":"assistant","content":[{"type":"thinking","thinking":"x",)"
        R"("signature":")" +
        std::string(signature) + R"("},{"type":"text","text":"ok"}]})";
    EXPECT_TRUE(memory.finish(*begun, {.message = *read_message(format, make_bytes(answer))}));
    return sent;
}

}  // namespace

TEST(writers, each_model_is_sent_its_own_thoughts) {
    for (const std::size_t hot_bytes_max : {std::size_t{1} << 20, std::size_t{0}}) {
        Memory memory(memory_store(), with_models(hot_bytes_max));
        EXPECT_EQ(thoughts_sent(memory, "a", "1"), "");
        EXPECT_EQ(thoughts_sent(memory, "a", "2"), "1");
        EXPECT_EQ(thoughts_sent(memory, "b", "3"), "");
        EXPECT_EQ(thoughts_sent(memory, "b", "4"), "3");
        EXPECT_EQ(thoughts_sent(memory, "a", "5"), "12");
        EXPECT_EQ(thoughts_sent(memory, "b", "6"), "34");
    }
}

TEST(writers, one_model_under_two_names_is_one) {
    Memory memory(memory_store(), with_models(0));
    EXPECT_EQ(thoughts_sent(memory, "a", "1"), "");
    EXPECT_EQ(thoughts_sent(memory, "alias", "2"), "1");
    EXPECT_EQ(thoughts_sent(memory, "claude-1", "3"), "12");
}

TEST(writers, a_fork_knows_who_wrote_what_it_began_with) {
    Memory memory(memory_store(), with_models(0));
    thoughts_sent(memory, "a", "1");
    const Seq end = memory.head(alice)->end;
    thoughts_sent(memory, "b", "2");
    ASSERT_TRUE(memory.fork(alice, bob, end));
    const std::string question = user("go on");
    const auto begun = memory.begin(bob, {.messages = question, .format = format, .model = "b"});
    ASSERT_TRUE(begun);
    EXPECT_EQ(begun->request().at(1).shape.reasoning, false);
}

TEST(writers, of_which_too_many_took_turns_are_told_apart_from_the_newest_on) {
    Writers writers;
    for (std::uint64_t i = 0; i < 100; ++i)
        note_writer(writers, Seq{10 * i + 1}, i % 2 == 0 ? "a" : "b");
    EXPECT_LE(writers.size(), 64u);
    note_writer(writers, Seq{1001}, "b");
    EXPECT_LE(writers.size(), 64u) << "nothing changed";
    const std::vector<Range> others = of_other_writers(writers);
    EXPECT_EQ(others.front().from, writers.front().from);
    EXPECT_EQ(others.back(), (Range{Seq{981}, Seq{990}}));
}
