// Prices of models whose service caches nothing.
#include "core/cache_model.h"

#include <gtest/gtest.h>

#include "core/plan_numbers.h"

namespace palimpsest {
namespace {

// 2,000 of 2,600 tokens go. As a row of the settings file: prices, and no rule of a cache.
struct Outcome {
    bool pays = false;
    std::string explanation = {};
};
Outcome without_cache(std::uint32_t within, double dollars) {
    Policy policy;
    policy.pays_within_calls = within;
    policy.min_gain_dollars = dollars;
    Occasion occasion;
    occasion.model = {.name = "mine", .input_price = 10, .cached_price = 1, .output_price = 20};
    Plan plan{.costs = {{0, 100}}, .used_before = 2600, .used_after = 600, .limit = 9000};
    const bool paid = pays(plan, policy, occasion);
    return {paid, plan.explanation};
}

TEST(prices_of, a_model_without_a_cache_are_the_same_for_every_token) {
    const PriceList prices = prices_of({.name = "mine", .input_price = 10, .output_price = 20});
    EXPECT_EQ(prices.name, "model");
    EXPECT_EQ(prices.cached, 1);
    EXPECT_EQ(prices.fresh, 1);
    EXPECT_EQ(prices.output, 2);
    EXPECT_EQ(calls_to_pay(prices, {2600, 600, 100}), 0);
    EXPECT_EQ(gain_in(prices, {2600, 600, 100}, 3), 6000);
    EXPECT_EQ(prices_of({.name = "unknown"}).name, "");
}

TEST(plan, what_goes_from_a_model_without_a_cache_saves_its_price_at_once) {
    EXPECT_TRUE(without_cache(1, 0).pays);
    // 2,000 tokens at $10 a million: $0.02 a call, $0.2 in ten, $0.06 in three.
    EXPECT_TRUE(without_cache(0, 0.19).pays);
    EXPECT_EQ(without_cache(0, 0.21).explanation,
              "it would save $0.2 in 10 calls, the minimum is $0.21");
    EXPECT_TRUE(without_cache(3, 0.05).pays);
    EXPECT_FALSE(without_cache(3, 0.07).pays);
}

}  // namespace
}  // namespace palimpsest
