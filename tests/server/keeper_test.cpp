// The keeper calls its tasks until they are done, and each a last time; a turn's beacon is seen
// while the turn runs and gone when it has ended.
#include "server/keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/ids.h"
#include "palimpsest/memory.h"
#include "server/running.h"
#include "server/turn_beacon.h"

namespace palimpsest {
namespace {

template <class True>
bool soon(True&& is_true) {
    for (int look = 0; look < 1000; ++look) {
        if (is_true()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

TEST(keeper, calls_a_task_until_it_is_done) {
    std::atomic<int> calls = 0;
    Keeper keeper;
    keeper.add([&](bool) { return ++calls < 3; });
    EXPECT_TRUE(soon([&] { return calls == 3; }));
    keeper.stop();
    EXPECT_EQ(calls, 3);
}

TEST(keeper, calls_every_task_a_last_time_when_it_stops) {
    std::atomic<int> last = 0;
    Keeper keeper;
    for (int i = 0; i < 2; ++i)
        keeper.add([&](bool is_last) {
            last += is_last ? 1 : 0;
            return true;
        });
    keeper.stop();
    EXPECT_EQ(last, 2);
    keeper.add([&](bool is_last) {
        last += is_last ? 1 : 0;
        return true;
    });
    EXPECT_EQ(last, 3);
}

TEST(keeper, writes_records_that_can_wait) {
    Memory memory = Memory::open("memory:").value();
    Keeper keeper;
    keeper.put_later(memory.store(), {.key = {"t", "s", "k"}, .value = "v"});
    EXPECT_TRUE(soon([&] { return memory.store().get_record({"t", "s", "k"}).has_value(); }));
}

TEST(turn_beacon, is_seen_while_the_turn_runs_and_gone_when_it_has_ended) {
    Memory memory = Memory::open("memory:").value();
    Keeper keeper;
    const Begun begun{.name = {"t", "c"}, .log = {}, .turn = Seq{1}};
    const auto seen = [&] {
        const auto records = memory.store().list_records({.tenant = "t", .space = "running_turns"});
        return records && !records->empty();
    };
    EXPECT_EQ(await_elsewhere(memory.store(), begun, {}).value(), false);
    TurnBeacon beacon(keeper, memory.store(), begun);
    EXPECT_TRUE(soon(seen));
    std::stop_source gone;
    gone.request_stop();
    EXPECT_EQ(await_elsewhere(memory.store(), begun, gone.get_token()).value(), true);
    beacon.end();
    EXPECT_TRUE(soon([&] { return !seen(); }));
}

TEST(turn_beacon, of_a_process_that_died_holds_nobody_up_where_the_store_is_held_alone) {
    const TemporaryFolder folder;
    for (const std::string kind : {"sqlite:", "files:"}) {
        Memory memory = Memory::open(kind + folder.path() + "/store").value();
        const Begun begun{.name = {"t", "c"}, .log = {}, .turn = Seq{1}};
        const std::string turn = position_id("turn_", begun.log, begun.turn);
        ASSERT_TRUE(
            memory.store().put_record({.key = {"t", "running_turns", turn}, .value = "{}"}));
        EXPECT_EQ(await_elsewhere(memory.store(), begun, {}).value(), false) << kind;
        std::filesystem::remove_all(folder.path() + "/store");
    }
}

TEST(turn_beacon, of_a_turn_that_is_over_at_once_is_never_written) {
    Memory memory = Memory::open("memory:").value();
    Keeper keeper;
    const Begun begun{.name = {"t", "c"}, .log = {}, .turn = Seq{1}};
    {
        const TurnBeacon beacon(keeper, memory.store(), begun);
    }
    keeper.stop();
    EXPECT_TRUE(
        memory.store().list_records({.tenant = "t", .space = "running_turns"}).value().empty());
}

}  // namespace
}  // namespace palimpsest
