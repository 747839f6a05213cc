#include <gtest/gtest.h>

#include "engine/present.h"
#include "palimpsest/memory.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

Result<Compaction> splice(Memory& memory, std::vector<Edit> edits) {
    const auto view = memory.view(alice);
    EXPECT_TRUE(view.has_value());
    return memory.splice(alice, *view, std::move(edits), Cause::request);
}

}  // namespace

TEST(edits, a_summary_stands_where_its_first_message_stood) {
    Memory memory = talk({"one", "two", "three", "four"});
    ASSERT_TRUE(splice(memory, {fold(2, 3, "both")}));
    EXPECT_EQ(texts(*memory.view(alice)), "one [both] four");
    const Item item = memory.view(alice)->items[1];
    EXPECT_EQ(item.range, (Range{Seq{2}, Seq{3}}));
    EXPECT_EQ(item.reason, "test");
}

TEST(edits, cleared_messages_show_the_bytes_that_were_stored) {
    Memory memory =
        memory_with({user("q"), call("c1"), result("c1", "a very long result"), assistant("done")});
    ASSERT_TRUE(splice(memory, {clear(3, result("c1", "[gone]"))}));
    const auto view = memory.view(alice);
    EXPECT_EQ(texts(*view), "q call:c1 [gone] done");
    EXPECT_EQ(view->items[2].kind, ItemKind::cleared);
    EXPECT_LT(view->tokens, memory.view(alice, {.at = Seq{4}})->tokens);
}

TEST(edits, the_view_item_says_that_it_was_compacted_and_the_message_does_not) {
    Memory memory =
        memory_with({user("q"), call("c1"), result("c1", "a very long result"), assistant("done")});
    ASSERT_TRUE(splice(memory, {clear(3, result("c1", "[gone]"))}));
    const auto view = memory.view(alice);
    std::string cleared, plain;
    JsonWriter to_cleared(cleared), to_plain(plain);
    write_item(to_cleared, view->items[2]);
    write_item(to_plain, view->items[3]);
    EXPECT_NE(cleared.find(R"("compacted":true)"), std::string::npos) << cleared;
    EXPECT_EQ(plain.find("compacted"), std::string::npos) << plain;
    EXPECT_EQ(view_of(view->items[2].message.raw).find("compacted"), std::string_view::npos);
}

TEST(edits, the_stronger_edit_wins_and_of_equals_the_later) {
    Memory memory = talk({"one", "two", "three", "four"});
    ASSERT_TRUE(splice(memory, {fold(1, 2, "first")}));
    ASSERT_TRUE(splice(memory, {clear(1, user("cleared"))}));
    EXPECT_EQ(texts(*memory.view(alice)), "[first] three four");
    ASSERT_TRUE(splice(memory, {fold(1, 3, "second")}));
    EXPECT_EQ(texts(*memory.view(alice)), "[second] four");
    ASSERT_TRUE(splice(memory, {drop(1, 2)}));
    EXPECT_EQ(texts(*memory.view(alice)), "[second] four");
    EXPECT_EQ(memory.view(alice)->items[0].range, (Range{Seq{3}, Seq{3}}));
}

TEST(edits, undo_takes_back_the_newest_and_undoing_the_undo_is_redo) {
    Memory memory = talk({"one", "two", "three"});
    ASSERT_TRUE(splice(memory, {fold(1, 2, "sum")}));
    const auto undone = memory.undo(alice);
    ASSERT_TRUE(undone);
    EXPECT_EQ(texts(*memory.view(alice)), "one two three");
    ASSERT_TRUE(memory.undo(alice, *undone));
    EXPECT_EQ(texts(*memory.view(alice)), "[sum] three");
    ASSERT_TRUE(memory.undo(alice));
    EXPECT_EQ(texts(*memory.view(alice)), "one two three");
    EXPECT_EQ(memory.undo(alice).error().code, ErrorCode::not_found);
}

TEST(edits, undo_of_an_older_edit_leaves_the_newer_ones) {
    Memory memory = talk({"one", "two", "three", "four"});
    const auto first = splice(memory, {fold(1, 2, "a")});
    ASSERT_TRUE(splice(memory, {drop(3, 3)}));
    ASSERT_TRUE(memory.undo(alice, first->seq));
    EXPECT_EQ(texts(*memory.view(alice)), "one two four");
}

