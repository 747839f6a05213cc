// A copy into a store on a server that is made again, after the source has gone on.
#include "store/copy.h"

#include "base/hash.h"
#include "live/live.h"

namespace palimpsest::testing_support {
namespace {

Batch told(const std::string& text) {
    Batch batch = says(text);
    auto& message = std::get<MessageEntry>(batch.entries.front().body);
    message.message.fingerprint = hash_bytes(text);
    return batch;
}

TEST(live, a_copy_again_brings_fields_and_scrubs_and_leaves_what_went_another_way) {
    const auto from = open_good("memory:?ttl=0"), to = open_good(unique(running().url()));
    const ConversationId kept{"t", "kept"}, split{"t", "split"};
    const LogId log = from->append(kept, told("one"))->header.log;
    ASSERT_TRUE(from->append(split, told("one")));
    ASSERT_EQ(copy_store(*from, *to, {})->conversations, 2U);
    Body removed = told("[removed]").entries.front().body;
    std::get<MessageEntry>(removed).scrubbed = true;
    const std::vector<Replacement> scrub{{log, Seq{1}, removed}};
    ASSERT_TRUE(from->scrub(scrub));
    ASSERT_TRUE(from->append(split, told("hers")));
    ASSERT_TRUE(to->append(split, told("his")));
    for (const std::string title : {"first", "second"}) {
        Batch patch;
        patch.patch = {.owner = "ann", .title = title, .metadata_merge = R"({"k":1})"};
        patch.patch.ttl = std::chrono::hours(title.size());
        ASSERT_TRUE(from->append(kept, patch));
        const auto report = copy_store(*from, *to, {});
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_EQ(report->headers, 1U);
        ASSERT_EQ(report->failures.size(), 1U);
        EXPECT_EQ(report->failures[0].error.code, ErrorCode::conflict);
        EXPECT_EQ(to->head(kept)->title, title);
        EXPECT_EQ(to->head(kept)->ttl, from->head(kept)->ttl);
        EXPECT_EQ(to->head(kept)->updated, from->head(kept)->updated);
    }
    EXPECT_EQ(texts_of(*to, kept), std::vector<std::string>{"[removed]"});
    EXPECT_EQ(texts_of(*to, split), (std::vector<std::string>{"one", "his"}));
}

}  // namespace
}  // namespace palimpsest::testing_support
