#include <gtest/gtest.h>

#include "core/plan.h"
#include "core/scan.h"

using namespace palimpsest;

namespace {

// A conversation as a word: u user, a answer, s system, C call, R its result, each one message of
// ten tokens with seqs from 1 on.
View conversation(std::string_view word) {
    std::vector<Item> items;
    int calls = 0;
    for (const char c : word) {
        Item item;
        Shape& shape = item.message.shape;
        shape.role = c == 'u'   ? Role::user
                     : c == 's' ? Role::system
                     : c == 'R' ? Role::tool
                                : Role::assistant;
        if (c == 'C') shape.calls = {"c" + std::to_string(++calls)};
        if (c == 'R') shape.results = {"c" + std::to_string(calls)};
        shape.text = true;
        item.range = {Seq{items.size() + 1}, Seq{items.size() + 1}};
        item.tokens = 10;
        items.push_back(item);
    }
    View view;
    view.items = std::move(items);
    view.totals = totals_of(view.items);
    return view;
}

Plan keep(const View& view, std::string_view what) {
    const auto policy =
        parse_policy(R"({"passes":[{"pass":"keep_last",)" + std::string(what) + "}]}");
    EXPECT_TRUE(policy.has_value());
    return make_plan(view, *policy, true);
}

// "1-3 5-5"
std::string dropped(const Plan& plan) {
    std::string out;
    for (const Edit& edit : plan.edits) {
        EXPECT_EQ(edit.treatment, Treatment::dropped);
        if (!out.empty()) out += ' ';
        out += std::to_string(edit.range.from.value) + "-" + std::to_string(edit.range.to.value);
    }
    return out;
}

}  // namespace

TEST(keep_last, messages_cuts_back_to_the_start_of_a_turn) {
    EXPECT_EQ(dropped(keep(conversation("uauaua"), R"("messages":2)")), "1-4");
    EXPECT_EQ(dropped(keep(conversation("uauaua"), R"("messages":3)")), "1-2");
}

TEST(keep_last, turns_keeps_whole_turns) {
    const Plan plan = keep(conversation("uaCRauCRa"), R"("turns":1)");
    EXPECT_EQ(dropped(plan), "1-5");
    EXPECT_EQ(plan.outcome, PlanOutcome::done);
    EXPECT_EQ(plan.tokens_before, 90u);
    EXPECT_EQ(plan.tokens_after, 40u);
    EXPECT_EQ(plan.edits[0].before.tokens, 50u);
}

TEST(keep_last, goes_forward_when_going_back_frees_nothing) {
    EXPECT_EQ(dropped(keep(conversation("uCRCRua"), R"("messages":4)")), "1-5");
}

TEST(keep_last, cuts_one_long_turn_between_its_groups_and_keeps_the_question) {
    EXPECT_EQ(dropped(keep(conversation("uCRCRCR"), R"("messages":2)")), "2-5");
}

TEST(keep_last, never_splits_a_pair) {
    EXPECT_EQ(dropped(keep(conversation("uCRCRCR"), R"("messages":3)")), "2-3");
}

TEST(keep_last, keeps_system_messages_pins_and_open_calls_in_place) {
    View view = conversation("suauauC");
    EXPECT_EQ(dropped(keep(view, R"("turns":1)")), "2-5");
    std::vector<Item> items = view.items.copy();
    items[2].pinned = true;
    view.items = std::move(items);
    const Plan plan = keep(view, R"("turns":1)");
    EXPECT_EQ(dropped(plan), "2-2 4-5");
    EXPECT_EQ(plan.edits[0].before.tokens, 10u);
    EXPECT_EQ(plan.edits[1].before.tokens, 20u);
}

TEST(keep_last, zero_keeps_only_what_must_be_kept) {
    EXPECT_EQ(dropped(keep(conversation("uauCRa"), R"("turns":0)")), "1-2 4-5");
}

