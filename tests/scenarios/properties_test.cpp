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