TEST(edits, undoing_what_is_no_edit_says_what_it_is) {
    Memory memory = talk({"one"});
    const auto undone = memory.undo(alice, Seq{1});
    ASSERT_FALSE(undone);
    EXPECT_EQ(undone.error().code, ErrorCode::invalid_request);
    EXPECT_NE(undone.error().message.find("is a message"), std::string::npos);
    EXPECT_EQ(memory.undo(alice, Seq{50}).error().code, ErrorCode::not_found);
}

TEST(edits, a_pin_shows_a_folded_message_at_once_and_unpin_gives_the_fold_back) {
    Memory memory = talk({"one", "two", "three", "four"});
    ASSERT_TRUE(splice(memory, {fold(1, 3, "sum")}));
    ASSERT_TRUE(memory.pin(alice, Seq{2}));
    EXPECT_EQ(texts(*memory.view(alice)), "[sum] two four");
    EXPECT_TRUE(memory.view(alice)->items[1].pinned);
    ASSERT_TRUE(memory.unpin(alice, Seq{2}));
    EXPECT_EQ(texts(*memory.view(alice)), "[sum] four");
}

TEST(edits, a_pin_that_changes_nothing_writes_nothing) {
    Memory memory = talk({"one", "two", "three", "four"});
    ASSERT_TRUE(splice(memory, {fold(1, 3, "sum")}));
    EXPECT_EQ(memory.unpin(alice, Seq{4}).error().code, ErrorCode::not_found);
    const Seq pinned = *memory.pin(alice, Seq{2});
    EXPECT_EQ(*memory.pin(alice, Seq{2}), pinned) << "the entry that pinned it";
    EXPECT_EQ(memory.head(alice)->end, pinned);
    const Seq unpinned = *memory.unpin(alice, Seq{2}, {.key = "k"});
    EXPECT_EQ(*memory.unpin(alice, Seq{2}, {.key = "k"}), unpinned) << "a repeat";
}

TEST(edits, a_summary_whose_messages_are_all_pinned_vanishes) {
    Memory memory = talk({"one", "two", "three"});
    ASSERT_TRUE(splice(memory, {fold(2, 2, "sum")}));
    ASSERT_TRUE(memory.pin(alice, Seq{2}));
    EXPECT_EQ(texts(*memory.view(alice)), "one two three");
}

TEST(edits, pinning_one_result_of_a_parallel_batch_pins_the_batch) {
    const std::string two_calls =
        R"({"role":"assistant","content":null,"tool_calls":[)"
        R"({"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},)"
        R"({"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]})";
    Memory memory = memory_with({user("q"), two_calls, result("a", "ra"), result("b", "rb"),
                                 assistant("done"), user("more")});
    ASSERT_TRUE(memory.pin(alice, Seq{4}));
    ASSERT_TRUE(splice(memory, {drop(1, 5)}));
    EXPECT_EQ(texts(*memory.view(alice)), "call:acall:b ra rb more");
    EXPECT_EQ(memory.pin(alice, Seq{99}).error().code, ErrorCode::not_found);
}

TEST(edits, a_retract_that_would_split_a_pair_takes_the_whole_group) {
    Memory memory = memory_with({user("q"), call("c1"), result("c1", "r"), assistant("done")});
    ASSERT_TRUE(memory.retract(alice, {Seq{3}, Seq{3}}, "private"));
    EXPECT_EQ(texts(*memory.view(alice)), "q done");
    ASSERT_TRUE(memory.undo(alice));
    EXPECT_EQ(texts(*memory.view(alice)), "q call:c1 r done");
}

TEST(edits, a_retract_or_a_pin_of_half_a_pair_without_ids_takes_the_whole_pair) {
    const std::string pair =
        R"({"role":"assistant","content":null,"function_call":{"name":"look","arguments":"{}"}},)"
        R"({"role":"function","name":"look","content":"seen"})";
    for (const Seq half : {Seq{2}, Seq{3}}) {
        Memory memory = open_memory();
        ASSERT_TRUE(memory.append(
            alice, {.messages = "[" + user("look") + "," + pair + "," + user("and?") + "]"}));
        ASSERT_TRUE(memory.retract(alice, {half, half}));
        EXPECT_EQ(texts(*memory.view(alice)), "look and?");
        ASSERT_TRUE(memory.undo(alice));
        ASSERT_TRUE(memory.pin(alice, half));
        const auto view = memory.view(alice);
        ASSERT_EQ(view->items.size(), 4u);
        EXPECT_TRUE(view->items[1].pinned && view->items[2].pinned);
    }
}

