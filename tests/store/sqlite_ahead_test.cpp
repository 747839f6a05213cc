// What SQLite's store tells of a batch that is written and not yet synced. That it survives a kill
// is for store_kill_test.py.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
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
TEST(sqlite_ahead, tells_of_a_batch_once_the_files_have_it) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    for (const char* text : {"one", "two", "three"}) {
        const TestFolder copy;
        int told = 0;
        const auto done = store->append_ahead(alice, batch_of(text), [&](const Appended&) {
            ++told;
            for (const char* name : {"store.db", "store.db-wal"})
                std::filesystem::copy_file(folder.file(name), copy.file(name));
        });
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(told, 1);
        EXPECT_EQ(all_texts(*open_good(copy.url()), alice), all_texts(*store, alice));
    }
}

TEST(sqlite_ahead, lets_nobody_read_what_is_not_synced) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    ASSERT_TRUE(store->append(alice, batch_of("one")));
    std::string seen;
    ASSERT_TRUE(store->append_ahead(alice, batch_of("two"), [&](const Appended&) {
        std::jthread([&] { seen = all_texts(*store, alice); });
    }));
    EXPECT_EQ(seen, "one ");
    EXPECT_EQ(all_texts(*store, alice), "one two ");
}

TEST(sqlite_ahead, tells_a_repeat_what_was_stored_or_nothing) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    Batch batch = batch_of("one");
    batch.key = "k";
    ASSERT_TRUE(store->append(alice, batch));
    const auto done =
        store->append_ahead(alice, batch, [&](const Appended& ahead) { EXPECT_TRUE(ahead.again); });
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->again);
    EXPECT_EQ(done->last, Seq{1});
}

TEST(sqlite_ahead, tells_nobody_when_nothing_is_synced) {
    const TestFolder folder;
    const auto store = open_good(folder.url() + "?sync=off");
    int told = 0;
    ASSERT_TRUE(store->append_ahead(alice, batch_of("one"), [&](const Appended&) { ++told; }));
    EXPECT_EQ(told, 0);
}

TEST(sqlite_ahead, tells_all_of_a_shared_commit) {
    const TestFolder folder;
    auto opened = SqliteStore::open({.path = folder.file("store.db")});
    ASSERT_TRUE(opened) << opened.error().message;
    constexpr int writers = 8, each = 40;
    std::atomic<int> told = 0, failed = 0;
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            const ConversationId own{"t", std::to_string(w)};
            for (int i = 0; i < each; ++i) {
                int mine = 0;
                const auto tell = [&](const Appended& ahead) {
                    mine += ahead.last == Seq{static_cast<std::uint64_t>(i) + 1} ? 1 : 100;
                };
                if (!(*opened)->append_ahead(own, batch_of("x"), tell)) ++failed;
                told += mine;
            }
        });
    threads.clear();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(told, writers * each);
    EXPECT_LT((*opened)->commits(), std::uint64_t{writers * each});
}

}  // namespace
}  // namespace palimpsest
