// One damaged header of a SQLite store: the others are served, and there is a way out of it.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "faults/damaged_store.h"
#include "store/copy.h"

namespace palimpsest {
namespace {

class SqliteHeader : public testing::Test {
protected:
    SqliteHeader() {
        const auto store = open_good(folder_.url());
        for (const char* name : {"a", "b", "c"})
            for (const char* text : {"one", "two", "three"})
                EXPECT_TRUE(store->append({"t", name}, batch_of(text)));
        log_ = store->head(ConversationId{"t", "b"})->log;
    }
    void damage(const std::string& sql) const { damage_in(folder_, sql); }
    static void damage_in(const TestFolder& folder, const std::string& sql) {
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(folder.file("store.db").c_str(), &db), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
        sqlite3_close(db);
    }
    void fork_at_two() const {
        Batch batch = batch_of("of the fork");
        batch.fork = ForkPoint{.parent = log_, .at = Seq{2}, .messages = 2};
        ASSERT_TRUE(open_good(folder_.url())->append({"t", "f"}, batch));
    }
    static std::vector<std::string> listed(Store& store, ListQuery query = {}) {
        query.tenant = "t";
        std::vector<std::string> names;
        do {
            const auto page = store.list(query);
            EXPECT_TRUE(page) << page.error().message;
            if (!page) return names;
            for (const Header& header : page->headers) names.push_back(header.name.id);
            query.after = page->next;
        } while (!query.after.empty());
        std::ranges::sort(names);
        return names;
    }
    static constexpr const char* lost_head_ =
        "DELETE FROM head WHERE log = (SELECT log FROM log WHERE name = 'b')";
    // What the damage may be, in each half of the header.
    const std::vector<std::string> damages_ = {
        "UPDATE log SET title = 'x' WHERE name = 'b'",
        "UPDATE log SET base = 1 WHERE name = 'b'",
        "UPDATE log SET metadata = 'x' WHERE name = 'b'",
        "UPDATE head SET \"end\" = 9 WHERE log = (SELECT log FROM log WHERE name = 'b')",
        lost_head_,
    };
    const TestFolder folder_{quick_place()};
    LogId log_ = {};
};

TEST_F(SqliteHeader, that_is_damaged_is_listed_by_its_id_and_hides_no_other) {
    damage(damages_[0]);
    const auto store = open_good(folder_.url());
    const std::vector<std::string> all = {"a", "b", "c"};
    EXPECT_EQ(listed(*store), all);
    EXPECT_EQ(listed(*store, {.limit = 1}), all);
    const Page page = *store->list({.tenant = "t", .newest_first = false});
    const auto b = std::ranges::find(page.headers, log_, &Header::log);
    ASSERT_NE(b, page.headers.end());
    EXPECT_EQ(b->title, "");
    EXPECT_EQ(store->head(ConversationId{"t", "b"}).error().code, ErrorCode::internal);
    EXPECT_EQ(store->head(log_).error().code, ErrorCode::internal);
}

TEST_F(SqliteHeader, that_is_damaged_is_named_by_a_copy_which_has_the_others) {
    damage(damages_[0]);
    const auto from = open_good(folder_.url());
    const auto to = open_good("memory:");
    const auto report = copy_store(*from, *to, {});
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->failures.size(), 1U);
    EXPECT_EQ(report->failures[0].what, "b");
    EXPECT_EQ(report->conversations, 2U);
}

TEST_F(SqliteHeader, that_is_damaged_is_made_from_its_entries_when_asked) {
    for (const std::string& sql : damages_) {
        damage(sql);
        const auto store = open_good(folder_.url());
        EXPECT_FALSE(store->head(log_)) << sql;
        const CheckReport report = *store->repair({});
        ASSERT_EQ(report.findings.size(), 1U) << sql << report.findings.back().message;
        EXPECT_EQ(report.findings[0].what, "mended") << sql;
        EXPECT_EQ(report.findings[0].where, "t/b") << sql;
        const auto header = store->head(ConversationId{"t", "b"});
        ASSERT_TRUE(header) << sql << header.error().message;
        EXPECT_EQ(header->end, Seq{3}) << sql;
        EXPECT_EQ(header->messages, 3U) << sql;
        EXPECT_EQ(header->metadata, "{}") << sql;
        EXPECT_TRUE(store->check({})->findings.empty()) << sql;
    }
    EXPECT_TRUE(open_good(folder_.url())->append({"t", "b"}, batch_of("four")));
}

TEST_F(SqliteHeader, that_is_made_anew_gives_old_words_their_whole_time_to_live) {
    const Time now = system_now();
    Batch batch = batch_of("imported");
    batch.entries[0].at = now - std::chrono::years(2);
    const std::string url = folder_.url() + "?ttl=30d";
    ASSERT_TRUE(open_good(url)->append({"t", "old"}, batch));
    damage("DELETE FROM head WHERE log = (SELECT log FROM log WHERE name = 'old')");
    const auto store = open_good(url, {.clock = [&] { return now; }});
    const CheckReport report = *store->repair({});
    EXPECT_NE(report.findings.at(0).message.find("counts from now"), std::string::npos);
    EXPECT_EQ(*store->sweep(100), 0U);
    const auto header = store->head(ConversationId{"t", "old"});
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->expires, now + std::chrono::days(30));
}

