// Backups that are refused, or that fail, leave nothing behind.
#include <gtest/gtest.h>

#include "store/sqlite_fixture.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

TEST(backup, into_the_folder_of_the_store_itself_is_refused_also_behind_a_link) {
    const TestFolder folder;
    const auto store = open_good("files:" + folder.file("store"));
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("one")));
    fs::create_directory_symlink("store", folder.file("link"));
    for (const char* inside : {"store/inner", "store/logs/inner", "link/inner", "x/../store/y"}) {
        const auto refused = store->backup(folder.file(inside));
        ASSERT_FALSE(refused) << inside;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_request) << refused.error().message;
        EXPECT_FALSE(fs::exists(folder.file(inside) + ".new"));
    }
    EXPECT_TRUE(store->backup(folder.file("store.copy")));
}

TEST(backup, of_sqlite_removes_what_one_before_it_left) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("one")));
    for (const char* left : {"copy.new", "copy.new-journal"}) std::ofstream(folder.file(left)) << 1;
    ASSERT_TRUE(store->backup(folder.file("copy")));
    EXPECT_FALSE(fs::exists(folder.file("copy.new-journal")));
    fs::create_directory(folder.file("full.new"));
    std::ofstream(folder.file("full.new/file")) << 1;  // It cannot be made.
    std::ofstream(folder.file("full.new-journal")) << 1;
    EXPECT_FALSE(store->backup(folder.file("full")));
    EXPECT_FALSE(fs::exists(folder.file("full.new-journal")));
}

}  // namespace
}  // namespace palimpsest
