#include <gtest/gtest.h>

#include "scenarios/random_plan.h"

using namespace palimpsest;

TEST(plan_properties, hold_for_thousands_of_random_cases) {
    std::map<PlanOutcome, int> outcomes;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        PlanOutcome outcome = PlanOutcome::not_due;
        const std::string fault = check_case(seed, &outcome);
        ASSERT_EQ(fault, "") << "seed " << seed << ": " << CaseMaker(seed).make().policy;
        ++outcomes[outcome];
    }
    // The cases are worth something only if they reach every outcome.
    EXPECT_GT(outcomes[PlanOutcome::done], 500);
    EXPECT_GT(outcomes[PlanOutcome::unreachable], 20);
    EXPECT_GT(outcomes[PlanOutcome::no_progress], 20);
    EXPECT_GT(outcomes[PlanOutcome::not_due], 100);
}

TEST(plan_properties, what_is_due_by_numbers_of_things_is_done_at_once_whatever_the_target) {
    std::map<PlanOutcome, int> outcomes;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        const RandomCase one = CaseMaker(seed).make_counting();
        PlanOutcome outcome = PlanOutcome::not_due;
        ASSERT_EQ(check_case(one, seed, &outcome), "") << "seed " << seed << ": " << one.policy;
        ++outcomes[outcome];
    }
    EXPECT_GT(outcomes[PlanOutcome::done], 500);
}
