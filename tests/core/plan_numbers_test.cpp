// What a plan costs and saves, and how that is told.
#include "core/plan.h"

#include <gtest/gtest.h>

#include "core/breakdown.h"
#include "core/cache_model.h"
#include "core/plan_numbers.h"
#include "core/policy.h"
#include "core/ten_messages.h"

using namespace palimpsest;

TEST(plan, tells_what_an_edit_costs_in_the_cache) {
    const auto policy =
        parse_policy(R"({"triggers":{"messages":3},"passes":[{"pass":"keep_last","messages":2}]})");
    std::vector<Item> items = ten_messages();
    items[0].pinned = true;
    for (Item& item : items) item.message.raw = make_bytes("0123456789");
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    input.occasion.budget.system = 7;
    const Plan plan = make_plan(input, *policy);
    ASSERT_EQ(plan.costs.size(), 1u);
    EXPECT_EQ(plan.costs[0].first_item, 1u);
    EXPECT_EQ(plan.first_byte, 10u);
    EXPECT_EQ(plan.costs[0].prefix_tokens, 17u);
    EXPECT_EQ(plan.first_changed, Seq{2});
    EXPECT_EQ(plan.tokens_before, 100u);
    EXPECT_EQ(plan.tokens_after, 30u);
    EXPECT_EQ(plan.used_after, 37u);
}

TEST(plan, a_gain_in_money_below_the_minimum_changes_nothing) {
    const std::vector<Item> items = ten_messages();
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    input.occasion.model = {.name = "m",
                            .input_price = 2.5,
                            .cached_price = 0.25,
                            .cache_write_price = 2.5,
                            .output_price = 10,
                            .cache_least_tokens = 1};
    const auto plan_for = [&](const char* dollars) {
        const auto policy = parse_policy(R"({"triggers":{"messages":3},"min_gain":{"dollars":)" +
                                         std::string(dollars) +
                                         R"(},"passes":[{"pass":"keep_last","messages":2}]})");
        return make_plan(input, *policy);
    };
    // 80 tokens less in each of ten calls, read from the cache, without 20 tokens read anew once.
    EXPECT_EQ(plan_for("0.0001").outcome, PlanOutcome::done);
    const Plan dear = plan_for("0.01");
    EXPECT_EQ(dear.outcome, PlanOutcome::no_progress);
    EXPECT_NE(dear.explanation.find("the minimum is $0.01"), std::string::npos) << dear.explanation;
}

TEST(policy, an_edit_that_does_not_pay_says_in_how_many_calls_it_would) {
    Policy policy;
    policy.pays_within_calls = 5;
    Occasion occasion;
    occasion.model = {
        .input_price = 2, .cached_price = 1, .cache_write_price = 2, .cache_least_tokens = 1};
    // 1500 tokens are read anew, at half a price more; each call saves 100 at half a price.
    Plan plan{.costs = {{0, 1000}}, .used_before = 2600, .used_after = 2500, .limit = 9000};
    EXPECT_FALSE(pays(plan, policy, occasion));
    EXPECT_EQ(plan.explanation, "it would take 15 calls to pay for itself, the policy allows 5");
}

TEST(plan, an_unreachable_budget_is_said_with_its_numbers) {
    const auto policy = parse_policy("trim");
    std::vector<Item> items = ten_messages();
    items[1].pinned = true;
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    input.occasion.budget = {.window = 40, .reply = 10, .tools = 8, .system = 7, .per_message = 0};
    const Plan plan = make_plan(input, *policy);
    EXPECT_EQ(plan.outcome, PlanOutcome::unreachable);
    EXPECT_EQ(plan.floor, 35u);
    EXPECT_EQ(plan.limit, 30u);
    const Error error = unreachable_error(plan.floor, plan.explanation);
    EXPECT_EQ(error.code, ErrorCode::budget_unreachable);
    EXPECT_NE(error.message.find("35"), std::string::npos);
    EXPECT_NE(error.message.find("30"), std::string::npos);
}