TEST(edits, a_retract_of_what_is_pinned_is_refused_whole) {
    Memory memory = memory_with({user("q"), call("c1"), result("c1", "r"), assistant("done")});
    ASSERT_TRUE(memory.pin(alice, Seq{3}));
    for (const Range range : {Range{Seq{3}, Seq{3}}, Range{Seq{1}, Seq{4}}}) {
        const auto refused = memory.retract(alice, range);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::conflict);
        EXPECT_EQ(refused.error().message, "seq 2 is pinned; unpin it first");
    }
    EXPECT_EQ(texts(*memory.view(alice)), "q call:c1 r done");
    ASSERT_TRUE(memory.unpin(alice, Seq{3}));
    ASSERT_TRUE(memory.retract(alice, {Seq{3}, Seq{3}}));
    EXPECT_EQ(texts(*memory.view(alice)), "q done");
}

TEST(edits, a_rewind_hides_everything_after_and_can_be_undone) {
    Memory memory = talk({"one", "two", "three", "four"});
    ASSERT_TRUE(memory.rewind(alice, Seq{2}, "edited"));
    ASSERT_TRUE(memory.append(alice, {.messages = user("five")}));
    EXPECT_EQ(texts(*memory.view(alice)), "one two five");
    ASSERT_TRUE(memory.undo(alice));
    EXPECT_EQ(texts(*memory.view(alice)), "one two three four five");
    EXPECT_EQ(memory.rewind(alice, Seq{99}).error().code, ErrorCode::invalid_request);
}

TEST(edits, a_summary_of_what_is_taken_back_goes_and_comes_back_with_it) {
    Memory memory = talk({"one", "two", "three", "four", "five", "six"});
    ASSERT_TRUE(splice(memory, {fold(1, 2, "early"), fold(3, 4, "late")}));
    ASSERT_TRUE(memory.rewind(alice, Seq{3}));
    EXPECT_EQ(texts(*memory.view(alice)), "[early] three");
    EXPECT_TRUE(memory.summaries(alice)->front().in_force);
    EXPECT_FALSE(memory.summaries(alice)->back().in_force);
    ASSERT_TRUE(memory.undo(alice));
    EXPECT_EQ(texts(*memory.view(alice)), "[early] [late] five six");
    EXPECT_TRUE(memory.summaries(alice)->back().in_force);
    ASSERT_TRUE(memory.retract(alice, {Seq{1}, Seq{1}}));
    EXPECT_EQ(texts(*memory.view(alice)), "two [late] five six");
    // One that is made afterwards does not tell it.
    ASSERT_TRUE(splice(memory, {fold(1, 4, "new")}));
    EXPECT_EQ(texts(*memory.view(alice)), "[new] five six");
}

TEST(edits, what_a_summary_stood_for_is_as_other_edits_say_when_it_goes) {
    Memory memory = talk({"one", "two", "three", "four", "five", "six"});
    ASSERT_TRUE(splice(memory, {fold(1, 2, "first")}));
    ASSERT_TRUE(splice(memory, {fold(1, 4, "second")}));
    ASSERT_TRUE(memory.retract(alice, {Seq{4}, Seq{4}}));
    EXPECT_EQ(texts(*memory.view(alice)), "[first] three five six");
}

TEST(edits, compact_writes_an_entry_and_its_report_and_a_second_time_changes_nothing) {
    Memory memory = talk({"one", "two", "three", "four"});
    const CompactOptions options{.policy = R"({"passes":[{"pass":"keep_last","turns":1}]})"};
    const auto preview = memory.compact(alice, {.policy = options.policy, .preview = true});
    ASSERT_TRUE(preview);
    EXPECT_EQ(preview->outcome, Compaction::Outcome::done);
    EXPECT_EQ(memory.head(alice)->end, Seq{4});
    const auto done = memory.compact(alice, options);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->seq, Seq{5});
    EXPECT_EQ(done->tokens_after, preview->tokens_after);
    EXPECT_EQ(texts(*memory.view(alice)), "three four");
    EXPECT_EQ(memory.compact(alice, options)->outcome, Compaction::Outcome::not_due);
    EXPECT_EQ(memory.head(alice)->end, Seq{6});
    EXPECT_EQ(memory.compact(alice, {}).error().code, ErrorCode::invalid_request);
    EXPECT_EQ(memory.compact(alice, {.policy = "{"}).error().code, ErrorCode::invalid_request);
}

