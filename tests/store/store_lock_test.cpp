// One process at a time on one file, and who it is.
#include "store/store_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "store/sqlite_fixture.h"

namespace palimpsest {
namespace {

LockInfo server() {
    return {.pid = 123,
            .program = "pal serve",
            .address = "127.0.0.1:7420",
            .token = "secret",
            .since = Time(std::chrono::seconds(1'800'000'000))};
}

TEST(store_lock, names_the_holder_to_whoever_comes_second) {
    const TestFolder folder;
    const auto lock = StoreLock::take(folder.file("x"), server());
    ASSERT_TRUE(lock) << lock.error().message;
    const auto second = StoreLock::take(folder.file("x"), {.pid = 1});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_NE(second.error().message.find("held by pal serve (pid 123, 127.0.0.1:7420)"),
              std::string::npos)
        << second.error().message;
    EXPECT_EQ(second.error().message.find("secret"), std::string::npos);
}

TEST(store_lock, tells_others_how_to_reach_the_holder) {
    const TestFolder folder;
    const auto nobody = read_lock_info(folder.file("x"));
    ASSERT_TRUE(nobody);
    EXPECT_FALSE(*nobody);
    const auto lock = StoreLock::take(folder.file("x"), server());
    const auto info = read_lock_info(folder.file("x"));
    ASSERT_TRUE(info && *info);
    EXPECT_EQ((*info)->pid, 123);
    EXPECT_EQ((*info)->program, "pal serve");
    EXPECT_EQ((*info)->address, "127.0.0.1:7420");
    EXPECT_EQ((*info)->token, "secret");
    EXPECT_EQ((*info)->since, server().since);
}

TEST(store_lock, leaves_no_file_when_it_is_given_up) {
    const TestFolder folder;
    {
        const auto lock = StoreLock::take(folder.file("x"), server());
    }
    EXPECT_FALSE(std::filesystem::exists(folder.file("x.lock")));
    EXPECT_TRUE(StoreLock::take(folder.file("x"), server()));
}

TEST(store_lock, takes_over_the_file_of_a_dead_process) {
    const TestFolder folder;
    std::ofstream(folder.file("x.lock")) << R"({"pid":999999,"program":"pal serve"})";
    const auto nobody = read_lock_info(folder.file("x"));
    ASSERT_TRUE(nobody);
    EXPECT_FALSE(*nobody);
    ASSERT_TRUE(StoreLock::take(folder.file("x"), server()));
}

TEST(store_lock, is_freed_when_its_process_is_killed) {
    const TestFolder folder;
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto lock = StoreLock::take(folder.file("x"), {.pid = ::getpid(), .program = "kid"});
        const char done = lock ? 'y' : 'n';
        (void)!::write(ready[1], &done, 1);
        ::pause();
        ::_exit(0);
    }
    char done = 'n';
    ASSERT_EQ(::read(ready[0], &done, 1), 1);
    ASSERT_EQ(done, 'y');
    const auto refused = StoreLock::take(folder.file("x"), server());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("kid (pid " + std::to_string(child) + ")"),
              std::string::npos)
        << refused.error().message;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(StoreLock::take(folder.file("x"), server()));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(store_lock, knows_a_file_by_all_its_names) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    std::filesystem::create_symlink("store.db", folder.file("link.db"));
    std::filesystem::create_directory(folder.file("sub"));
    for (const std::string name : {"store.db", "link.db", "sub/../store.db", "./store.db"}) {
        const auto second = open_store("sqlite:" + folder.file(name));
        ASSERT_FALSE(second) << name;
        EXPECT_EQ(second.error().code, ErrorCode::unavailable) << second.error().message;
        EXPECT_NE(second.error().message.find("held by"), std::string::npos)
            << second.error().message;
    }
}

TEST(store_lock, a_store_is_not_opened_under_a_second_name_of_its_file) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    std::filesystem::create_hard_link(folder.file("store.db"), folder.file("other.db"));
    const auto second = open_store("sqlite:" + folder.file("other.db"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_NE(second.error().message.find("hard link"), std::string::npos)
        << second.error().message;
}

// A folder has as many names as it is mounted at; what is inside is the same.
TEST(store_lock, of_a_folder_lies_inside_of_it) {
    const TestFolder folder;
    const auto store = open_good("files:" + folder.file("store"));
    EXPECT_TRUE(std::filesystem::exists(folder.file("store/lock")));
    EXPECT_FALSE(std::filesystem::exists(folder.file("store.lock")));
    const auto second = open_store("files:" + folder.file("store"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable) << second.error().message;
}

TEST(store_lock, a_store_that_was_moved_away_takes_no_writes) {
    for (const std::string kind : {"sqlite:", "files:"}) {
        const TestFolder folder;
        const auto store = open_good(kind + folder.file("store"));
        ASSERT_TRUE(store->append({"t", "c"}, batch_of("before")));
        std::filesystem::rename(folder.file("store"), folder.file("elsewhere"));
        const auto refused = store->append({"t", "c"}, batch_of("lost"));
        ASSERT_FALSE(refused) << kind;
        EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().message;
        std::filesystem::rename(folder.file("elsewhere"), folder.file("store"));
        EXPECT_TRUE(store->append({"t", "c"}, batch_of("back again"))) << kind;
    }
}

TEST(store_lock, is_had_by_one_of_many_that_want_it_at_once) {
    const TestFolder folder;
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> holders = 0, most = 0, served = 0;
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                for (int attempt = 0; attempt < 5; ++attempt) {
                    const auto lock = StoreLock::take(folder.file("x"), server());
                    if (!lock) continue;
                    const int now = ++holders;
                    if (now > most) most = now;
                    ++served;
                    --holders;
                }
            });
        threads.clear();
        EXPECT_EQ(most, 1);
        EXPECT_GT(served, 0);
    }
}

}  // namespace
}  // namespace palimpsest
