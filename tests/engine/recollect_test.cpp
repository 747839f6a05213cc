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

TEST(recollect, quotes_in_the_turn_that_compacts_what_it_leaves_out) {
    constexpr std::string_view keeps_two =
        R"({"triggers":{"messages":10},"passes":[{"pass":"keep_last","messages":2}],)"
        R"("recall":{"tokens":400}})";
    Memory memory = open_memory();
    ASSERT_TRUE(memory.append(alice, {.messages = user("My dog Rex is allergic to chicken")}));
    for (int i = 0; i < 6; ++i) {
        ASSERT_TRUE(memory.append(alice, {.messages = assistant("Trains run on rails.")}));
        ASSERT_TRUE(memory.append(alice, {.messages = user("Tell me about trains")}));
    }
    const std::string question = user("What is my dog allergic to?");
    const auto begun = memory.begin(
        alice, {.messages = question, .policy = std::string(keeps_two), .write = {.key = "k"}});
    ASSERT_TRUE(begun.has_value()) << begun.error().message;
    ASSERT_TRUE(begun->compaction.has_value());
    const auto& items = begun->view.items;
    ASSERT_GE(items.size(), 2u);
    EXPECT_EQ(items[items.size() - 2].kind, ItemKind::recalled);
    EXPECT_TRUE(text_of(items[items.size() - 2].message).contains("> My dog Rex"))
        << texts(begun->view);
    EXPECT_EQ(text_of(items.back().message), "What is my dog allergic to?");
    // The log gives the same view, and a repeat of the turn finds it.
    EXPECT_EQ(texts(*memory.view(alice)), texts(begun->view));
    const auto again = memory.begin(
        alice, {.messages = question, .policy = std::string(keeps_two), .write = {.key = "k"}});
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(texts(again->view), texts(begun->view));
}

TEST(recollect, a_plan_for_the_question_itself_still_means_the_question) {
    constexpr std::string_view shortens =
        R"({"triggers":{"tokens":500},"target":0,"passes":[{"pass":"keep_last","messages":1},)"
        R"({"pass":"shorten","max_tokens":60}],"recall":{"tokens":400}})";
    Memory memory = long_talk();
    std::string text = "What is my dog Rex allergic to?";
    for (int i = 0; i < 400; ++i) text += "\nline " + std::to_string(i) + " of a long paste";
    const std::string question = user(text);
    const auto begun = memory.begin(alice, {.messages = question, .policy = std::string(shortens)});
    ASSERT_TRUE(begun.has_value()) << begun.error().message;
    const auto& items = begun->view.items;
    ASSERT_GE(items.size(), 2u);
    EXPECT_EQ(items[items.size() - 2].kind, ItemKind::recalled) << texts(begun->view);
    EXPECT_TRUE(text_of(items.back().message).starts_with("What is my dog Rex"));
    EXPECT_EQ(texts(*memory.view(alice)), texts(begun->view));
}

// What a policy quotes of these candidates; every byte is a token.
std::string quoted(const std::vector<Quotable>& said, std::vector<Candidate> candidates,
                   std::uint64_t tokens, RecallInput input = {}) {
    input.candidates = candidates;
    input.read = [&](Seq seq) -> std::optional<Quotable> { return said.at(seq.value - 1); };
    input.count = [](std::string_view text) { return static_cast<std::uint32_t>(text.size()); };
    const std::string text = quote_recalled(input, {tokens, 0.1});
    return text.empty()
               ? text
               : text.substr(quotation_opening.size(),
                             text.size() - quotation_opening.size() - quotation_closing.size());
}
constexpr std::uint64_t frame = quotation_opening.size() + quotation_closing.size();

TEST(recollect, quotes_no_neighbour_without_the_hit_beside_it) {
    const std::vector<Quotable> said{{Seq{1}, Role::user, "The vault opens with 55-66-77"},
                                     {Seq{2}, Role::assistant, "ok"}};
    const std::vector<Candidate> found{{Seq{1}, 0, 10}, {Seq{2}, 0, 5, true}};
    EXPECT_EQ(quoted(said, found, frame + 40), "");
    EXPECT_EQ(quoted(said, found, frame + 100),
              "[seq 1, user]\n> The vault opens with 55-66-77\n[seq 2, assistant]\n> ok\n");
    RecallInput input;
    input.excerpt = [](std::string_view, std::uint32_t, std::size_t bytes) {
        return bytes > 120 ? std::string(200, 'x') : std::string("... 55-66-77");
    };
    EXPECT_EQ(quoted(said, found, frame + 40, input), "[seq 1, user]\n> ... 55-66-77\n");
}

TEST(recollect, quotes_no_text_twice_nor_one_that_the_view_has) {
    const std::vector<Quotable> said{{Seq{1}, Role::user, "same", {1, 1}},
                                     {Seq{2}, Role::user, "same", {1, 1}},
                                     {Seq{3}, Role::user, "shown", {2, 2}},
                                     {Seq{4}, Role::user, "quoted\nbefore", {3, 3}}};
    const std::vector<Candidate> found{
        {Seq{1}, 0, 10}, {Seq{2}, 0, 9}, {Seq{3}, 0, 8}, {Seq{4}, 0, 7}};
    RecallInput input;
    input.shown_texts.insert({2, 2});
    input.quotations = quoted_piece(Seq{9}, Role::user, "quoted\nbefore");
    EXPECT_EQ(quoted(said, found, 1000, input), "[seq 1, user]\n> same\n");
}

