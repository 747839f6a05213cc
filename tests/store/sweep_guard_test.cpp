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

// A store that two servers have, one after the other; "kept" expires thirty days after `day`.
class TwoServers {
public:
    TwoServers() {
        Batch batch;
        batch.patch.ttl = 24h * 30;
        EXPECT_TRUE(store->append({"t", "kept"}, batch));
    }
    // What went, or -1 when it was not the time.
    int sweep(GuardedSweeps& sweeps, Time wall, Duration steady) {
        now = wall;
        const auto went = sweeps.run(wall, steady, 100);
        if (!went) ADD_FAILURE() << went.error().message;
        return went && *went ? static_cast<int>(**went) : -1;
    }
    Time now = day;
    std::unique_ptr<Store> store =
        *open_store("memory:?ttl=0&sweep=0", {.clock = [this] { return now; }});
};

TEST(guarded_sweeps, a_server_that_starts_under_a_wrong_clock_removes_nothing) {
    TwoServers servers;
    GuardedSweeps first(*servers.store, "t");
    EXPECT_EQ(servers.sweep(first, day, 0min), -1) << "nobody knows when it was swept";
    EXPECT_EQ(servers.sweep(first, day + 60min, 60min), 0);
    GuardedSweeps second(*servers.store, "t");
    const Time wrong = day + 24h * 365;
    EXPECT_EQ(servers.sweep(second, wrong, 0min), -1);
    EXPECT_EQ(servers.sweep(second, wrong + 59min, 59min), -1);
    EXPECT_EQ(servers.sweep(second, day + 2h, 60min), -1) << "it was set right";
    EXPECT_TRUE(servers.store->head(ConversationId{"t", "kept"}));
}

TEST(guarded_sweeps, what_expired_while_no_server_ran_goes_an_hour_after_the_start) {
    TwoServers servers;
    GuardedSweeps first(*servers.store, "t");
    EXPECT_EQ(servers.sweep(first, day, 0min), -1);
    EXPECT_EQ(servers.sweep(first, day + 1h, 60min), 0);
    GuardedSweeps second(*servers.store, "t");
    EXPECT_EQ(servers.sweep(second, day + 24h * 90, 0min), -1);
    EXPECT_EQ(servers.sweep(second, day + 24h * 90 + 1h, 60min), 1);
}

TEST(guarded_sweeps, servers_that_stop_before_the_hour_is_over_end_the_wait_together) {
    TwoServers servers;
    GuardedSweeps first(*servers.store, "t");
    EXPECT_EQ(servers.sweep(first, day, 0min), -1);
    EXPECT_EQ(servers.sweep(first, day + 1h, 60min), 0);
    const Time back = day + 24h * 90;
    for (int life = 0; life < 3; ++life) {  // each twenty minutes, on a machine that was started
        GuardedSweeps server(*servers.store, "t");
        for (int minute = 1; minute <= 20; ++minute)
            EXPECT_EQ(servers.sweep(server, back + life * 21min + minute * 1min, minute * 1min), -1)
                << life << " " << minute;
    }
    GuardedSweeps last(*servers.store, "t");
    EXPECT_EQ(servers.sweep(last, back + 64min, 1min), -1) << "57 minutes were seen by now";
    EXPECT_EQ(servers.sweep(last, back + 67min, 4min), 1);
    GuardedSweeps after(*servers.store, "t");
    EXPECT_EQ(servers.sweep(after, back + 70min, 0min), 0) << "nothing is waited for any more";
}

TEST(guarded_sweeps, a_wait_that_was_left_begins_anew_under_another_time) {
    TwoServers servers;
    GuardedSweeps first(*servers.store, "t");
    EXPECT_EQ(servers.sweep(first, day, 0min), -1);
    EXPECT_EQ(servers.sweep(first, day + 59min, 59min), -1);
    GuardedSweeps second(*servers.store, "t");
    const Time wrong = day + 24h * 365;
    EXPECT_EQ(servers.sweep(second, wrong, 0min), -1);
    EXPECT_EQ(servers.sweep(second, wrong + 59min, 59min), -1);
    GuardedSweeps third(*servers.store, "t");
    EXPECT_EQ(servers.sweep(third, day + 2h, 0min), -1) << "it was set right";
    EXPECT_EQ(servers.sweep(third, day + 2h + 59min, 59min), -1);
    EXPECT_EQ(servers.sweep(third, day + 3h, 60min), 0);
    EXPECT_TRUE(servers.store->head(ConversationId{"t", "kept"}));
}

TEST(guarded_sweeps, a_restart_ends_no_wait_for_a_small_jump) {
    TwoServers servers;
    GuardedSweeps first(*servers.store, "t");
    EXPECT_EQ(servers.sweep(first, day, 0min), -1);
    EXPECT_EQ(servers.sweep(first, day + 1h, 60min), 0);
    EXPECT_EQ(servers.sweep(first, day + 2h, 61min), -1) << "an hour in a minute";
    GuardedSweeps second(*servers.store, "t");
    EXPECT_EQ(servers.sweep(second, day + 2h + 1min, 62min), -1);
    EXPECT_EQ(servers.sweep(second, day + 3h + 1min, 122min), 0);
}

TEST(guarded_sweeps, a_server_that_comes_back_soon_sweeps_at_once) {
    TwoServers servers;
    GuardedSweeps first(*servers.store, "t");
    EXPECT_EQ(servers.sweep(first, day, 0min), -1);
    for (int hour = 1; hour < 30 * 24; ++hour)
        EXPECT_EQ(servers.sweep(first, day + hour * 1h, hour * 1h), 0);
    GuardedSweeps second(*servers.store, "t");
    EXPECT_EQ(servers.sweep(second, day + 24h * 30 + 30min, 0min), 1);
}

}  // namespace
}  // namespace palimpsest
