// Search over stores on servers: the same messages are found in the same order as in memory, and go
// with what was scrubbed, erased or has expired.
#include "palimpsest/search.h"

#include <thread>

#include "live/live.h"
#include "palimpsest/memory.h"
#include "support/engine.h"

namespace palimpsest::testing_support {
namespace {

void talk(Memory& memory) {
    const char* subjects[] = {"cat", "dog", "train", "gate", "ticket"};
    for (int c = 0; c < 2; ++c) {
        std::string all;
        for (int i = 0; i < 40; ++i) {
            const std::string text = std::string("The ") + subjects[(i * 7 + c) % 5] + " number " +
                                     std::to_string(i % 6) + " waits";
            all += (all.empty() ? "[" : ",") + (i % 2 ? assistant(text) : user(text));
        }
        ASSERT_TRUE(memory.append({"t", "c" + std::to_string(c)}, {.messages = all + "]"}));
    }
}

std::vector<double> scores(Memory& memory, const std::string& query) {
    const auto page = memory.search({.tenant = "t", .query = query, .limit = 30});
    EXPECT_TRUE(page.has_value()) << (page ? "" : page.error().message);
    std::vector<double> out;
    if (page)
        for (const SearchHit& hit : page->hits) out.push_back(hit.score);
    return out;
}

TEST(live, search_ranks_as_in_memory_also_after_a_restart) {
    const std::string url = unique(running().url());
    Memory here(memory_store());
    talk(here);
    const auto expected = scores(here, "did the cat number 3 find the gate?");
    EXPECT_EQ(expected.size(), 30u);
    {
        Memory there(open_good(url));
        talk(there);
        EXPECT_EQ(scores(there, "did the cat number 3 find the gate?"), expected);
    }
    Memory again(open_good(url));
    EXPECT_EQ(scores(again, "did the cat number 3 find the gate?"), expected);
}

TEST(live, search_sees_another_servers_writes_and_forgets_what_it_removes) {
    const std::string url = unique(running().url());
    Memory first(open_good(url)), second(open_good(url));
    ASSERT_TRUE(first.append(alice, {.messages = user("a zanzibar cruise")}));
    EXPECT_EQ(scores(second, "zanzibar").size(), 1u);
    ASSERT_TRUE(first.append(alice, {.messages = user("zanzibar again")}));
    EXPECT_EQ(scores(second, "zanzibar").size(), 2u);
    ASSERT_TRUE(first.scrub(alice, {Seq{1}}).has_value());
    EXPECT_EQ(scores(second, "zanzibar").size(), 1u);
    ASSERT_TRUE(first.erase(alice).has_value());
    EXPECT_EQ(scores(second, "zanzibar").size(), 0u);
    const auto records = second.store().list_records({.tenant = "t", .space = "search"});
    ASSERT_TRUE(records.has_value());
    EXPECT_TRUE(records->empty());
}

}  // namespace
}  // namespace palimpsest::testing_support