TEST(edits, a_summary_made_while_the_talk_went_on_is_spliced_in_behind_it) {
    Memory memory = talk({"one", "two", "three"});
    const View then = *memory.view(alice);
    ASSERT_TRUE(memory.append(alice, {.messages = assistant("four")}));
    ASSERT_TRUE(memory.append(alice, {.messages = user("five")}));
    ASSERT_TRUE(memory.splice(alice, then, {fold(1, 2, "sum")}, Cause::policy));
    EXPECT_EQ(texts(*memory.view(alice)), "[sum] three four five");
}

TEST(edits, a_splice_is_refused_when_somebody_edited_meanwhile) {
    Memory memory = talk({"one", "two", "three"});
    const View then = *memory.view(alice);
    ASSERT_TRUE(memory.retract(alice, {Seq{1}, Seq{1}}));
    EXPECT_EQ(memory.splice(alice, then, {fold(1, 2, "sum")}, Cause::policy).error().code,
              ErrorCode::conflict);
    const View past = *memory.view(alice, {.at = Seq{2}});
    EXPECT_EQ(memory.splice(alice, past, {fold(1, 2, "sum")}, Cause::policy).error().code,
              ErrorCode::conflict);
}

TEST(edits, a_splice_into_another_incarnation_is_refused) {
    Memory memory = talk({"one", "two", "three"});
    const View then = *memory.view(alice);
    ASSERT_TRUE(memory.erase(alice));
    ASSERT_TRUE(memory.append(alice, {.messages = user("new")}));
    EXPECT_EQ(memory.splice(alice, then, {fold(1, 2, "sum")}, Cause::policy).error().code,
              ErrorCode::conflict);
    EXPECT_EQ(texts(*memory.view(alice)), "new");
}

TEST(edits, a_callers_edits_are_checked_before_they_are_believed) {
    Memory memory = memory_with(
        {user("q"), call("c1"), result("c1", "r"), assistant("done"), user("x"), call("c2")});
    Edit no_result = fold(1, 1, "");
    no_result.result = nullptr;
    Edit wide = clear(2, user("x"));
    wide.range.to = Seq{3};
    Edit nothing = drop(1, 1);
    nothing.treatment = Treatment::verbatim;
    for (const Edit& bad : {fold(3, 3, "half a pair"), drop(6, 6), drop(1, 99), drop(0, 1),
                            no_result, wide, nothing, clear(1, "not json")}) {
        const auto done = splice(memory, {bad});
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, ErrorCode::invalid_request);
    }
    EXPECT_EQ(splice(memory, {}).error().code, ErrorCode::invalid_request);
    EXPECT_EQ(memory.head(alice)->end, Seq{6});
}

TEST(edits, forks_inherit_edits_and_pins_and_change_them_for_themselves) {
    Memory memory = talk({"one", "two", "three", "four"});
    ASSERT_TRUE(splice(memory, {fold(1, 2, "sum")}));
    ASSERT_TRUE(memory.pin(alice, Seq{1}));
    ASSERT_TRUE(memory.fork(alice, bob));
    EXPECT_EQ(texts(*memory.view(bob)), "one [sum] three four");
    ASSERT_TRUE(memory.unpin(bob, Seq{1}));
    ASSERT_TRUE(memory.undo(bob, Seq{5}));
    EXPECT_EQ(texts(*memory.view(bob)), "one two three four");
    EXPECT_EQ(texts(*memory.view(alice)), "one [sum] three four");
    ASSERT_TRUE(memory.fork(alice, {"t", "early"}, Seq{4}));
    EXPECT_EQ(texts(*memory.view({"t", "early"})), "one two three four");
}

