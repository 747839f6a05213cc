// What SQLite's store gives of a batch that is written and not yet synced. That it survives a kill
// is for store_kill_test.py.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "store/sqlite_fixture.h"
#include "store/sqlite_store.h"

namespace palimpsest {
namespace {

const ConversationId alice{"t", "alice"};

std::string all_texts(Store& store, const ConversationId& name) {
    const auto header = store.head(name);
    const auto entries = header ? store.read(header->log, {}) : std::vector<Entry>();
    std::string texts;
    for (const Entry& entry : entries.value()) texts += text_of(entry) + " ";
    return texts;
}

// From the first batch on, which begins the write-ahead log too.
TEST(sqlite_ahead, gives_a_batch_once_the_files_have_it) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    for (const char* text : {"one", "two", "three"}) {
        const TestFolder copy;
        auto ahead = store->append_ahead(alice, batch_of(text));
        ASSERT_TRUE(ahead) << ahead.error().message;
        for (const char* name : {"store.db", "store.db-wal"})
            std::filesystem::copy_file(folder.file(name), copy.file(name));
        ASSERT_TRUE(ahead->sync);
        EXPECT_TRUE(ahead->sync());
        EXPECT_EQ(all_texts(*open_good(copy.url()), alice), all_texts(*store, alice));
    }
}

TEST(sqlite_ahead, gives_a_repeat_what_is_synced_with_the_first_time) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    Batch batch = batch_of("one");
    batch.key = "k";
    auto first = store->append_ahead(alice, batch);
    ASSERT_TRUE(first && first->sync);
    auto repeat = store->append_ahead(alice, batch);
    ASSERT_TRUE(repeat && repeat->sync);
    EXPECT_TRUE(repeat->appended.again);
    EXPECT_EQ(repeat->appended.last, Seq{1});
    EXPECT_TRUE(repeat->sync());
    const auto late = store->append_ahead(alice, batch);
    ASSERT_TRUE(late);
    EXPECT_FALSE(late->sync);
    EXPECT_TRUE(first->sync());
}

TEST(sqlite_ahead, has_nothing_to_sync_behind_a_purge) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    auto ahead = store->append_ahead(alice, batch_of("one"));
    ASSERT_TRUE(store->append({"t", "bob"}, batch_of("two")));
    ASSERT_TRUE(store->erase({"t", "bob"}));
    EXPECT_TRUE(ahead->sync());
    EXPECT_EQ(all_texts(*store, alice), "one ");
}

TEST(sqlite_ahead, has_nothing_to_sync_in_a_store_that_syncs_nothing) {
    const TestFolder folder;
    const auto store = open_good(folder.url() + "?sync=off");
    const auto ahead = store->append_ahead(alice, batch_of("one"));
    ASSERT_TRUE(ahead);
    EXPECT_FALSE(ahead->sync);
}

TEST(sqlite_ahead, lets_a_reader_go_when_what_it_read_is_on_the_disk) {
    const TestFolder folder;
    ASSERT_TRUE(open_good(folder.url())->append(alice, batch_of("one")));
    int settled = 0;
    SqliteReaders readers(folder.file("store.db"), 1, [&] { ++settled; });
    {
        const auto loan = readers.borrow();
        ASSERT_TRUE(loan) << loan.error().message;
        EXPECT_EQ(settled, 0);
    }
    EXPECT_EQ(settled, 1);
    EXPECT_TRUE(readers.borrow());
    EXPECT_EQ(settled, 2);
}

TEST(sqlite_ahead, shares_syncs_among_threads_and_loses_nothing) {
    const TestFolder folder;
    constexpr int writers = 8, each = 40;
    {
        const auto store = open_good(folder.url());
        std::atomic<int> failed = 0;
        std::vector<std::jthread> threads;
        for (int w = 0; w < writers; ++w)
            threads.emplace_back([&, w] {
                const ConversationId own{"t", std::to_string(w)};
                for (int i = 0; i < each; ++i) {
                    auto ahead = store->append_ahead(own, batch_of(std::to_string(i).c_str()));
                    if (!ahead || (ahead->sync && !ahead->sync())) ++failed;
                }
            });
        threads.clear();
        EXPECT_EQ(failed, 0);
    }
    std::string all;
    for (int i = 0; i < each; ++i) all += std::to_string(i) + " ";
    const auto store = open_good(folder.url());
    for (int w = 0; w < writers; ++w) EXPECT_EQ(all_texts(*store, {"t", std::to_string(w)}), all);
}

}  // namespace
}  // namespace palimpsest