TEST(keep_last, says_when_there_is_not_enough_history) {
    EXPECT_EQ(keep(conversation("ua"), R"("messages":2)").outcome, PlanOutcome::not_enough_history);
    EXPECT_EQ(keep(conversation("ua"), R"("turns":5)").outcome, PlanOutcome::not_enough_history);
    EXPECT_EQ(keep(conversation(""), R"("turns":0)").outcome, PlanOutcome::not_enough_history);
    EXPECT_EQ(keep(conversation("u"), R"("messages":0)").outcome, PlanOutcome::no_progress);
}

TEST(keep_last, a_trigger_fires_above_its_number_and_not_at_it) {
    const auto policy =
        parse_policy(R"({"triggers":{"messages":4},"passes":[{"pass":"keep_last","turns":1}]})");
    EXPECT_EQ(make_plan(conversation("uaua"), *policy, false).outcome, PlanOutcome::not_due);
    EXPECT_EQ(make_plan(conversation("uauau"), *policy, false).outcome, PlanOutcome::done);
    const auto turns =
        parse_policy(R"({"triggers":{"turns":2},"passes":[{"pass":"keep_last","turns":1}]})");
    EXPECT_EQ(make_plan(conversation("uauaa"), *turns, false).outcome, PlanOutcome::not_due);
    EXPECT_EQ(make_plan(conversation("uauau"), *turns, false).trigger, "turns");
}

TEST(policy, a_system_message_in_front_is_no_turn) {
    const auto turns =
        parse_policy(R"({"triggers":{"turns":2},"passes":[{"pass":"keep_last","turns":1}]})");
    EXPECT_EQ(make_plan(conversation("suaua"), *turns, false).outcome, PlanOutcome::not_due);
    EXPECT_EQ(make_plan(conversation("suauau"), *turns, false).outcome, PlanOutcome::done);
}

TEST(ranges_of, leaves_out_what_is_kept_inside_a_summary) {
    std::vector<Item> items = conversation("uuuu").items.copy();
    items[0].range = {Seq{1}, Seq{9}};
    items[0].kind = ItemKind::summary;
    items[1].range = {Seq{5}, Seq{5}};
    items[2].range = {Seq{12}, Seq{12}};
    items[3].range = {Seq{20}, Seq{20}};
    const auto ranges = ranges_of(items, std::vector<ItemRun>{{0, 0}, {2, 2}}, false);
    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0], (Range{Seq{1}, Seq{4}}));
    EXPECT_EQ(ranges[1], (Range{Seq{6}, Seq{12}}));
}

TEST(policy, names_the_field_that_it_does_not_know) {
    struct Bad {
        const char* json;
        const char* param;
    };
    for (const Bad& bad :
         {Bad{"[]", "policy"}, Bad{"{", "policy"}, Bad{R"({"pases":[]})", "pases"},
          Bad{R"({"passes":{}})", "passes"}, Bad{R"({"passes":[1]})", "passes[0].pass"},
          Bad{R"({"passes":[{"pass":"keep"}]})", "passes[0].pass"},
          Bad{R"({"passes":[{"pass":"keep_last"}]})", "passes[0]"},
          Bad{R"({"passes":[{"pass":"keep_last","messages":-1}]})", "passes[0].messages"},
          Bad{R"({"passes":[{"pass":"keep_last","messages":"3"}]})", "passes[0].messages"},
          Bad{R"({"passes":[{"pass":"keep_last","turns":1,"bits":5}]})", "passes[0].bits"},
          Bad{R"({"triggers":5})", "triggers"}, Bad{R"({"triggers":{"age":5}})", "triggers.age"}}) {
        const auto policy = parse_policy(bad.json);
        ASSERT_FALSE(policy) << bad.json;
        EXPECT_EQ(policy.error().code, ErrorCode::invalid_request);
        EXPECT_EQ(policy.error().param, bad.param) << bad.json;
    }
}