TEST(scrub, removes_the_words_everywhere_and_keeps_the_position) {
    Memory memory = memory_with({user("q"), call("c1"), result("c1", "secret"), assistant("done")});
    ASSERT_TRUE(splice(memory, {clear(3, result("c1", "secr..."))}));
    ASSERT_TRUE(memory.fork(alice, bob));
    const View bobs = *memory.view(bob);
    ASSERT_TRUE(memory.splice(bob, bobs, {fold(1, 4, "the secret summary")}, Cause::policy));
    const std::uint64_t epoch = memory.head(bob)->epoch;
    ASSERT_TRUE(memory.scrub(alice, {Seq{3}}));
    for (const ConversationId& name : {alice, bob}) {
        const std::vector<Entry> log = *memory.log(name);
        for (const Entry& entry : log) {
            const auto* said = std::get_if<MessageEntry>(&entry.body);
            const auto* compaction = std::get_if<CompactionEntry>(&entry.body);
            const Bytes held = said         ? said->message.raw
                               : compaction ? compaction->edits.at(0).result
                                            : nullptr;
            EXPECT_FALSE(view_of(held).contains("secr")) << name.id;
        }
    }
    EXPECT_EQ(texts(*memory.view(alice)), "q call:c1 [removed] done");
    EXPECT_EQ(memory.view(bob)->items.size(), 1u);
    EXPECT_GT(memory.head(bob)->epoch, epoch);
    EXPECT_EQ(memory.head(alice)->end, Seq{6});
}

TEST(scrub, leaves_no_words_in_the_views_that_are_kept_of_forks) {
    auto words = std::make_shared<const std::string>(user("secret"));
    const std::weak_ptr<const std::string> kept = words;
    auto store = memory_store();
    auto said = read_message(FormatId::openai_chat, Bytes(words, *words));
    ASSERT_TRUE(store->append(alice, {.entries = {{MessageEntry{.message = *said}, {}}}}));
    said = fail(ErrorCode::not_found, "gone");
    words.reset();
    Memory memory(std::move(store));
    const ConversationId carol{"t", "carol"};
    ASSERT_TRUE(memory.fork(alice, bob));
    ASSERT_TRUE(memory.fork(bob, carol));
    for (const ConversationId& one : {alice, bob, carol}) ASSERT_TRUE(memory.view(one));
    ASSERT_FALSE(kept.expired());
    ASSERT_TRUE(memory.scrub(bob, {Seq{1}}));
    EXPECT_TRUE(kept.expired());
}

TEST(scrub, counts_the_words_that_stand_for_a_summary_that_went) {
    Memory memory = talk({"one", "secret", "three", "four"});
    ASSERT_TRUE(splice(memory, {fold(1, 3, "the secret summary")}));
    ASSERT_TRUE(memory.scrub(alice, {Seq{2}}));
    const View view = *memory.view(alice);
    ASSERT_EQ(view.items.size(), 2u);
    const std::string all = texts(view);
    const std::string text = all.substr(1, all.find("]]"));  // A summary is told in brackets.
    ASSERT_TRUE(text.starts_with("[A summary stood here.")) << all;
    EXPECT_EQ(view.items[0].tokens, exact_tokenizer()->count(text));
    EXPECT_EQ(view.tokens, view.items[0].tokens + view.items[1].tokens);
}

TEST(scrub, takes_only_messages_and_only_those_that_are_there) {
    Memory memory = talk({"one"});
    ASSERT_TRUE(memory.checkpoint(alice, "c"));
    EXPECT_EQ(memory.scrub(alice, {Seq{2}}).error().code, ErrorCode::invalid_request);
    EXPECT_EQ(memory.scrub(alice, {Seq{9}}).error().code, ErrorCode::not_found);
    EXPECT_EQ(memory.scrub(alice, {}).error().code, ErrorCode::invalid_request);
    EXPECT_TRUE(memory.scrub(alice, {Seq{1}}));
    EXPECT_TRUE(memory.scrub(alice, {Seq{1}}));
}

TEST(scrub, an_edit_planned_before_it_cannot_bring_the_words_back) {
    Memory memory = talk({"secret", "two", "three"});
    const View then = *memory.view(alice);
    ASSERT_TRUE(memory.scrub(alice, {Seq{1}}));
    EXPECT_EQ(memory.splice(alice, then, {fold(1, 2, "the secret")}, Cause::policy).error().code,
              ErrorCode::conflict);
}

TEST(erase, forks_keep_what_they_share) {
    Memory memory = talk({"one", "two", "three"});
    ASSERT_TRUE(splice(memory, {fold(1, 2, "sum")}));
    ASSERT_TRUE(memory.fork(alice, bob));
    const auto receipt = memory.erase(alice);
    ASSERT_TRUE(receipt);
    EXPECT_EQ(receipt->kept_for, std::vector<std::string>{"bob"});
    EXPECT_EQ(memory.view(alice).error().code, ErrorCode::not_found);
    EXPECT_EQ(texts(*memory.view(bob)), "[sum] three");
}

