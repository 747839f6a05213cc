#include "store/sweep_guard.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

constexpr Time day{std::chrono::milliseconds(1'800'000'000'000)};

TEST(sweep_guard, lets_sweeps_pass_while_the_clocks_agree) {
    SweepGuard guard;
    for (int minute = 0; minute < 600; ++minute)
        EXPECT_TRUE(guard.may_sweep(day + minute * 1min, minute * 1min));
}

TEST(sweep_guard, holds_sweeps_back_for_an_hour_after_a_jump) {
    SweepGuard guard;
    EXPECT_TRUE(guard.may_sweep(day, 0min));
    const Duration ten_years = std::chrono::hours(24 * 3650);
    EXPECT_FALSE(guard.may_sweep(day + ten_years + 1min, 1min));
    EXPECT_FALSE(guard.may_sweep(day + ten_years + 60min, 60min));
    EXPECT_TRUE(guard.may_sweep(day + ten_years + 61min, 61min));
}

// There and back within minutes: nothing was removed in between, nor shortly after.
TEST(sweep_guard, never_sweeps_by_a_time_that_did_not_hold) {
    SweepGuard guard;
    EXPECT_TRUE(guard.may_sweep(day, 0min));
    EXPECT_FALSE(guard.may_sweep(day + 24h * 30, 1min));
    EXPECT_FALSE(guard.may_sweep(day + 2min, 2min));
    EXPECT_TRUE(guard.may_sweep(day + 62min, 62min));
}

TEST(sweep_guard, does_not_mind_small_corrections) {
    SweepGuard guard;
    EXPECT_TRUE(guard.may_sweep(day, 0min));
    EXPECT_TRUE(guard.may_sweep(day + 1min + 30s, 1min));
}

}  // namespace
}  // namespace palimpsest
