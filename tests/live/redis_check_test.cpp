// What doctor finds by looking at the keys of a Redis store, and what it can put right.
#include <algorithm>

#include "base/ids.h"
#include "live/live.h"
#include "store/copy.h"

namespace palimpsest::testing_support {
namespace {

// The conversations "a", of bob, and "b", a fork of it, and a record; and a way to their keys.
class LostKeys {
public:
    LostKeys() : url_(unique(running().redis->url())), store(open_good(url_)) {
        Batch batch = says("one");
        batch.patch.owner = "bob";
        EXPECT_TRUE(store->append({"t", "a"}, batch));
        log = store->append({"t", "a"}, says("two"))->header.log;
        Batch fork;
        fork.fork = ForkPoint{.parent = log, .at = Seq{1}, .messages = 1};
        fork.entries = says("other").entries;
        EXPECT_TRUE(store->append({"t", "b"}, fork));
        EXPECT_TRUE(store->append({"u", "c"}, says("of another tenant")));
        EXPECT_TRUE(store->put_record({.key = {"t", "s", "k"}, .value = "v"}));
        EXPECT_EQ(told(store->check({})), std::vector<std::string>{});
    }
    // `words` with the prefix for P and the uid of "a" for UID.
    void run(std::string words) {
        const std::string prefix = url_.substr(url_.find("prefix=") + 7);
        for (const auto& [word, text] :
             {std::pair{std::string("P:"), prefix + ":"}, {"UID", hex(log)}})
            for (std::size_t at = words.find(word); at != words.npos;
                 at = words.find(word, at + text.size()))
                words.replace(at, word.size(), text);
        (void)output_of("redis-cli -p " + std::to_string(running().redis->port()) + " " + words);
        store = open_good(url_);  // another process, which remembers nothing
    }
    // Findings as WHAT of WHERE.
    static std::vector<std::string> told(const Result<CheckReport>& report) {
        std::vector<std::string> found;
        for (const Finding& one : report->findings) found.push_back(one.what + " " + one.where);
        std::ranges::sort(found);
        return found;
    }
    std::vector<std::string> check() { return told(store->check({})); }
    std::vector<std::string> repair() { return told(store->repair({})); }
    std::size_t listed(const std::string& tenant, SortBy sort) {
        return store->list({.tenant = tenant, .sort = sort})->headers.size();
    }

private:
    std::string url_;

public:
    std::unique_ptr<Store> store;
    LogId log;
};

using Told = std::vector<std::string>;

TEST(redis_check, finds_and_mends_listings_that_are_lost) {
    LostKeys keys;
    keys.run("del 'P:{i/t}:c' 'P:{i/t}:u' 'P:{i/t}:a' 'P:{i/t}:o:bob'");
    EXPECT_EQ(keys.listed("t", SortBy::created), 0U);
    EXPECT_EQ(keys.check(), (Told{"listing a", "listing b"}));
    EXPECT_EQ(keys.listed("t", SortBy::created), 0U) << "only told";
    EXPECT_EQ(keys.store->check({})->entries, 4U) << "what is not listed is read all the same";
    EXPECT_EQ(keys.repair(), (Told{"listing a", "listing b"}));
    EXPECT_EQ(keys.check(), Told{});
    for (const SortBy sort : {SortBy::created, SortBy::updated, SortBy::accessed})
        EXPECT_EQ(keys.listed("t", sort), 2U);
    EXPECT_EQ(keys.store->list({.tenant = "t", .owner = "bob"})->headers.size(), 1U);
}

TEST(redis_check, finds_and_mends_names_and_pointers_that_are_lost) {
    for (const char* name : {"a", "b"}) {
        LostKeys keys;
        keys.run(std::string("del 'P:{t/") + name + "}:n'");
        EXPECT_FALSE(keys.store->head(ConversationId{"t", name}));
        EXPECT_EQ(keys.check(), Told{std::string("name ") + name});
        EXPECT_EQ(keys.repair(), Told{std::string("name ") + name});
        EXPECT_EQ(keys.check(), Told{});
        EXPECT_EQ(texts_of(*keys.store, {"t", name}).size(), 2U);
        EXPECT_TRUE(keys.store->append({"t", name}, says("goes on")));
        EXPECT_EQ(texts_of(*keys.store, {"t", name}).size(), 3U);
    }
    LostKeys keys;
    keys.run("del 'P:{UID}:u'");
    EXPECT_FALSE(keys.store->read(keys.log, {}));
    EXPECT_EQ(keys.repair(), Told{"pointer a"});
    EXPECT_EQ(keys.check(), Told{});
    EXPECT_TRUE(keys.store->read(keys.log, {}));
}

TEST(redis_check, a_name_that_another_took_meanwhile_is_told_and_left_alone) {
    LostKeys keys;
    keys.run("del 'P:{t/a}:n'");
    ASSERT_TRUE(keys.store->append({"t", "a"}, says("begun anew")));
    EXPECT_EQ(keys.check(), Told{"name a"});
    EXPECT_EQ(keys.repair(), Told{"name a"});
    EXPECT_EQ(texts_of(*keys.store, {"t", "a"}), std::vector<std::string>{"begun anew"});
}

TEST(redis_check, entries_whose_header_is_lost_are_found) {
    LostKeys keys;
    keys.run("del 'P:{t/a}:h:UID'");
    const auto head = keys.store->head(ConversationId{"t", "a"});
    const auto appended = keys.store->append({"t", "a"}, says("three"));
    ASSERT_FALSE(head || appended) << "it is not absent";
    EXPECT_EQ(head.error().code, ErrorCode::internal) << head.error().message;
    EXPECT_EQ(appended.error().code, ErrorCode::internal) << appended.error().message;
    const Told found = keys.check();
    EXPECT_EQ(std::ranges::count(found, "orphan a"), 1) << found.size() << " in all";
    const auto report = keys.store->check({});
    const bool counted = std::ranges::any_of(report->findings, [](const Finding& one) {
        return one.message.find("2 entries of it are there") != std::string::npos;
    });
    EXPECT_TRUE(counted);
}

TEST(redis_check, metadata_that_is_no_json_is_told_and_emptied_when_asked) {
    for (const std::string metadata : {"x", "'[1]'", "''", "'{\"a\":'"}) {
        LostKeys keys;
        keys.run("hset 'P:{t/a}:h:UID' metadata " + metadata);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(keys.check(), Told{"metadata a"}) << metadata;
        EXPECT_EQ(keys.repair(), Told{"metadata a"}) << metadata;
        EXPECT_EQ(keys.check(), Told{}) << metadata;
        EXPECT_EQ(keys.store->head(ConversationId{"t", "a"})->metadata, "{}") << metadata;
        Batch batch;
        batch.patch.metadata_merge = R"({"topic":"birds"})";
        EXPECT_TRUE(keys.store->append({"t", "a"}, batch)) << metadata;
    }
}

TEST(redis_check, counts_records_and_mends_their_order) {
    LostKeys keys;
    EXPECT_EQ(keys.store->check({})->records, 1U);
    keys.run("del 'P:{r/t/s}:z'");
    EXPECT_EQ(keys.store->list_records({.tenant = "t", .space = "s"})->size(), 0U);
    EXPECT_EQ(keys.repair(), Told{"records t/s"});
    EXPECT_EQ(keys.store->list_records({.tenant = "t", .space = "s"})->size(), 1U);
    EXPECT_EQ(keys.check(), Told{});
}

TEST(redis_check, looks_at_one_tenant_when_one_is_named) {
    LostKeys keys;
    keys.run("del 'P:{i/t}:c' 'P:{i/u}:c'");
    const std::string tenants[] = {"u"};
    EXPECT_EQ(LostKeys::told(keys.store->check(tenants)), Told{"listing c"});
    EXPECT_EQ(keys.check(), (Told{"listing a", "listing b", "listing c"}));
}

// The listings are written after the header: a writer may have died between.
TEST(redis_check, a_copy_has_what_the_listings_lack) {
    LostKeys keys;
    for (const char* set : {"c", "u", "a", "o:bob"})
        keys.run("zrem 'P:{i/t}:" + std::string(set) + "' 'UID t/a'");
    const auto unlisted = keys.store->unlisted(std::vector<std::string>{"t"});
    ASSERT_EQ(unlisted->size(), 1U);
    EXPECT_EQ(unlisted->front().name.id, "a");
    EXPECT_EQ(unlisted->front().damage, "");
    const auto to = open_good("memory:?ttl=0");
    const auto report = copy_store(*keys.store, *to, {});
    EXPECT_EQ(report->conversations, 3U);
    EXPECT_EQ(report->failures.size(), 0U);
    EXPECT_EQ(texts_of(*to, {"t", "a"}), (Told{"one", "two"}));
}

TEST(redis_check, a_copy_names_what_it_cannot_read) {
    LostKeys keys;
    keys.run("del 'P:{t/a}:h:UID'");
    const auto to = open_good("memory:?ttl=0");
    const auto report = copy_store(*keys.store, *to, {.tenants = {"t"}});
    Told failed;
    for (const CopyFailure& one : report->failures) failed.push_back(one.what);
    EXPECT_EQ(failed, (Told{"a", "b"})) << "b is a fork of a";
    EXPECT_EQ(report->failures[0].error.code, ErrorCode::internal);
}

}  // namespace
}  // namespace palimpsest::testing_support
