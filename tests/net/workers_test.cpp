#include "net/workers.h"

#include <gtest/gtest.h>

#include <future>

namespace palimpsest {
namespace {

using std::chrono::milliseconds;

TEST(workers, get_more_threads_only_when_all_were_stuck_for_the_whole_time) {
    std::promise<void> release, begun, second;
    Workers workers(4, 1);
    workers.add([&] {
        begun.set_value();
        release.get_future().wait();
    });
    begun.get_future().wait();
    workers.add([&] { second.set_value(); });
    const Workers::Time now = std::chrono::steady_clock::now();
    workers.relieve(now, milliseconds(10));  // The first was begun since the time before.
    workers.relieve(now + milliseconds(1), milliseconds(10));
    EXPECT_EQ(workers.load().threads, 1U) << "two who ask at once are no sign of standing still";
    workers.relieve(now + milliseconds(10), milliseconds(10));
    EXPECT_EQ(workers.load().threads, 2U);
    second.get_future().wait();
    release.set_value();
}

}  // namespace
}  // namespace palimpsest
