// What the memory store does beyond the port: its defaults, its cap, what it shares.
#include "store/memory_store.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "store/lineage.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

struct MemoryStoreTest : testing::Test {
    Time now{std::chrono::milliseconds(1'800'000'000'000)};
    std::unique_ptr<Store> store;

    void open(std::string_view url) {
        auto opened = open_store(url, {.clock = [this] { return now; }});
        ASSERT_TRUE(opened) << opened.error().message;
        store = std::move(*opened);
    }
    Header say(const std::string& id, const std::string& text = "hello") {
        const Body body = MessageEntry{.message = {.raw = make_bytes(text)}};
        return store->append({"t", id}, {.entries = {{body}}})->header;
    }
    bool has(const std::string& id) { return store->head({"t", id}).has_value(); }
    std::size_t count() { return store->list({.tenant = "t", .limit = SIZE_MAX})->headers.size(); }
};

TEST_F(MemoryStoreTest, forgets_a_conversation_after_an_hour_by_default) {
    open("memory:");
    EXPECT_EQ(say("a").ttl, 1h);
    now += 1h - 1ms;
    EXPECT_TRUE(has("a"));
    now += 1ms;
    EXPECT_FALSE(has("a"));
}

TEST_F(MemoryStoreTest, takes_its_time_to_live_from_the_url) {
    open("memory:?ttl=5m");
    EXPECT_EQ(say("a").ttl, 5min);
    open("memory:?ttl=0");
    EXPECT_EQ(say("a").ttl, std::nullopt);
    now += 24h * 365;
    EXPECT_TRUE(has("a"));
}

TEST_F(MemoryStoreTest, keeps_ten_thousand_conversations_by_default) {
    open("memory:");
    for (int i = 0; i < 10'001; ++i) say("c" + std::to_string(i));
    EXPECT_EQ(count(), 10'000U);
    EXPECT_FALSE(has("c0"));
    EXPECT_TRUE(has("c1"));
}

TEST_F(MemoryStoreTest, keeps_any_number_when_the_cap_is_off) {
    open("memory:?max=0&ttl=0");
    for (int i = 0; i < 10'050; ++i) say("c" + std::to_string(i));
    EXPECT_EQ(count(), 10'050U);
}

TEST_F(MemoryStoreTest, evicts_the_least_recently_accessed) {
    open("memory:?max=3");
    for (const char* id : {"a", "b", "c"}) say(id);
    ASSERT_TRUE(store->append({"t", "a"}, {}));
    ASSERT_TRUE(store->head({"t", "b"}));  // looking is no access
    say("d");
    EXPECT_TRUE(has("a") && has("c") && has("d"));
    EXPECT_FALSE(has("b"));
}

TEST_F(MemoryStoreTest, evicts_nothing_for_an_update) {
    open("memory:?max=2");
    say("a");
    say("b");
    for (int i = 0; i < 10; ++i) say("a");
    EXPECT_TRUE(has("a") && has("b"));
}

TEST_F(MemoryStoreTest, never_evicts_the_one_just_created) {
    open("memory:?max=1");
    for (const char* id : {"a", "b", "c"}) {
        say(id);
        EXPECT_TRUE(has(id));
        EXPECT_EQ(count(), 1U);
    }
}

TEST_F(MemoryStoreTest, evicts_nothing_for_a_batch_that_is_refused) {
    open("memory:?max=1");
    say("a");
    EXPECT_FALSE(store->append({"t", "b"}, {.expected_end = Seq{5}}));
    EXPECT_FALSE(store->append({"t", "b"}, {.patch = {.metadata_merge = "no"}}));
    EXPECT_TRUE(has("a"));
}

TEST_F(MemoryStoreTest, forks_at_capacity_and_keeps_what_is_shared) {
    open("memory:?max=1");
    const Header parent = say("a", "shared");
    ASSERT_TRUE(store->append({"t", "b"}, {.fork = *fork_point(*store, parent, Seq{1})}));
    EXPECT_FALSE(has("a"));
    const auto entries = read_lineage(*store, *store->head({"t", "b"}), {});
    ASSERT_EQ(entries->size(), 1U);
    EXPECT_EQ(view_of(std::get<MessageEntry>(entries->front().body).message.raw), "shared");
}

TEST_F(MemoryStoreTest, gives_an_evicted_id_nothing_of_its_past) {
    open("memory:?max=1");
    ASSERT_TRUE(
        store->append({"t", "a"}, {.patch = {.owner = "ann", .metadata_merge = "{\"k\":1}"}}));
    say("b");
    const Header anew = say("a");
    EXPECT_EQ(anew.end, Seq{1});
    EXPECT_EQ(anew.owner, "");
    EXPECT_EQ(anew.metadata, "{}");
    EXPECT_TRUE(store->list({.tenant = "t", .owner = "ann"})->headers.empty());
}

TEST_F(MemoryStoreTest, makes_room_for_an_expired_name_without_evicting) {
    open("memory:?max=2&ttl=10s");
    say("a");
    now += 5s;
    say("b");
    now += 5s;
    say("a");
    EXPECT_TRUE(has("a") && has("b"));
}

TEST_F(MemoryStoreTest, sweeps_what_has_expired_and_counts_it) {
    open("memory:?ttl=10s&max=0");
    for (int i = 0; i < 7; ++i) say("c" + std::to_string(i));
    now += 5s;
    say("late");
    now += 5s;
    EXPECT_EQ(*store->sweep(3), 3U);
    EXPECT_EQ(*store->sweep(100), 4U);
    EXPECT_EQ(*store->sweep(100), 0U);
    EXPECT_TRUE(has("late"));
}

TEST_F(MemoryStoreTest, keeps_the_cap_exactly_while_many_threads_create) {
    open("memory:?max=50&ttl=0");
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 200; ++i)
                    say("c" + std::to_string(t) + "_" + std::to_string(i));
            });
    }
    EXPECT_EQ(count(), 50U);
}

