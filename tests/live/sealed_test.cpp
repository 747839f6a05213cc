// An encrypted store on a server: its keys change, and what one of our servers sweeps away is never
// the key of what another begins.
#include <thread>

#include "live/live.h"
#include "store/copy.h"
#include "store/sealed_store.h"

namespace palimpsest::testing_support {
namespace {

const std::string old_key = "env:PAL_LIVE_KEY_A", new_key = "env:PAL_LIVE_KEY_B";

void set_keys() {
    ::setenv("PAL_LIVE_KEY_A", std::string(64, 'a').c_str(), 1);
    ::setenv("PAL_LIVE_KEY_B", std::string(64, 'b').c_str(), 1);
}

std::unique_ptr<Store> open_sealed(const std::string& url, const std::string& keys) {
    auto store = open_store(url, {.encryption_key = keys});
    if (store) return std::move(*store);
    ADD_FAILURE() << store.error().message;
    std::abort();
}

TEST(live, the_keys_of_an_encrypted_store_change) {
    set_keys();
    const std::string url = unique(running().url());
    {
        const auto store = open_sealed(url, old_key);
        for (const char* tenant : {"t", "u"}) ASSERT_TRUE(store->append({tenant, "a"}, says("1")));
    }
    const auto inner = open_store(url, {.create = false, .raw = true});
    const auto masters = read_master_keys(new_key + "," + old_key);
    EXPECT_EQ(SealedStore::rotate(**inner, *masters)->changed, 3U) << "two logs and the store";
    EXPECT_FALSE(open_store(url, {.encryption_key = old_key}));
    const auto store = open_sealed(url, new_key);
    for (const char* tenant : {"t", "u"})
        EXPECT_EQ(texts_of(*store, {tenant, "a"}), std::vector<std::string>{"1"});
}

TEST(live, the_master_key_changes_beside_a_server_that_writes) {
    set_keys();
    const std::string url = unique(running().url());
    std::vector<std::string> acknowledged;
    std::string refused;
    std::atomic<bool> changed = false;
    std::jthread server([&, store = std::shared_ptr<Store>(open_sealed(url, old_key))] {
        for (int i = 0; refused.empty(); ++i) {
            const std::string id = "a" + std::to_string(i);
            const bool late = changed;
            const auto made = store->append({"t", id}, says(id));
            if (made) acknowledged.push_back(id);
            if (!made) refused = made.error().message;
            EXPECT_FALSE(made && late) << "after the change";
        }
    });
    const auto inner = open_store(url, {.create = false, .raw = true});
    const auto done = SealedStore::rotate(**inner, *read_master_keys(new_key + "," + old_key));
    changed = true;
    server.join();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_NE(refused.find("start it again with the new key"), std::string::npos) << refused;
    const auto store = open_sealed(url, new_key);
    for (const std::string& id : acknowledged)
        EXPECT_EQ(texts_of(*store, {"t", id}), std::vector<std::string>{id});
    EXPECT_EQ(store->check({})->findings.size(), 0U);
}

TEST(live, a_store_with_plain_content_is_not_encrypted_half_way) {
    set_keys();
    const std::string url = unique(running().url());
    ASSERT_TRUE(open_good(url)->append({"t", "a"}, says("plain")));
    const auto refused = open_store(url, {.encryption_key = old_key});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_request) << refused.error().message;
}

TEST(live, all_tenants_are_copied_when_none_is_named) {
    const auto from = open_good(unique(running().url())), to = open_good(unique(running().url()));
    for (const char* tenant : {"t", "u"}) {
        ASSERT_TRUE(from->append({tenant, "a"}, says(tenant)));
        ASSERT_TRUE(from->put_record({.key = {tenant, "s", "k"}, .value = tenant}));
    }
    const auto report = copy_store(*from, *to, {});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->conversations, 2U);
    EXPECT_EQ(report->records, 2U);
    EXPECT_EQ(texts_of(*to, {"u", "a"}), std::vector<std::string>{"u"});
}

TEST(live, a_sweep_never_takes_the_key_of_what_another_server_begins) {
    set_keys();
    const std::string url = unique(running().url());
    constexpr int conversations = 60;
    std::atomic<bool> done = false;
    std::jthread sweeper([&] {
        const auto store = open_sealed(url, old_key);
        for (int i = 0; !done; ++i) {
            Batch batch = says("short");
            batch.patch.ttl.emplace(Duration(1));
            (void)store->append({"t", "short" + std::to_string(i)}, batch);
            std::this_thread::sleep_for(Duration(2));
            EXPECT_TRUE(store->sweep(100));
        }
    });
    {
        const auto store = open_sealed(url, old_key);
        for (int i = 0; i < conversations; ++i) {
            const auto made = store->append({"t", "a" + std::to_string(i)}, says("kept"));
            ASSERT_TRUE(made) << made.error().message;
        }
    }
    done = true;
    sweeper.join();
    const auto store = open_sealed(url, old_key);
    for (int i = 0; i < conversations; ++i)
        EXPECT_EQ(texts_of(*store, {"t", "a" + std::to_string(i)}),
                  std::vector<std::string>{"kept"});
}

}  // namespace
}  // namespace palimpsest::testing_support
