#include "store/connection_pool.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

using std::chrono::milliseconds;

struct NoConnection {
    bool is_broken() const { return false; }
    bool is_quiet() const { return true; }
};
using Pool = ConnectionPool<NoConnection>;

// A caller has one time for all that it does: what a new connection takes is a part of it.
TEST(connection_pool, gives_a_new_connection_no_more_time_than_its_borrower_has) {
    std::vector<milliseconds> given;
    Pool pool(
        [&](milliseconds within) {
            given.push_back(within);
            return std::make_unique<NoConnection>();
        },
        {.connections = 2, .wait = milliseconds(10'000)});
    const auto first = pool.borrow(milliseconds(50));
    const auto second = pool.borrow();
    ASSERT_TRUE(first && second);
    ASSERT_EQ(given.size(), 2U);
    EXPECT_LE(given[0], milliseconds(50));
    EXPECT_LE(given[1], milliseconds(10'000));
    EXPECT_GT(given[1], milliseconds(50));
}

TEST(connection_pool, refuses_when_others_hold_all_of_them) {
    Pool pool([](milliseconds) { return std::make_unique<NoConnection>(); }, {.connections = 1});
    const auto first = pool.borrow();
    const auto refused = pool.borrow(milliseconds(1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace palimpsest