TEST(breakdown, says_where_the_tokens_go_and_how_far_the_trigger_is) {
    const auto policy =
        parse_policy(R"({"triggers":{"hard":{"window_share":0.9},"soft":{"tokens":150}},
        "passes":[{"pass":"drop_oldest"}]})");
    std::vector<Item> items = ten_messages();
    items[1].message.shape.role = Role::assistant;
    items[2].message.shape.role = Role::tool;
    items[3].kind = ItemKind::summary;
    Occasion occasion;
    occasion.totals = totals_of(items);
    occasion.budget = {.window = 200, .reply = 20, .tools = 8, .system = 7, .per_message = 1};
    occasion.model.input_price = 2;
    occasion.model.cached_price = 0.5;
    const Breakdown found = break_down(items, occasion, *policy);
    EXPECT_EQ(found.user, 70u);
    EXPECT_EQ(found.assistant, 10u);
    EXPECT_EQ(found.tool_results, 10u);
    EXPECT_EQ(found.summaries, 10u);
    EXPECT_EQ(found.framing, 10u);
    EXPECT_EQ(found.used, 125u);
    EXPECT_EQ(found.free, 55u);
    EXPECT_EQ(found.trigger, "tokens");
    EXPECT_EQ(found.until_trigger, 25u);
    EXPECT_DOUBLE_EQ(*found.cost, 125 * 2 / 1e6);
    EXPECT_DOUBLE_EQ(*found.cost_cached, 125 * 0.5 / 1e6);
}

TEST(prompt_cache, counts_the_common_prefix_in_steps_and_until_it_expires) {
    PriceList prices = *find_prices("openai");
    PromptCache cache(prices);
    const std::vector<CacheBlock> first = {{1, 1000}, {2, 500}};
    const std::vector<CacheBlock> longer = {{1, 1000}, {2, 500}, {3, 100}};
    const std::vector<CacheBlock> edited = {{1, 1000}, {9, 400}, {3, 100}};
    EXPECT_EQ(cache.call(first).cached, 0u);
    EXPECT_EQ(cache.call(longer).cached, 1408u);  // 1500 in steps of 128
    EXPECT_EQ(cache.call(edited).cached, 0u);     // 1000 is below the least of 1024
    EXPECT_EQ(cache.call(edited, 1000).cached, 0u);
    EXPECT_EQ(cache.call(edited).cached, 1408u);
}

TEST(prompt_cache, writes_nothing_below_the_least_that_it_takes) {
    PromptCache cache(*find_prices("anthropic"));
    const CallCost small = cache.call(std::vector<CacheBlock>{{1, 600}});
    EXPECT_EQ(small.written, 0u);
    EXPECT_DOUBLE_EQ(small.cost, 600);
    const CallCost large = cache.call(std::vector<CacheBlock>{{1, 600}, {2, 1000}});
    EXPECT_EQ(large.cached, 0u);
    EXPECT_EQ(large.written, 1600u);
    EXPECT_DOUBLE_EQ(large.cost, 1600 * 1.25);
}

TEST(prompt_cache, an_edit_below_the_least_that_is_cached_never_pays) {
    const PriceList& prices = *find_prices("anthropic");
    // Each call read 2000 tokens from the cache, and would read 900 without one.
    EXPECT_GT(calls_to_pay(prices, {2000, 900, 500}), 1e9);
    // What stays in front is too short to be found in the cache: 5000 are read anew, not 4500.
    EXPECT_DOUBLE_EQ(calls_to_pay(prices, {6000, 5000, 500}), 5000 * 1.15 / 100);
}

TEST(prompt_cache, tells_when_an_edit_has_paid_for_itself) {
    const PriceList& prices = *find_prices("anthropic");
    // 1000 tokens less each call; 2000 tokens read anew once.
    EXPECT_DOUBLE_EQ(calls_to_pay(prices, {6000, 5000, 3000}), 2000 * 1.15 / 100);
    EXPECT_GT(calls_to_pay(prices, {6000, 6000, 3000}), 1e9);
}