TEST_F(SqliteHeader, that_is_damaged_keeps_only_a_time_to_live_that_its_other_half_confirms) {
    const Time now = system_now();
    const auto right_clock = [&] { return now; };
    for (const char* name : {"a", "b"}) {
        Batch batch;
        batch.patch.ttl = std::chrono::days(7);
        ASSERT_TRUE(open_good(folder_.url(), {.clock = right_clock})->append({"t", name}, batch));
    }
    damage("UPDATE log SET title = 'x' WHERE name = 'a'");
    damage("UPDATE log SET ttl = 1 WHERE name = 'b'");
    const auto store = open_good(folder_.url() + "?ttl=30d", {.clock = right_clock});
    const CheckReport report = *store->repair({});
    ASSERT_EQ(report.findings.size(), 2U);
    const std::string told = "nothing confirms the time to live";
    EXPECT_EQ(report.findings[0].message.find(told), std::string::npos);
    EXPECT_NE(report.findings[1].message.find(told), std::string::npos);
    EXPECT_EQ(store->head(ConversationId{"t", "a"})->ttl, std::chrono::days(7));
    EXPECT_EQ(store->head(ConversationId{"t", "b"})->ttl, std::chrono::days(30));
    EXPECT_EQ(store->append({"t", "b"}, batch_of("four"))->last, Seq{4});
}

TEST_F(SqliteHeader, whose_first_entry_is_lost_too_is_not_made_up) {
    damage(damages_[0]);
    damage("DELETE FROM entry WHERE seq = 1 AND log = (SELECT log FROM log WHERE name = 'b')");
    const auto store = open_good(folder_.url());
    const CheckReport report = *store->repair({});
    EXPECT_EQ(std::ranges::count(report.findings, "mended", &Finding::what), 0);
    EXPECT_EQ(store->head(log_).error().code, ErrorCode::internal);
}

TEST_F(SqliteHeader, that_is_damaged_can_be_erased) {
    for (const std::string& sql : damages_) {
        damage(sql);
        const auto store = open_good(folder_.url());
        const auto receipt = store->erase({"t", "b"});
        ASSERT_TRUE(receipt) << sql << receipt.error().message;
        EXPECT_EQ(receipt->entries, 3U) << sql;
        EXPECT_TRUE(store->check({})->findings.empty()) << sql;
        for (const char* text : {"one", "two", "three"})
            ASSERT_TRUE(store->append({"t", "b"}, batch_of(text)));
    }
}

TEST_F(SqliteHeader, that_is_damaged_can_be_erased_though_a_fork_needs_a_part) {
    for (const std::string& sql : {damages_[0], std::string(lost_head_)}) {
        fork_at_two();
        damage(sql);
        const auto store = open_good(folder_.url());
        const auto receipt = store->erase({"t", "b"});
        ASSERT_TRUE(receipt) << sql << receipt.error().message;
        EXPECT_EQ(receipt->entries, 1U);
        EXPECT_EQ(receipt->kept_for, std::vector<std::string>{"f"});
        EXPECT_EQ(store->read(log_, {})->size(), 2U);
        EXPECT_TRUE(store->check({})->findings.empty());
        ASSERT_TRUE(store->erase({"t", "f"}));
        for (const char* text : {"one", "two", "three"})
            log_ = store->append({"t", "b"}, batch_of(text))->header.log;
    }
}

