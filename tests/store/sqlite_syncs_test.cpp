#include "store/sqlite_syncs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace palimpsest {
namespace {

// Syncs that end when the test lets them.
class Syncs {
public:
    CommitSyncs of{[this] {
        const int number = ++begun;
        ended.wait(number - 1);
        return good ? Result<void>() : fail(ErrorCode::outcome_unknown, "the disk has failed");
    }};
    std::atomic<int> begun = 0, ended = 0;
    std::atomic<bool> good = true;

    CommitSyncs::Ticket commit() {
        of.wrote();
        return of.newest();
    }
    void end_one() {
        ++ended;
        ended.notify_all();
    }
    // In a thread of its own, until it is under way.
    std::jthread start(const CommitSyncs::Ticket& ticket) {
        const int before = begun;
        std::jthread thread([this, ticket] { (void)of.wait(ticket); });
        while (begun == before) std::this_thread::yield();
        return thread;
    }
};

TEST(commit_syncs, have_nothing_to_do_where_nothing_was_written) {
    Syncs syncs;
    EXPECT_TRUE(syncs.of.wait(syncs.of.newest()));
    EXPECT_EQ(syncs.begun, 0);
}

TEST(commit_syncs, serve_with_one_sync_all_that_was_written_before_it_began) {
    Syncs syncs;
    const auto first = syncs.commit(), second = syncs.commit();
    const auto thread = syncs.start(second);
    const auto late = syncs.commit();
    syncs.end_one();
    EXPECT_TRUE(syncs.of.wait(first));
    EXPECT_TRUE(syncs.of.wait(second));
    EXPECT_EQ(syncs.begun, 1);
    EXPECT_FALSE(syncs.of.synced(late));
    syncs.end_one();
    EXPECT_TRUE(syncs.of.wait(late));
    EXPECT_EQ(syncs.begun, 2);
}

TEST(commit_syncs, have_room_for_one_commit_behind_the_sync_that_runs) {
    Syncs syncs;
    syncs.of.await_room();
    const auto thread = syncs.start(syncs.commit());
    syncs.of.await_room();
    syncs.of.wrote();
    std::atomic<bool> room = false;
    std::jthread waits([&] {
        syncs.of.await_room();
        room = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(room);
    syncs.end_one();
    waits.join();
    EXPECT_TRUE(room);
}

TEST(commit_syncs, leave_unknown_what_a_failed_one_was_to_serve_and_what_came_behind_it) {
    Syncs syncs;
    syncs.end_one();
    const auto good = syncs.commit();
    EXPECT_TRUE(syncs.of.wait(good));
    const auto lost = syncs.commit();
    syncs.good = false;
    syncs.end_one();
    const auto told = syncs.of.wait(lost);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, ErrorCode::outcome_unknown);
    EXPECT_TRUE(syncs.of.distrusted());
    const auto behind = syncs.commit();
    EXPECT_FALSE(syncs.of.wait(behind));
    EXPECT_EQ(syncs.begun, 2);

    syncs.good = true;
    syncs.of.distrust();
    syncs.of.renew();
    EXPECT_FALSE(syncs.of.wait(lost));
    EXPECT_FALSE(syncs.of.wait(behind));
    EXPECT_TRUE(syncs.of.wait(good));
    syncs.end_one();
    EXPECT_TRUE(syncs.of.wait(syncs.commit()));
    EXPECT_FALSE(syncs.of.wait(behind));
}

TEST(commit_syncs, are_waited_for_by_whoever_gives_the_file_up) {
    Syncs syncs;
    const auto thread = syncs.start(syncs.commit());
    std::atomic<bool> given_up = false;
    std::jthread gives_up([&] {
        syncs.of.distrust();
        given_up = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(given_up);
    syncs.end_one();
    gives_up.join();
    EXPECT_TRUE(given_up);
}

TEST(commit_syncs, are_not_needed_where_all_was_made_good_otherwise) {
    Syncs syncs;
    const auto ticket = syncs.commit();
    syncs.of.made_good();
    EXPECT_TRUE(syncs.of.wait(ticket));
    EXPECT_EQ(syncs.begun, 0);
}

}  // namespace
}  // namespace palimpsest
