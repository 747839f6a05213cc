#include <gtest/gtest.h>

#include "core/plan.h"
#include "core/policy.h"
#include "core/ten_messages.h"

using namespace palimpsest;

TEST(extensions, a_users_own_pass_and_trigger_are_plain_functions) {
    Extensions own;
    own.triggers.push_back({"crowded", [](const Occasion& o) { return o.totals.messages > 5; }});
    own.passes.push_back({"drop_first", [](const PassInput&) {
                              PassResult result;
                              result.edits.push_back(
                                  {Treatment::dropped, {0, 9}, 0, 0, "first", {}});
                              return result;
                          }});
    const auto policy =
        parse_policy(R"({"triggers":{"crowded":true},"passes":[{"pass":"drop_first"}]})", own);
    ASSERT_TRUE(policy) << policy.error().message;
    const std::vector<Item> items = ten_messages();
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    const Plan plan = make_plan(input, *policy);
    EXPECT_EQ(plan.trigger, "crowded");
    // Until it is not crowded any more: five are left.
    EXPECT_EQ(plan.tokens_after, 50u);
    // The newest group was asked for too; no pass may take it.
    for (const Edit& edit : plan.edits) EXPECT_LE(edit.range.to, Seq{5});
    EXPECT_FALSE(parse_policy(R"({"passes":[{"pass":"drop_first"}]})"));
}

TEST(extensions, a_trigger_sees_the_view_and_the_last_usage) {
    Extensions own;
    own.triggers.push_back({"asked_twice", [](const Occasion& o) {
                                return o.items.size() == 10 && o.items[9].range.to == Seq{10} &&
                                       o.usage && o.usage->cached < o.usage->input;
                            }});
    const auto policy = parse_policy(
        R"({"triggers":{"asked_twice":true},"passes":[{"pass":"keep_last","messages":2}]})", own);
    ASSERT_TRUE(policy) << policy.error().message;
    const std::vector<Item> items = ten_messages();
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    EXPECT_EQ(make_plan(input, *policy).outcome, PlanOutcome::not_due);
    input.occasion.usage = Usage{.input = 100, .cached = 50};
    EXPECT_EQ(make_plan(input, *policy).trigger, "asked_twice");
}

TEST(extensions, names_that_are_taken_and_empty_functions_are_refused) {
    const PassFunction pass = [](const PassInput&) { return PassResult{}; };
    const TriggerFunction trigger = [](const Occasion&) { return true; };
    EXPECT_TRUE(check_extensions({.passes = {{"mine", pass}}, .triggers = {{"mine", trigger}}}));
    const Extensions bad[] = {
        {.passes = {{"drop_oldest", pass}}},
        {.passes = {{"mine", {}}}},
        {.passes = {{"", pass}}},
        {.passes = {{"mine", pass}, {"mine", pass}}},
        {.triggers = {{"tokens", trigger}}},
        {.triggers = {{"any", trigger}}},
        {.triggers = {{"hard", trigger}}},
        {.triggers = {{"mine", {}}}},
    };
    for (const Extensions& one : bad) {
        const auto checked = check_extensions(one);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().code, ErrorCode::invalid_request);
    }
}

TEST(extensions, a_predicate_protects) {
    Extensions own;
    own.protect = [](const Item& item) { return item.range.from == Seq{4}; };
    const auto policy = parse_policy(
        R"({"triggers":{"messages":3},"passes":[{"pass":"keep_last","messages":2}]})", own);
    const std::vector<Item> items = ten_messages();
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    const Plan plan = make_plan(input, *policy);
    ASSERT_EQ(plan.edits.size(), 2u);
    EXPECT_EQ(plan.edits[0].range, (Range{Seq{1}, Seq{3}}));
    EXPECT_EQ(plan.edits[1].range, (Range{Seq{5}, Seq{8}}));
}