TEST_F(SqliteHeader, of_a_relative_that_is_damaged_keeps_nobody_from_erasing) {
    const std::string fork_lost =
        "DELETE FROM head WHERE log = (SELECT log FROM log WHERE name = 'f')";
    for (const std::string& sql : {damages_[0], std::string(lost_head_), fork_lost}) {
        fork_at_two();
        damage(sql);
        const bool parent = sql != fork_lost;
        const auto store = open_good(folder_.url());
        for (const char* name : {parent ? "f" : "b", parent ? "b" : "f"})
            EXPECT_TRUE(store->erase({"t", name})) << sql << " " << name;
        EXPECT_TRUE(store->check({})->findings.empty()) << sql;
        for (const char* text : {"one", "two", "three"})
            log_ = store->append({"t", "b"}, batch_of(text))->header.log;
    }
}

TEST_F(SqliteHeader, of_a_fork_that_does_not_say_where_it_begins_is_to_be_erased_first) {
    fork_at_two();
    damage("UPDATE log SET base = 1 WHERE name = 'f'");
    const auto store = open_good(folder_.url());
    const auto refused = store->erase({"t", "b"});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("erase it first"), std::string::npos);
    for (const char* name : {"f", "b"}) EXPECT_TRUE(store->erase({"t", name})) << name;
    EXPECT_TRUE(store->check({})->findings.empty());
}

TEST_F(SqliteHeader, whose_half_is_lost_is_damaged_and_not_absent) {
    damage(lost_head_);
    const auto store = open_good(folder_.url());
    EXPECT_EQ(store->head(ConversationId{"t", "b"}).error().code, ErrorCode::internal);
    EXPECT_EQ(store->append({"t", "b"}, batch_of("four")).error().code, ErrorCode::internal);
    const auto unlisted = store->unlisted({});
    ASSERT_EQ(unlisted->size(), 1U);
    EXPECT_EQ(unlisted->front().name.id, "b");
    EXPECT_EQ(unlisted->front().log, log_);
    const auto to = open_good("memory:");
    EXPECT_EQ(copy_store(*store, *to, {})->failures.front().what, "b");
}

TEST_F(SqliteHeader, that_is_damaged_keeps_no_key_when_it_is_erased) {
    ::setenv("PAL_HEADER_KEY", std::string(64, 'a').c_str(), 1);
    for (const std::string& sql : {damages_[0], std::string(lost_head_)}) {
        const TestFolder folder{quick_place()};
        auto sealed = open_store(folder.url(), {.encryption_key = "env:PAL_HEADER_KEY"}).value();
        for (const char* name : {"a", "b"})
            ASSERT_TRUE(sealed->append({"t", name}, batch_of("one")));
        damage_in(folder, sql);
        ASSERT_TRUE(sealed->erase({"t", "b"})) << sql;
        EXPECT_TRUE(sealed->check({})->findings.empty()) << sql;
        sealed.reset();
        const auto raw = open_store(folder.url(), {.raw = true});
        ASSERT_TRUE(raw) << raw.error().message;
        EXPECT_EQ((*raw)->list_records({"t", "pal.key"})->size(), 1U) << sql;
    }
}

TEST_F(SqliteHeader, that_is_damaged_and_expired_keeps_no_other_from_going) {
    Time now = system_now();
    {
        const auto store = open_good(folder_.url());
        for (const char* name : {"a", "b", "c"}) {
            Batch batch;
            batch.patch.ttl = std::chrono::hours(1);
            ASSERT_TRUE(store->append({"t", name}, batch));
        }
    }
    damage(damages_[0]);
    now += std::chrono::hours(2);
    const auto store = open_good(folder_.url(), {.clock = [&] { return now; }});
    const auto went = store->sweep(100);
    ASSERT_TRUE(went) << went.error().message;
    EXPECT_EQ(*went, 2U);
    EXPECT_EQ(store->head(log_).error().code, ErrorCode::internal);
    EXPECT_TRUE(store->erase({"t", "b"}));
}

}  // namespace
}  // namespace palimpsest