TEST_F(MemoryStoreTest, shares_what_was_said_instead_of_copying_it) {
    open("memory:");
    const Bytes raw = make_bytes("hello");
    const Header header =
        store->append({"t", "a"}, {.entries = {{MessageEntry{.message = {.raw = raw}}}}})->header;
    const auto entries = store->read(header.log, {});
    EXPECT_EQ(std::get<MessageEntry>(entries->front().body).message.raw, raw);
}

TEST_F(MemoryStoreTest, survives_a_chain_of_ten_thousand_forks) {
    open("memory:?max=0");
    Header header = say("0");
    for (int i = 1; i < 10'000; ++i) {
        const ForkPoint at{.parent = header.log, .at = header.end, .messages = header.messages};
        const Body body = MessageEntry{};
        header = store->append({"t", std::to_string(i)}, {.fork = at, .entries = {{body}}})->header;
    }
    EXPECT_EQ(read_lineage(*store, header, {.content = false})->size(), 10'000U);
    EXPECT_EQ(store->erase({"t", "0"})->kept_for.size(), 9'999U);
}

TEST_F(MemoryStoreTest, refuses_what_is_too_large) {
    open("memory:");
    Batch batch{.entries = {{MessageEntry{
                    .message = {.raw = make_bytes(std::string(entry_bytes_max + 1, 'x'))}}}}};
    EXPECT_EQ(store->append({"t", "a"}, batch).error().code, ErrorCode::too_large);
    EXPECT_EQ(store->append({"t", "a"}, {.key = std::string(key_bytes_max + 1, 'k')}).error().code,
              ErrorCode::too_large);
    const std::string title(text_bytes_max + 1, 't');
    EXPECT_EQ(store->append({"t", "a"}, {.patch = {.title = title}}).error().code,
              ErrorCode::too_large);
    const std::string value(record_bytes_max + 1, 'v');
    EXPECT_EQ(store->put_record({.key = {"t", "s", "k"}, .value = value}).error().code,
              ErrorCode::too_large);
    EXPECT_FALSE(has("a"));
}

TEST_F(MemoryStoreTest, forgets_a_key_after_more_than_a_day) {
    open("memory:?ttl=0");
    const Batch batch{.key = "k", .entries = {{MessageEntry{}}}};
    ASSERT_TRUE(store->append({"t", "a"}, batch));
    now += 24h;
    EXPECT_TRUE(store->append({"t", "a"}, batch)->again);
    now += 1ms;
    EXPECT_FALSE(store->append({"t", "a"}, batch)->again);
}

TEST_F(MemoryStoreTest, says_that_it_is_gone_with_the_process) {
    open("memory:");
    EXPECT_FALSE(store->durability().process_killed);
    EXPECT_FALSE(store->durability().power_cut);
}

TEST(open_store, refuses_what_is_no_store) {
    for (const char* url : {"", "memory", "nothing:x", "mem:", ":memory:", "memory:path",
                            "memory:?cap=1", "memory:?max=many", "memory:?ttl=soon", "memory:?ttl"})
        EXPECT_EQ(open_store(url).error().code, ErrorCode::invalid_request) << url;
}

TEST(open_store, does_not_repeat_a_url_that_may_hold_a_password) {
    EXPECT_EQ(open_store("redys://:secret@host").error().message.find("secret"), std::string::npos);
}

TEST(open_store, reads_the_systems_clock_when_none_is_given) {
    const auto store = open_store("memory:");
    const Header header = (*store)->append({"t", "a"}, {})->header;
    EXPECT_GT(header.created, Time{std::chrono::milliseconds(1'700'000'000'000)});
}

TEST(memory_store, says_that_nothing_survives_the_process) {
    const auto store = open_store("memory:");
    EXPECT_FALSE((*store)->durability().process_killed);
    EXPECT_FALSE((*store)->durability().power_cut);
}

// The sweep needs nobody to touch what has expired.
TEST(memory_store, sweeps_in_the_background_when_told_how_often) {
    std::atomic<std::int64_t> now = 1'800'000'000'000;
    const auto clock = [&] { return Time(Duration(now.load())); };
    MemoryStore store({.ttl = std::chrono::seconds(1), .sweep = Duration(5), .clock = clock});
    ASSERT_TRUE(store.append({"t", "a"}, {}));
    now += 1000;
    while (!store.contents()->tenants.empty()) std::this_thread::sleep_for(Duration(1));
    MemoryStore lazy({.ttl = std::chrono::seconds(1), .sweep = Duration(0), .clock = clock});
    ASSERT_TRUE(lazy.append({"t", "a"}, {}));
    now += 1000;
    EXPECT_FALSE(lazy.head(ConversationId{"t", "a"}));
    EXPECT_EQ(lazy.contents()->tenants.size(), 1U);
    EXPECT_EQ(lazy.sweep(10), 1U);
}

}  // namespace
}  // namespace palimpsest