TEST(edits, a_repeat_with_the_same_key_gives_the_first_result_though_it_could_not_be_done_again) {
    Memory memory = talk({"one", "two", "three", "four"});
    const CompactOptions options{.policy = R"({"passes":[{"pass":"keep_last","turns":1}]})"};
    const auto first = memory.compact(alice, options, {.key = "k"});
    const auto again = memory.compact(alice, options, {.key = "k"});
    ASSERT_TRUE(first && again);
    EXPECT_EQ(again->seq, first->seq);
    EXPECT_EQ(again->outcome, Compaction::Outcome::done);
    EXPECT_EQ(again->tokens_after, first->tokens_after);
    const auto undone = memory.undo(alice, {}, {.key = "u"});
    const auto repeated = memory.undo(alice, {}, {.key = "u"});
    ASSERT_TRUE(undone && repeated);
    EXPECT_EQ(*repeated, *undone);
    EXPECT_EQ(memory.undo(alice).error().code, ErrorCode::not_found);
    EXPECT_EQ(memory.head(alice)->end, *undone);
}

TEST(edits, a_retract_hides_what_was_named_and_the_rest_of_its_groups_and_nothing_else) {
    Memory memory = memory_with(
        {user("q"), call("c1"), user("unrelated"), result("c1", "r"), assistant("done")});
    ASSERT_TRUE(memory.retract(alice, {Seq{2}, Seq{2}}));
    EXPECT_EQ(texts(*memory.view(alice)), "q unrelated done");
    ASSERT_TRUE(memory.undo(alice));
    ASSERT_TRUE(memory.retract(alice, {Seq{3}, Seq{4}}));
    EXPECT_EQ(texts(*memory.view(alice)), "q done");
    EXPECT_EQ(memory.retract(alice, {Seq{6}, Seq{7}}).error().code, ErrorCode::not_found);
    EXPECT_TRUE(memory.retract(alice, {Seq{5}, Seq{7}}));
}

TEST(edits, an_expected_end_that_is_stale_is_a_conflict_also_when_there_is_nothing_to_do) {
    Memory memory = talk({"one"});
    const CompactOptions options{.policy = R"({"passes":[{"pass":"keep_last","turns":9}]})"};
    EXPECT_EQ(memory.compact(alice, options, {.expected_end = Seq{7}}).error().code,
              ErrorCode::conflict);
    EXPECT_EQ(memory.compact(alice, options, {.expected_end = Seq{1}})->outcome,
              Compaction::Outcome::not_enough_history);
}

TEST(edits, crosswise_results_and_calls_in_one_message_are_pinned_and_compacted_like_any_other) {
    const auto both = [](std::string_view answers, std::string_view asks) {
        return R"({"role":"user","content":[{"type":"tool_result","tool_use_id":")" +
               std::string(answers) + R"(","content":"1"},{"type":"tool_use","id":")" +
               std::string(asks) + R"(","name":"f","input":{}}]})";
    };
    const auto asks = [](std::string_view id) {
        return R"({"role":"assistant","content":[{"type":"tool_use","id":")" + std::string(id) +
               R"(","name":"f","input":{}}]})";
    };
    const std::string crossed =
        "[" + asks("x") + "," + asks("y") + "," +
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"z","content":"1"},{"type":"tool_result","tool_use_id":"y","content":"1"}]},)" +
        both("x", "z") + "]";
    Memory memory = open_memory();
    ASSERT_TRUE(memory.append(alice, {.messages = crossed, .format = FormatId::anthropic}));
    EXPECT_TRUE(memory.pin(alice, Seq{1}));
    // Two calls in a row are one group, and pinned together.
    EXPECT_EQ(memory.retract(alice, {Seq{2}, Seq{2}}).error().code, ErrorCode::conflict);
    EXPECT_TRUE(memory.unpin(alice, Seq{1}));
    EXPECT_TRUE(memory.retract(alice, {Seq{2}, Seq{2}}));
    EXPECT_TRUE(
        memory.compact(alice, {.policy = R"({"passes":[{"pass":"keep_last","messages":1}]})"}));
    EXPECT_TRUE(memory.view(alice));
}
