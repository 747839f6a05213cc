// Search ranks alike on every store, is right beside writers, and leaves nothing behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "palimpsest/search.h"
#include "support/engine.h"

namespace palimpsest {
namespace {

using namespace testing_support;

class SearchStores : public ::testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "pal_search_XXXXXX").string();
        folder = ::mkdtemp(name.data());
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::string folder;
};

void fill(Memory& memory) {
    const std::vector<std::string> subjects = {"cat", "dog", "train", "gate", "ticket"};
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 40; ++i) {
            const std::string text = "The " + subjects[static_cast<std::size_t>(i * 7 + c) % 5] +
                                     " number " + std::to_string(i % 6) + " waits";
            const std::string at =
                "2024-01-0" + std::to_string(1 + i / 10) + "T10:" + std::to_string(10 + i) + ":00Z";
            const std::string said = R"({"at":")" + at + R"(","message":)" +
                                     (i % 2 ? assistant(text) : user(text)) + "}";
            ASSERT_TRUE(
                memory.append({"t", "c" + std::to_string(c)}, {.messages = said}).has_value());
        }
}

std::vector<std::pair<std::string, double>> rows(Memory& memory, const std::string& query) {
    std::vector<std::pair<std::string, double>> out;
    const auto page = memory.search({.tenant = "t", .query = query, .limit = 30});
    EXPECT_TRUE(page.has_value());
    if (!page) return out;
    for (const SearchHit& hit : page->hits)
        out.emplace_back(hit.name.id + ":" + std::to_string(hit.seq.value), hit.score);
    // Of equal scores the order of conversations is the store's listing; times are the same here.
    std::ranges::sort(out, [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return out;
}

TEST_F(SearchStores, rank_alike) {
    const std::string key = folder + "/key";
    std::ofstream(key) << std::string(64, 'a');
    std::vector<std::pair<std::string, MemoryOptions>> stores(4);
    stores[0].first = "memory:?ttl=0&max=0";
    stores[1].first = "sqlite:" + folder + "/a.db";
    stores[2].first = "files:" + folder + "/files";
    stores[3].first = "sqlite:" + folder + "/sealed.db";
    stores[3].second.store.encryption_key = "file:" + key;
    std::vector<std::pair<std::string, double>> first;
    for (auto& [url, options] : stores) {
        auto memory = Memory::open(url, options);
        ASSERT_TRUE(memory.has_value()) << url << ": " << memory.error().message;
        fill(*memory);
        const auto found = rows(*memory, "did the cat number 3 find the gate?");
        EXPECT_FALSE(found.empty());
        if (first.empty()) first = found;
        EXPECT_EQ(found.size(), first.size()) << url;
        // Which of equals is shown is the listing's choice, their scores are not.
        for (std::size_t i = 0; i < std::min(found.size(), first.size()); ++i)
            EXPECT_DOUBLE_EQ(found[i].second, first[i].second) << url << " row " << i;
    }
}

TEST_F(SearchStores, nothing_of_an_encrypted_index_is_written) {
    const std::string key = folder + "/key";
    std::ofstream(key) << std::string(64, 'a');
    MemoryOptions options;
    options.store.encryption_key = "file:" + key;
    auto memory = Memory::open("sqlite:" + folder + "/sealed.db", options);
    ASSERT_TRUE(memory.has_value()) << memory.error().message;
    fill(*memory);
    ASSERT_TRUE(memory->reindex({.tenant = "t"}).has_value());
    const auto records = memory->store().list_records({.tenant = "t", .space = "search"});
    ASSERT_TRUE(records.has_value());
    EXPECT_TRUE(records->empty());
    EXPECT_FALSE(rows(*memory, "cat").empty());
}

TEST_F(SearchStores, finds_every_message_that_was_acknowledged_beside_writers) {
    auto memory = Memory::open("sqlite:" + folder + "/a.db");
    ASSERT_TRUE(memory.has_value());
    std::atomic<int> missing = 0;
    std::vector<std::thread> threads;
    for (int w = 0; w < 3; ++w)
        threads.emplace_back([&, w] {
            for (int i = 0; i < 25; ++i) {
                const std::string word = "qx" + std::string(1, static_cast<char>('a' + w)) +
                                         std::string(1, static_cast<char>('a' + i)) + "zk";
                const ConversationId name{"t", i % 2 ? "shared" : "own" + std::to_string(w)};
                if (!memory->append(name, {.messages = user("say " + word)}).has_value()) ++missing;
                const auto page = memory->search({.tenant = "t", .query = word});
                if (!page || page->hits.size() != 1) ++missing;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(missing, 0);
}

TEST_F(SearchStores, words_of_what_was_erased_are_in_no_file) {
    const std::string path = folder + "/a.db";
    {
        auto memory = Memory::open("sqlite:" + path);
        ASSERT_TRUE(memory.has_value());
        ASSERT_TRUE(memory->append(alice, {.messages = user("zanzibar rendezvous")}));
        ASSERT_TRUE(memory->reindex({.tenant = "t"}).has_value());
        ASSERT_TRUE(memory->erase(alice).has_value());
    }
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(file.path(), std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(in)), {});
        EXPECT_FALSE(bytes.contains("zanzibar")) << file.path();
        EXPECT_FALSE(bytes.contains("rendezvou")) << file.path();
    }
}

}  // namespace
}  // namespace palimpsest
