// The part `recall` of a policy: what is out of the view comes back before a question, once, and
// stays there.
#include "core/recollect.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "palimpsest/search.h"
#include "support/engine.h"

namespace palimpsest {
namespace {

using namespace testing_support;

constexpr std::string_view policy =
    R"({"triggers":{"messages":1000},"passes":[{"pass":"keep_last","messages":2}],)"
    R"("recall":{"tokens":400}})";

// Old talk about a dog, then other things, and a compaction that leaves the last two messages.
Memory long_talk() {
    Memory memory = open_memory();
    EXPECT_TRUE(memory.append(alice, {.messages = user("My dog Rex is allergic to chicken")}));
    EXPECT_TRUE(memory.append(alice, {.messages = assistant("Noted.")}));
    for (int i = 0; i < 6; ++i) {
        EXPECT_TRUE(memory.append(alice, {.messages = user("Tell me about trains")}));
        EXPECT_TRUE(memory.append(alice, {.messages = assistant("Trains run on rails.")}));
    }
    const auto done = memory.compact(alice, {.policy = policy});
    EXPECT_TRUE(done.has_value());
    return memory;
}

Begun ask(Memory& memory, std::string_view text) {
    const std::string said = user(text);
    auto begun = memory.begin(alice, {.messages = said, .policy = std::string(policy)});
    EXPECT_TRUE(begun.has_value()) << (begun ? "" : begun.error().message);
    return begun ? *std::move(begun) : Begun{};
}
std::vector<std::string> kinds(const View& view) {
    std::vector<std::string> out;
    for (const Item& item : view.items) out.emplace_back(item_kind_name(item.kind));
    return out;
}

TEST(recollect, quotes_what_is_out_of_the_view_before_the_question) {
    Memory memory = long_talk();
    const Begun begun = ask(memory, "What is my dog allergic to?");
    const auto& items = begun.view.items;
    ASSERT_GE(items.size(), 2u);
    const Item& quoted = items[items.size() - 2];
    EXPECT_EQ(quoted.kind, ItemKind::recalled);
    EXPECT_NE(text_of(quoted.message).find("[seq 1, user]\n> My dog Rex"), std::string::npos);
    EXPECT_EQ(text_of(items.back().message), "What is my dog allergic to?");
    EXPECT_LE(quoted.tokens, 420u);
}

TEST(recollect, hears_the_question_behind_a_long_text) {
    Memory memory = long_talk();
    std::string log;
    for (int i = 0; i < 400; ++i) log += "step" + std::to_string(i) + "x ";
    const Begun begun = ask(memory, log + ". What is my dog allergic to?");
    const auto quoted = std::ranges::find(begun.view.items, ItemKind::recalled, &Item::kind);
    ASSERT_NE(quoted, begun.view.items.end());
    EXPECT_NE(text_of(quoted->message).find("My dog Rex"), std::string::npos);
}

TEST(recollect, asks_for_words_that_are_common_in_another_language_only) {
    EXPECT_EQ(telling_words("What about the dog?"), "dog ");  // a small word in Danish
    EXPECT_EQ(telling_words("Und was ist mit dem Hund?"), "Hund ");
    EXPECT_EQ(telling_words("What is that?"), "");
}

TEST(recollect, looks_past_however_much_the_view_shows_of_the_same) {
    constexpr std::string_view keeps_120 =
        R"({"triggers":{"messages":1000},"passes":[{"pass":"keep_last","messages":120}],)"
        R"("recall":{"tokens":400}})";
    Memory memory = open_memory();
    ASSERT_TRUE(memory.append(alice, {.messages = user("The dog is a Labrador")}));
    std::string talk = "[" + assistant("Noted.");
    for (int i = 0; i < 60; ++i)
        talk += "," + user("The dog barks at dog " + std::to_string(i)) + "," + assistant("Fine.");
    ASSERT_TRUE(memory.append(alice, {.messages = talk + "]"}));
    ASSERT_TRUE(memory.compact(alice, {.policy = std::string(keeps_120)}).has_value());
    ASSERT_EQ(memory.view(alice, {})->items.size(), 120u);
    const std::string question = user("What about the dog?");
    const auto begun =
        memory.begin(alice, {.messages = question, .policy = std::string(keeps_120)});
    ASSERT_TRUE(begun.has_value()) << begun.error().message;
    const auto quoted = std::ranges::find(begun->view.items, ItemKind::recalled, &Item::kind);
    ASSERT_NE(quoted, begun->view.items.end());
    EXPECT_NE(text_of(quoted->message).find("Labrador"), std::string::npos);
}

TEST(recollect, stays_where_it_is_and_is_not_quoted_again) {
    Memory memory = long_talk();
    const Begun first = ask(memory, "What is my dog allergic to?");
    const auto answer = read_messages(FormatId::openai_chat, make_bytes(assistant("Chicken.")));
    ASSERT_TRUE(memory.finish(first, {.message = answer->front()}).has_value());
    const Begun second = ask(memory, "Is my dog Rex still allergic?");
    ASSERT_GT(second.view.items.size(), first.view.items.size());
    for (std::size_t i = 0; i < first.view.items.size(); ++i)
        EXPECT_EQ(view_of(first.view.items[i].message.raw),
                  view_of(second.view.items[i].message.raw));
    std::size_t times = 0;
    for (const Item& item : second.view.items)
        times += text_of(item.message).contains("[seq 1, user]");
    EXPECT_EQ(times, 1u);
    // The same after a restart: the log has it.
    const auto view = memory.view(alice);
    ASSERT_TRUE(view.has_value());
    EXPECT_EQ(kinds(*view), kinds(second.view));
}

TEST(recollect, quotes_nothing_that_the_view_shows_or_a_person_hid) {
    Memory memory = long_talk();
    EXPECT_EQ(ask(memory, "Anything on volcanoes?").view.items.size(), 3u);
    Memory hidden = long_talk();
    ASSERT_TRUE(hidden.retract(alice, {Seq{1}, Seq{2}}).has_value());
    for (const Item& item : ask(hidden, "What is my dog allergic to?").view.items)
        EXPECT_FALSE(text_of(item.message).contains("Rex"));
}

TEST(recollect, starts_no_turn_and_is_not_found_itself) {
    Memory memory = long_talk();
    const Begun begun = ask(memory, "What is my dog allergic to?");
    const auto groups = find_groups(begun.view.items);
    EXPECT_EQ(find_turns(begun.view.items, groups).size(), 2u);
    const auto page = memory.search({.tenant = "t", .query = "\"Rex is allergic\""});
    ASSERT_TRUE(page.has_value());
    ASSERT_EQ(page->hits.size(), 1u);
    EXPECT_EQ(page->hits[0].seq, Seq{1});
}

TEST(recollect, in_tools_only_rounds_recalls_nothing) {
    Memory memory = long_talk();
    (void)ask(memory, "What is my dog allergic to?");
    const std::string said = call("c1");
    ASSERT_TRUE(memory.append(alice, {.messages = said}).has_value());
    const auto begun = memory.begin(
        alice, {.messages = result("c1", "dog allergic"), .policy = std::string(policy)});
    ASSERT_TRUE(begun.has_value());
    EXPECT_EQ(begun->view.items.back().kind, ItemKind::verbatim);
    EXPECT_EQ(std::ranges::count(kinds(begun->view), "recalled"), 1);
}

TEST(recollect, quotations_name_their_origins) {
    EXPECT_EQ(quoted_seqs("x\n[seq 12, user]\n> [seq 99, user]\n[seq 40, tool]\n"),
              (std::vector<Seq>{Seq{12}, Seq{40}}));
}

TEST(recollect, a_policy_refuses_what_it_does_not_know) {
    Memory memory = open_memory();
    HeaderPatch patch;
    patch.policy = R"({"recall":{"tokens":100,"magic":1}})";
    EXPECT_FALSE(memory.create(alice, patch).has_value());
    patch.policy = R"({"recall":{"least_share":2}})";
    EXPECT_FALSE(memory.create(alice, patch).has_value());
    patch.policy = R"({"recall":{"tokens":100}})";
    EXPECT_TRUE(memory.create(alice, patch).has_value());
}

}  // namespace
}  // namespace palimpsest
