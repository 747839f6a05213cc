#include "palimpsest/error.h"

#include <gtest/gtest.h>

#include <set>

using namespace palimpsest;

TEST(error, the_table_has_a_row_of_its_own_for_every_code) {
    std::set<std::string_view> names;
    for (const ErrorInfo& row : error_table()) {
        EXPECT_EQ(error_info(row.code).name, row.name);
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_GE(row.http_status, 400);
        EXPECT_GT(row.exit_status, 0);
    }
    EXPECT_EQ(names.size(), 14u);
}

TEST(error, pal_try_hands_the_error_up) {
    const auto inner = []() -> Result<int> { return fail(ErrorCode::conflict, "moved"); };
    const auto outer = [&]() -> Result<int> {
        PAL_TRY(value, inner());
        return value + 1;
    };
    ASSERT_FALSE(outer());
    EXPECT_EQ(outer().error().message, "moved");
}
