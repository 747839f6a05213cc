// Rows of a SQLite store that are lost beside the headers: what is left is named, and mended.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/ids.h"
#include "faults/damaged_store.h"
#include "store/copy.h"

namespace palimpsest {
namespace {

class SqliteTables : public testing::Test {
protected:
    SqliteTables() {
        const auto store = open_good(folder_.url());
        for (const char* name : {"a", "b"}) {
            Batch batch = batch_of("one");
            batch.patch.metadata_merge = R"({"project":"x","n":1})";
            batch.key = "once";
            log_ = store->append({"t", name}, batch)->header.log;
            EXPECT_TRUE(store->append({"t", name}, batch_of("two")));
        }
        Batch fork = batch_of("of the fork");
        fork.fork = ForkPoint{.parent = log_, .at = Seq{1}, .messages = 1};
        fork_ = store->append({"t", "f"}, fork)->header.log;
    }
    void damage(const std::string& sql) const {
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(folder_.file("store.db").c_str(), &db), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
        sqlite3_close(db);
    }
    static std::vector<std::string> found(const CheckReport& report, std::string_view what) {
        std::vector<std::string> where;
        for (const Finding& finding : report.findings)
            if (finding.what == what) where.push_back(finding.where);
        return where;
    }
    static std::size_t with_project_x(Store& store) {
        return store.list({.tenant = "t", .metadata = {{"project", "x"}}})->headers.size();
    }
    const TestFolder folder_{quick_place()};
    LogId log_ = {}, fork_ = {};  // of "b" and "f"
};

TEST_F(SqliteTables, a_lost_row_of_log_is_named_by_copies_and_checks) {
    damage("DELETE FROM log WHERE name = 'b'");
    const auto store = open_good(folder_.url());
    const auto unlisted = store->unlisted(std::vector<std::string>{"t"});
    ASSERT_EQ(unlisted->size(), 1U);
    EXPECT_EQ(unlisted->front().name, (ConversationId{"t", hex(log_)}));
    EXPECT_EQ(unlisted->front().log, log_);
    EXPECT_TRUE(store->unlisted(std::vector<std::string>{"u"})->empty());
    const auto to = open_good("memory:");
    EXPECT_EQ(copy_store(*store, *to, {})->failures.front().what, hex(log_));
    EXPECT_EQ(found(*store->check({}), "orphan").front(), "t/f");
    EXPECT_EQ(found(*store->check({}), "orphan").at(1), "t/" + hex(log_));
}

TEST_F(SqliteTables, a_lost_row_of_log_is_made_again_under_its_uid) {
    damage("DELETE FROM log WHERE name = 'b'");
    const auto store = open_good(folder_.url());
    ASSERT_TRUE(store->repair({}));
    EXPECT_TRUE(store->check({})->findings.empty());
    const ConversationId name{"t", hex(log_)};
    EXPECT_EQ(store->head(name)->end, Seq{2});
    EXPECT_EQ(text_of(store->read(log_, {})->at(1)), "two");
    EXPECT_EQ(store->append(name, batch_of("three"))->last, Seq{3});
    EXPECT_EQ(store->erase(name)->kept_for, std::vector<std::string>{"f"});
    EXPECT_TRUE(store->erase({"t", "f"}));
    EXPECT_TRUE(store->check({})->findings.empty());
}

TEST_F(SqliteTables, a_fork_that_lost_its_row_of_log_can_be_erased_after_a_repair) {
    damage("DELETE FROM log WHERE name = 'f'");
    const auto store = open_good(folder_.url());
    ASSERT_TRUE(store->repair({}));
    const ConversationId name{"t", hex(fork_)};
    EXPECT_EQ(store->head(name).error().code, ErrorCode::internal) << "of what, nothing tells";
    EXPECT_EQ(store->erase(name)->entries, 1U);
    EXPECT_TRUE(store->check({})->findings.empty());
    EXPECT_EQ(bytes_of_file(folder_.file("store.db")).find("of the fork"), std::string::npos);
}

TEST_F(SqliteTables, the_last_trace_of_a_fork_that_shared_all_its_words_stays) {
    LogId shared = {};
    {
        const auto store = open_good(folder_.url());
        const Header b = *store->head(ConversationId{"t", "b"});
        Batch fork;
        fork.fork = ForkPoint{.parent = b.log, .at = b.end, .messages = 2};
        shared = store->append({"t", "g"}, fork)->header.log;
        ASSERT_TRUE(store->erase({"t", "b"}));
    }
    damage("DELETE FROM log WHERE name = 'g'");
    const auto store = open_good(folder_.url());
    const CheckReport report = *store->repair({});
    EXPECT_TRUE(std::ranges::any_of(report.findings, [](const Finding& finding) {
        return finding.message.find("left as it is") != std::string::npos;
    }));
    EXPECT_EQ(store->unlisted(std::vector<std::string>{"t"})->front().log, shared);
}

TEST_F(SqliteTables, entries_of_nothing_stay_and_the_way_out_is_told) {
    damage("DELETE FROM log WHERE name = 'a'; DELETE FROM head WHERE log = 1");
    const auto store = open_good(folder_.url());
    const CheckReport report = *store->repair({});
    const auto entries = std::ranges::find(report.findings, "orphan", &Finding::what);
    ASSERT_NE(entries, report.findings.end());
    EXPECT_TRUE(entries->message.starts_with("2 entries belong to no log")) << entries->message;
    EXPECT_NE(entries->message.find("`pal copy`"), std::string::npos);
}

TEST_F(SqliteTables, labels_that_are_lost_or_wrong_are_noticed_and_made_from_the_metadata) {
    for (const char* sql :
         {"DELETE FROM label", "DELETE FROM label WHERE k = 'project' AND log = 1",
          "INSERT INTO label VALUES('t', 'project', 'y', 1)",
          "INSERT INTO label VALUES('t', 'project', 'x', 99)"}) {
        damage(sql);
        const auto store = open_good(folder_.url());
        EXPECT_FALSE(found(*store->check({}), "label").empty()) << sql;
        const CheckReport report = *store->repair({});
        EXPECT_EQ(found(report, "mended").size(), report.findings.size()) << sql;
        EXPECT_TRUE(store->check({})->findings.empty()) << sql;
        EXPECT_EQ(with_project_x(*store), 2U) << sql;
    }
}

TEST_F(SqliteTables, a_lost_counter_of_versions_is_noticed_and_set_beyond_them_all) {
    const RecordKey key{"t", "s", "k"};
    const std::uint64_t before = *open_good(folder_.url())->put_record({key, "v"});
    for (const char* sql : {"DELETE FROM counter", "UPDATE counter SET value = 0"}) {
        damage(sql);
        const auto store = open_good(folder_.url());
        EXPECT_EQ(found(*store->check({}), "count").size(), 1U) << sql;
        ASSERT_TRUE(store->repair({}));
        EXPECT_TRUE(store->check({})->findings.empty()) << sql;
        EXPECT_GT(*store->put_record({key, "v"}), before) << sql;
    }
}

}  // namespace
}  // namespace palimpsest
