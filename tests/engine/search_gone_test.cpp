// Searches while conversations come and go: what is gone is not in the answer, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>

#include "palimpsest/search.h"
#include "support/engine.h"
#include "support/wrapped_store.h"

namespace palimpsest {
namespace {

using namespace testing_support;

const ConversationId carol{"t", "carol"};

// Erases conversations before a call of its choice, as another process would.
class ErasingStore final : public WrappedStore {
public:
    ErasingStore(std::unique_ptr<Store> inner, std::vector<ConversationId> victims)
        : WrappedStore(*inner, traffic_), inner_(std::move(inner)), victims_(std::move(victims)) {}

    Result<Header> head(const ConversationId& name) override {
        step();
        return WrappedStore::head(name);
    }
    Result<Header> head(const LogId& log) override {
        step();
        return WrappedStore::head(log);
    }
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override {
        step();
        return WrappedStore::read(log, query);
    }
    Result<Record> get_record(const RecordKey& key) override {
        step();
        return WrappedStore::get_record(key);
    }
    void erase_in(int steps) { left_ = steps; }
    bool has_erased() const { return left_ <= 0; }

private:
    void step() {
        if (left_ <= 0 || --left_ > 0) return;
        for (const ConversationId& name : victims_) EXPECT_TRUE(inner_->erase(name).has_value());
    }

    Traffic traffic_;
    std::unique_ptr<Store> inner_;
    std::vector<ConversationId> victims_;
    int left_ = 0;
};

class OneDirection final : public Embedder {
public:
    std::string model() const override { return "one"; }
    std::size_t dimension() const override { return 1; }
    Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts) override {
        return std::vector<std::vector<float>>(texts.size(), {1.0F});
    }
};

// What a search finds when bob, and his fork carol, go before its n-th step; for every n.
template <class Check>
void search_with_erasures(const SearchRequest& request, bool known, bool vectors, Check check) {
    for (int n = 1;; ++n) {
        auto store = std::make_unique<ErasingStore>(memory_store(), std::vector{bob, carol});
        ErasingStore& erasing = *store;
        MemoryOptions options;
        if (vectors) options.embedder = std::make_shared<OneDirection>();
        Memory memory(std::move(store), options);
        for (const ConversationId& name : {alice, bob})
            ASSERT_TRUE(memory.append(name, {.messages = user("the gate to Oslo")}).has_value());
        ASSERT_TRUE(memory.fork(bob, carol).has_value());
        ASSERT_TRUE(memory.append(carol, {.messages = user("another gate")}).has_value());
        if (known) {
            ASSERT_TRUE(memory.search(request).has_value());
        }
        erasing.erase_in(n);
        check(memory.search(request), n);
        if (!erasing.has_erased()) return;
    }
}

TEST(search_gone, a_conversation_that_is_erased_meanwhile_is_just_not_there) {
    for (const bool known : {false, true})
        for (const bool vectors : {false, true})
            for (const auto in_view : {std::optional<bool>(), std::optional(true)}) {
                SearchRequest request{.tenant = "t", .query = "gate"};
                request.in_view = in_view;
                search_with_erasures(
                    request, known, vectors, [](const Result<SearchPage>& page, int n) {
                        ASSERT_TRUE(page.has_value()) << n << ": " << page.error().message;
                        EXPECT_TRUE(std::ranges::any_of(page->hits, [](const SearchHit& hit) {
                            return hit.name == alice;
                        })) << n;
                    });
            }
}

TEST(search_gone, only_the_conversation_that_is_named_is_not_found) {
    SearchRequest request{.tenant = "t", .query = "gate", .conversation_id = "bob"};
    search_with_erasures(request, false, false, [](const Result<SearchPage>& page, int n) {
        EXPECT_TRUE(page || page.error().code == ErrorCode::not_found) << n;
        EXPECT_FALSE(page && n == 1);
    });
}

TEST(search_gone, a_fork_that_stays_has_what_it_shares) {
    auto store = std::make_unique<ErasingStore>(memory_store(), std::vector{bob});
    ErasingStore& erasing = *store;
    Memory memory(std::move(store));
    ASSERT_TRUE(memory.append(bob, {.messages = user("the gate to Oslo")}).has_value());
    ASSERT_TRUE(memory.fork(bob, carol).has_value());
    ASSERT_TRUE(memory.append(bob, {.messages = user("something else")}).has_value());
    ASSERT_TRUE(memory.search({.tenant = "t", .query = "gate"}).has_value());
    erasing.erase_in(1);
    const auto page = memory.search({.tenant = "t", .query = "gate"});
    ASSERT_TRUE(page.has_value()) << page.error().message;
    ASSERT_EQ(page->hits.size(), 1u);
    EXPECT_EQ(page->hits[0].name, carol);
}

TEST(search_gone, reindexing_goes_on_without_it) {
    for (int n = 1;; ++n) {
        auto store = std::make_unique<ErasingStore>(memory_store(), std::vector{bob, carol});
        ErasingStore& erasing = *store;
        Memory memory(std::move(store));
        for (const ConversationId& name : {alice, bob})
            ASSERT_TRUE(memory.append(name, {.messages = user("the gate to Oslo")}).has_value());
        ASSERT_TRUE(memory.fork(bob, carol).has_value());
        erasing.erase_in(n);
        const auto done = memory.reindex({.tenant = "t"});
        ASSERT_TRUE(done.has_value()) << n << ": " << done.error().message;
        EXPECT_GE(done->messages, 1u);
        if (!erasing.has_erased()) return;
    }
}

}  // namespace
}  // namespace palimpsest
