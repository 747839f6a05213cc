// Large payloads in the SQLite store: one row for all that say the same, as long as somebody does.
#include <gtest/gtest.h>

#include "store/lineage.h"
#include "store/shared_payload.h"
#include "store/sqlite_db.h"
#include "store/sqlite_fixture.h"
#include "store/sqlite_inspect.h"

namespace palimpsest {
namespace {

const ConversationId alice{"t", "alice"}, bob{"t", "bob"}, fork_of_alice{"t", "fork"};
const std::string picture = "canary" + std::string(300'000, 'q');

// Into the file of a store that is closed.
class OpenFile {
public:
    explicit OpenFile(const TestFolder& folder)
        : db_(*SqliteDatabase::open(folder.file("store.db"), SqliteDatabase::Mode::read_write)) {}
    void run(const char* sql) {
        const Result<void> done = db_->execute(sql);
        EXPECT_TRUE(done) << done.error().message;
    }
    std::int64_t number(const char* sql) { return db_->integer(sql).value_or(-1); }

private:
    std::unique_ptr<SqliteDatabase> db_;
};

std::int64_t bodies(const TestFolder& folder) {
    return OpenFile(folder).number("SELECT count(*) FROM body");
}

// The picture three times by alice, once by her fork, once by bob.
LogId say_it_everywhere(Store& store) {
    const Result<Appended> first = store.append(alice, batch_of(picture));
    EXPECT_TRUE(first);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(store.append(alice, batch_of(picture)));
    Batch fork = batch_of(picture);
    fork.fork = fork_point(store, first->header, Seq{1}).value();
    EXPECT_TRUE(store.append(fork_of_alice, fork));
    EXPECT_TRUE(store.append(bob, batch_of(picture)));
    return first->header.log;
}

void scrub(Store& store, const LogId& log, Seq seq) {
    MessageEntry gone;
    gone.scrubbed = true;
    const Replacement replacement{log, seq, gone};
    ASSERT_TRUE(store.scrub({&replacement, 1}));
}

std::string faults_of(const CheckReport& report) {
    std::string text;
    for (const Finding& finding : report.findings)
        if (finding.what != "readable")
            text += finding.what + " " + finding.where + ": " + finding.message + "\n";
    return text;
}

TEST(sqlite_bodies, hold_what_a_tenant_says_again_once) {
    const TestFolder folder;
    {
        const auto store = open_good(folder.url());
        say_it_everywhere(*store);
        EXPECT_EQ(faults_of(*store->check({})), "");
    }
    EXPECT_EQ(bodies(folder), 1);
    EXPECT_EQ(OpenFile(folder).number("SELECT count(*) FROM entry WHERE payload IS NULL"), 5);
    EXPECT_LT(std::filesystem::file_size(folder.file("store.db")), picture.size() * 2);
    ASSERT_TRUE(open_good(folder.url())->append({"u", "alice"}, batch_of(picture)));
    EXPECT_EQ(bodies(folder), 2) << "tenants share nothing";
}

TEST(sqlite_bodies, are_made_from_a_size_on) {
    const TestFolder folder;
    const auto say = [&](std::size_t size) {
        const auto store = open_good(folder.url());
        for (int i = 0; i < 2; ++i)
            ASSERT_TRUE(store->append(alice, batch_of(std::string(size, 'x'))));
    };
    say(shared_payload_bytes - 1);
    EXPECT_EQ(bodies(folder), 0);
    say(shared_payload_bytes);
    EXPECT_EQ(bodies(folder), 1);
}

TEST(sqlite_bodies, go_with_the_last_entry_that_uses_them) {
    const TestFolder folder;
    LogId log;
    {
        const auto store = open_good(folder.url());
        log = say_it_everywhere(*store);
        scrub(*store, log, Seq{2});
        EXPECT_EQ(store->erase(alice)->entries, 2U);
        EXPECT_EQ(store->erase(bob)->entries, 1U);
    }
    EXPECT_EQ(bodies(folder), 1);
    const auto store = open_good(folder.url());
    const auto fork = store->head(fork_of_alice);
    EXPECT_TRUE(text_of(store->read(fork->log, {})->at(0)) == picture);
    scrub(*store, log, Seq{1});
    scrub(*store, fork->log, Seq{2});
    for (const char* name : {"store.db", "store.db-wal"})
        EXPECT_EQ(bytes_of_file(folder.file(name)).find("qqqqqqqq"), std::string::npos) << name;
    ASSERT_TRUE(store->erase(fork_of_alice));
    EXPECT_EQ(faults_of(*store->check({})), "");
}

// As the first version of the tables was.
void make_version_1(const TestFolder& folder) {
    open_good(folder.url()).reset();
    OpenFile(folder).run(
        "DROP TRIGGER entry_deleted; DROP TRIGGER entry_replaced; DROP INDEX entry_shared;"
        "ALTER TABLE entry DROP COLUMN shared; DROP TABLE body;"
        "DROP INDEX head_updated; DROP INDEX head_accessed;"
        "ALTER TABLE head DROP COLUMN updated_minute; ALTER TABLE head DROP COLUMN accessed_minute;"
        "CREATE INDEX head_updated ON head(tenant, updated, uid) WHERE tenant IS NOT NULL;"
        "CREATE INDEX head_accessed ON head(tenant, accessed, uid) WHERE tenant IS NOT NULL;"
        "DROP TABLE once; CREATE TABLE once(id INTEGER PRIMARY KEY, log INTEGER NOT NULL, key TEXT "
        "NOT NULL, digest BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, at INTEGER "
        "NOT NULL) STRICT; CREATE UNIQUE INDEX once_key ON once(log, key);"
        "PRAGMA user_version=1");
}

// What alice said before there were bodies: an entry as that version wrote it.
void say_in_version_1(const TestFolder& folder, const std::string& text) {
    ASSERT_TRUE(open_good(folder.url())->append(alice, batch_of(text)));
    OpenFile(folder).run(
        "UPDATE entry SET payload = (SELECT bytes FROM body WHERE id = entry.shared) "
        "WHERE shared IS NOT NULL;"
        "UPDATE entry SET shared = NULL");
    make_version_1(folder);
}

TEST(sqlite_bodies, come_to_a_store_of_version_1_which_goes_on) {
    const TestFolder folder;
    say_in_version_1(folder, picture);
    {
        const auto store = open_good(folder.url());
        const auto old = store->head(alice);
        ASSERT_TRUE(old) << old.error().message;
        EXPECT_TRUE(text_of(store->read(old->log, {})->at(0)) == picture);
        ASSERT_TRUE(store->append(alice, batch_of(picture)));
        ASSERT_TRUE(store->append(alice, batch_of(picture)));
        const auto entries = store->read(old->log, {});
        for (const Entry& entry : *entries) EXPECT_TRUE(text_of(entry) == picture);
        EXPECT_EQ(faults_of(*store->check({})), "");
    }
    EXPECT_EQ(bodies(folder), 1);
    EXPECT_EQ(OpenFile(folder).number("SELECT count(*) FROM head WHERE updated_minute * 60000 "
                                      "BETWEEN updated - 59999 AND updated"),
              1);
    EXPECT_EQ(OpenFile(folder).number("PRAGMA user_version"), 4);
    EXPECT_EQ(OpenFile(folder).number("SELECT count(*) FROM entry WHERE shared IS NULL"), 1);
}

TEST(sqlite_bodies, are_not_missed_in_a_look_at_a_file_of_version_1) {
    const TestFolder folder;
    say_in_version_1(folder, "small");
    const std::string before = bytes_of_file(folder.file("store.db"));
    const Result<CheckReport> report = inspect_sqlite(folder.url());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(faults_of(*report), "");
    EXPECT_EQ(report->entries, 1U);
    EXPECT_EQ(bytes_of_file(folder.file("store.db")), before);
}

TEST(sqlite_bodies, that_are_damaged_or_missing_are_damage_of_their_entries) {
    for (const char* damage : {"UPDATE body SET bytes = x'00'", "DELETE FROM body"}) {
        const TestFolder folder;
        {
            const auto store = open_good(folder.url());
            say_it_everywhere(*store);
            ASSERT_TRUE(store->append({"t", "carol"}, batch_of("untouched")));
        }
        OpenFile(folder).run(damage);
        const auto store = open_good(folder.url());
        const auto read = store->read(store->head(bob)->log, {});
        ASSERT_FALSE(read) << damage;
        EXPECT_EQ(read.error().code, ErrorCode::internal);
        EXPECT_NE(read.error().message.find("entry 1 of t/bob"), std::string::npos);
        EXPECT_TRUE(store->read(store->head(bob)->log, {.content = false}));
        EXPECT_TRUE(store->read(store->head({"t", "carol"})->log, {}));
        const std::string faults = faults_of(*store->check({}));
        for (const char* name : {"t/alice", "t/bob", "t/fork"})
            EXPECT_NE(faults.find(name), std::string::npos) << faults;
        EXPECT_EQ(faults.find("carol"), std::string::npos) << faults;
    }
}

TEST(sqlite_bodies, that_are_damaged_are_put_right_when_the_same_is_said_again) {
    const TestFolder folder;
    say_it_everywhere(*open_good(folder.url()));
    OpenFile(folder).run("UPDATE body SET bytes = x'00'");
    const auto store = open_good(folder.url());
    ASSERT_FALSE(store->read(store->head(alice)->log, {}));
    ASSERT_TRUE(store->append(bob, batch_of(picture)));
    EXPECT_TRUE(text_of(store->read(store->head(alice)->log, {})->at(2)) == picture);
    EXPECT_EQ(faults_of(*store->check({})), "");
}

TEST(sqlite_bodies, that_nobody_uses_are_found_and_removed_when_all_else_is_well) {
    const TestFolder folder;
    {
        const auto store = open_good(folder.url());
        say_it_everywhere(*store);
        ASSERT_TRUE(store->append({"t", "carol"}, batch_of("one")));
    }
    constexpr const char* leave_one =
        "INSERT INTO body(tenant, hash, bytes) VALUES('t', x'01', x'02')";
    OpenFile(folder).run(leave_one);
    {
        const auto store = open_good(folder.url());
        EXPECT_NE(faults_of(*store->check({})).find("1 large payloads"), std::string::npos);
        const Result<CheckReport> repaired = store->repair({});
        ASSERT_TRUE(repaired) << repaired.error().message;
        EXPECT_EQ(faults_of(*repaired), "");
    }
    EXPECT_EQ(bodies(folder), 1);
    OpenFile(folder).run(leave_one);
    OpenFile(folder).run("UPDATE entry SET payload = x'00' WHERE length(payload) = 3");
    EXPECT_NE(faults_of(*open_good(folder.url())->repair({})), "");
    EXPECT_EQ(bodies(folder), 2) << "beside other damage everything is left as it is";
}

}  // namespace
}  // namespace palimpsest