TEST(recollect, does_not_quote_the_same_question_asked_before) {
    Memory memory = long_talk();
    const Begun first = ask(memory, "What is my dog allergic to?");
    const auto answer = read_messages(FormatId::openai_chat, make_bytes(assistant("Chicken.")));
    ASSERT_TRUE(memory.finish(first, {.message = answer->front()}).has_value());
    ASSERT_TRUE(memory.append(alice, {.messages = "[" + user("And trains?") + "," +
                                                  assistant("Trains run on rails.") + "]"}));
    ASSERT_TRUE(memory.compact(alice, {.policy = policy}).has_value());
    const Begun second = ask(memory, "What is my dog allergic to?");
    std::size_t times = 0;
    for (const Item& item : second.view.items)
        times += text_of(item.message).contains("What is my dog allergic to?");
    EXPECT_EQ(times, 1u) << texts(second.view);
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

// What the log and the view of a conversation hold, one after the other.
std::string all_words(Memory& memory, const ConversationId& name) {
    std::string all;
    const std::vector<Entry> log = *memory.log(name);
    for (const Entry& entry : log) {
        if (const auto* said = std::get_if<MessageEntry>(&entry.body))
            all += view_of(said->message.raw);
        if (const auto* compaction = std::get_if<CompactionEntry>(&entry.body))
            for (const Edit& edit : compaction->edits) all += view_of(edit.result);
    }
    return all + texts(*memory.view(name));
}

// A quotation of seq 1, and answers of both tools that quote it.
Memory quoted_thrice() {
    Memory memory = long_talk();
    (void)ask(memory, "What is my dog allergic to?");
    const std::string found = memory.answer_search(alice, R"({"query":"Noted"})");
    const std::string fetched = memory.answer_recall(alice, R"({"from":1})");
    EXPECT_TRUE(is_quotation(fetched)) << fetched;
    for (const std::string& one :
         {call("c1"), result("c1", found), call("c2"), result("c2", fetched), assistant("Well.")})
        EXPECT_TRUE(memory.append(alice, {.messages = one}).has_value());
    return memory;
}

TEST(recollect, a_scrubbed_message_is_gone_from_what_quotes_it_in_every_fork) {
    Memory memory = quoted_thrice();
    ASSERT_TRUE(memory.fork(alice, bob).has_value());
    const std::string again = memory.answer_recall(bob, R"({"call_id":"c2"})");
    ASSERT_TRUE(again.contains("Rex"));  // a quotation of a quotation
    ASSERT_TRUE(memory.append(bob, {.messages = call("c3")}).has_value());
    ASSERT_TRUE(memory.append(bob, {.messages = result("c3", again)}).has_value());
    const View view = *memory.view(alice);
    const Seq quotation =
        std::ranges::find(view.items, ItemKind::recalled, &Item::kind)->range.from;
    ASSERT_TRUE(memory.summarize(alice, {quotation, quotation}, "Rex again").has_value());
    const std::string untouched = memory.answer_recall(alice, R"({"from":2})");
    ASSERT_TRUE(memory.scrub(alice, {Seq{1}}).has_value());
    EXPECT_FALSE(all_words(memory, alice).contains("Rex"));
    EXPECT_FALSE(all_words(memory, bob).contains("Rex"));
    EXPECT_TRUE(all_words(memory, bob).contains("Well."));
    EXPECT_EQ(memory.answer_recall(alice, R"({"from":2})"), untouched);
    // It stays a quotation: it starts no turn and is not searched.
    EXPECT_EQ(std::ranges::count(kinds(*memory.view(bob)), "recalled"), 1);
    const auto page = memory.search({.tenant = "t", .query = "Rex"});
    ASSERT_TRUE(page.has_value());
    EXPECT_TRUE(page->hits.empty());
}

TEST(recollect, a_scrub_leaves_forks_alone_that_branched_off_before) {
    Memory memory = quoted_thrice();
    const ConversationId carol{"t", "carol"};
    ASSERT_TRUE(memory.fork(alice, bob, Seq{1}).has_value());
    ASSERT_TRUE(memory.append(bob, {.messages = user("Own words at two")}).has_value());
    ASSERT_TRUE(memory.fork(bob, carol).has_value());
    const std::string own = memory.answer_recall(carol, R"({"from":2})");
    ASSERT_TRUE(memory.append(carol, {.messages = call("c9")}).has_value());
    ASSERT_TRUE(memory.append(carol, {.messages = result("c9", own)}).has_value());
    ASSERT_TRUE(memory.scrub(alice, {Seq{2}}).has_value());
    EXPECT_TRUE(all_words(memory, carol).contains("> {\\\"role\\\":\\\"user\\\"")) << own;
}

TEST(recollect, what_a_person_hides_is_hidden_where_it_is_quoted_and_comes_back_with_it) {
    Memory memory = quoted_thrice();
    const std::string before = texts(*memory.view(alice));
    ASSERT_TRUE(before.contains("Rex"));
    ASSERT_TRUE(memory.retract(alice, {Seq{1}, Seq{1}}).has_value());
    const std::string hidden = texts(*memory.view(alice));
    EXPECT_FALSE(hidden.contains("Rex")) << hidden;
    EXPECT_TRUE(hidden.contains("Well."));
    EXPECT_FALSE(memory.answer_recall(alice, R"({"call_id":"c2"})").contains("Rex"));
    ASSERT_TRUE(memory.undo(alice).has_value());
    EXPECT_EQ(texts(*memory.view(alice)), before);
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
