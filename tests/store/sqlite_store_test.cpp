// What is peculiar to the SQLite store: its file, its versions, its lock, its group commit. What
// all stores must do is in the conformance suite.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <atomic>
#include <barrier>
#include <set>
#include <thread>

#include "base/clock.h"
#include "store/sqlite_db.h"
#include "store/sqlite_fixture.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"

namespace palimpsest {
namespace {

const ConversationId alice{"t", "alice"};

void run_sql(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(db);
}

std::string open_error(const std::string& url) {
    const Result<std::unique_ptr<Store>> store = open_store(url);
    return store ? "opened" : store.error().message;
}

TEST(sqlite_store, keeps_what_was_appended_after_it_was_closed) {
    const TestFolder folder;
    {
        const auto store = open_good(folder.url());
        ASSERT_TRUE(store->append(alice, batch_of("one")));
        ASSERT_TRUE(store->append(alice, batch_of("two")));
    }
    const auto store = open_good(folder.url());
    const Result<Header> header = store->head(alice);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->end, Seq{2});
    const auto entries = store->read(header->log, {});
    ASSERT_TRUE(entries) << entries.error().message;
    ASSERT_EQ(entries->size(), 2U);
    EXPECT_EQ(text_of((*entries)[1]), "two");
}

TEST(sqlite_store, makes_files_that_only_their_owner_can_read) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    ASSERT_TRUE(store->append(alice, batch_of("secret")));
    for (const char* name : {"store.db", "store.db-wal", "store.db.lock"}) {
        struct stat found{};
        ASSERT_EQ(::stat(folder.file(name).c_str(), &found), 0) << name;
        EXPECT_EQ(found.st_mode & 0777U, 0600U) << name;
    }
}

TEST(sqlite_store, refuses_a_newer_schema_and_names_both_versions) {
    const TestFolder folder;
    open_good(folder.url()).reset();
    run_sql(folder.file("store.db"), "PRAGMA user_version=99");
    const std::string error = open_error(folder.url());
    EXPECT_NE(error.find("99"), std::string::npos) << error;
    EXPECT_NE(error.find("up to 4;"), std::string::npos) << error;
}

std::int64_t number_in(const TestFolder& folder, const char* sql) {
    const auto db = SqliteDatabase::open(folder.file("store.db"), SqliteDatabase::Mode::read_only);
    return db ? (*db)->integer(sql).value_or(-1) : -1;
}

Batch keyed(std::string key) {
    Batch batch = batch_of("said");
    batch.key = std::move(key);
    return batch;
}

TEST(sqlite_store, goes_on_with_a_file_of_version_3_and_knows_its_keys) {
    const TestFolder folder;
    ASSERT_TRUE(create_sqlite_file(folder.file("store.db"), sqlite_layouts[1]));
    EXPECT_EQ(number_in(folder, "PRAGMA user_version"), 3);
    {
        const auto store = open_good(folder.url());
        ASSERT_TRUE(store->append(alice, keyed("k")));
    }
    run_sql(folder.file("store.db"),
            "ALTER TABLE once RENAME TO moved;"
            "CREATE TABLE once(id INTEGER PRIMARY KEY, log INTEGER NOT NULL, key TEXT NOT NULL, "
            "digest BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, at INTEGER NOT "
            "NULL) STRICT; CREATE UNIQUE INDEX once_key ON once(log, key);"
            "INSERT INTO once(log, key, digest, first, last, at) SELECT log, key, digest, first, "
            "last, at FROM moved; DROP TABLE moved; PRAGMA user_version=3");
    const auto store = open_good(folder.url());
    const Result<Appended> repeat = store->append(alice, keyed("k"));
    ASSERT_TRUE(repeat) << repeat.error().message;
    EXPECT_TRUE(repeat->again);
    EXPECT_EQ(store->head(alice)->end, Seq{1});
    EXPECT_EQ(number_in(folder, "PRAGMA user_version"), 4);
    EXPECT_EQ(number_in(folder, "PRAGMA page_size"), 8192);
    EXPECT_TRUE(store->check({})->findings.empty());
}

TEST(sqlite_store, forgets_the_keys_of_the_day_before_while_others_come) {
    const TestFolder folder;
    Time now = system_now();
    const auto store = open_good(folder.url(), {.clock = [&] { return now; }});
    const auto say = [&](const std::string& day, int count) {
        for (int i = 0; i < count; ++i) {
            const std::string name = std::to_string(i % 3);
            ASSERT_TRUE(store->append({"t", name}, keyed(day + std::to_string(i))));
        }
    };
    say("monday", 100);
    now += std::chrono::hours(23);
    say("tuesday", 100);
    EXPECT_EQ(number_in(folder, "SELECT count(*) FROM once"), 200);
    now += std::chrono::hours(2);
    say("wednesday", 160);
    EXPECT_EQ(number_in(folder, "SELECT count(*) FROM once WHERE key LIKE 'monday%'"), 0);
    EXPECT_EQ(number_in(folder, "SELECT count(*) FROM once"), 260);
}

TEST(sqlite_store, refuses_the_database_of_another_program) {
    const TestFolder folder;
    run_sql(folder.file("store.db"), "CREATE TABLE recipes(name TEXT)");
    const std::string before = bytes_of_file(folder.file("store.db"));
    EXPECT_NE(open_error(folder.url()).find("not a Palimpsest store"), std::string::npos);
    EXPECT_EQ(bytes_of_file(folder.file("store.db")), before);
}

TEST(sqlite_store, lays_no_new_store_over_a_file_that_is_none) {
    const TestFolder folder;
    for (const std::string text : {"", "hello, I am a letter", "SQLite format 3"}) {
        std::ofstream(folder.file("store.db"), std::ios::binary | std::ios::trunc) << text;
        const Result<std::unique_ptr<Store>> store = open_store(folder.url());
        ASSERT_FALSE(store) << "opened: " << text;
        EXPECT_NE(store.error().message.find("store.db"), std::string::npos);
        EXPECT_EQ(bytes_of_file(folder.file("store.db")), text);
    }
}

TEST(sqlite_store, does_not_play_an_orphaned_log_into_a_new_file) {
    const TestFolder folder;
    std::ofstream(folder.file("store.db-wal")) << "what is left of a lost store";
    EXPECT_NE(open_error(folder.url()).find("store.db-wal is there"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder.file("store.db")));
}

TEST(sqlite_store, is_not_created_when_that_is_not_wanted) {
    const TestFolder folder;
    const auto store = open_store(folder.url(), {.create = false});
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::not_found);
    EXPECT_FALSE(std::filesystem::exists(folder.file("store.db")));
}

TEST(sqlite_store, explains_options_that_it_does_not_have) {
    const TestFolder folder;
    EXPECT_NE(open_error(folder.url() + "?speed=11").find("sync, readers and ttl"),
              std::string::npos);
    EXPECT_NE(open_error(folder.url() + "?sync=maybe").find("full"), std::string::npos);
    EXPECT_NE(open_error("sqlite:").find("path"), std::string::npos);
    EXPECT_NE(open_error("sqlite:/no/such/folder/x.db").find("folder"), std::string::npos);
    EXPECT_EQ(open_error(folder.url() + "?sync=normal&readers=2"), "opened");
}

TEST(sqlite_store, waiting_writers_share_commits) {
    const TestFolder folder;
    Result<std::unique_ptr<SqliteStore>> opened =
        SqliteStore::open({.path = folder.file("store.db")});
    ASSERT_TRUE(opened) << opened.error().message;
    SqliteStore& store = **opened;
    constexpr int writers = 16, each = 50;
    std::barrier start(writers);
    std::atomic<int> failed = 0;
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            start.arrive_and_wait();
            const ConversationId name{"t", w % 2 ? "shared" : "own" + std::to_string(w)};
            for (int i = 0; i < each; ++i)
                if (!store.append(name, batch_of(std::to_string(w * each + i)))) ++failed;
        });
    threads.clear();
    EXPECT_EQ(failed, 0);
    EXPECT_LT(store.commits(), std::uint64_t{writers * each});
    std::set<std::string> seen;
    const Result<Page> page = store.list({.tenant = "t"});
    ASSERT_TRUE(page);
    for (const Header& header : page->headers) {
        const auto entries = store.read(header.log, {});
        ASSERT_TRUE(entries) << entries.error().message;
        for (const Entry& entry : *entries) seen.insert(text_of(entry));
    }
    EXPECT_EQ(seen.size(), std::size_t{writers * each});
}

TEST(sqlite_store, a_refused_batch_does_not_harm_its_group) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    ASSERT_TRUE(store->append(alice, batch_of("first")));
    constexpr int writers = 8, each = 40;
    std::atomic<int> written = 0, refused = 0;
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            for (int i = 0; i < each; ++i) {
                Batch batch = batch_of("x");
                if (w % 2) batch.expected_end = Seq{0};
                const Result<Appended> done = store->append(alice, batch);
                if (done) ++written;
                if (!done && done.error().code == ErrorCode::conflict) ++refused;
            }
        });
    threads.clear();
    EXPECT_EQ(written, writers / 2 * each);
    EXPECT_EQ(refused, writers / 2 * each);
    EXPECT_EQ(store->head(alice)->end, Seq{1 + writers / 2 * each});
}

TEST(sqlite_store, stores_a_message_of_64_mib_and_a_batch_of_thousands) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    ASSERT_TRUE(store->append(alice, batch_of(std::string(64U << 20U, 'a'))));
    Batch many;
    for (int i = 0; i < 5000; ++i) many.entries.push_back(said(std::to_string(i)));
    const Result<Appended> done = store->append(alice, many);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->last, Seq{5001});
    const auto big = store->read(done->header.log, {.limit = 1});
    ASSERT_TRUE(big) << big.error().message;
    EXPECT_EQ(text_of(big->front()), std::string(64U << 20U, 'a'));
    const auto last = store->read(done->header.log, {.limit = 1, .newest_first = true});
    EXPECT_EQ(text_of(last->front()), "4999");
}

TEST(sqlite_store, erase_leaves_no_byte_of_the_content_in_any_file) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    Batch batch;
    for (int i = 0; i < 50; ++i) batch.entries.push_back(said("canary-" + std::string(2000, 'q')));
    batch.patch.title = "canary title";
    batch.patch.metadata_merge = R"({"bird":"canary"})";
    ASSERT_TRUE(store->append(alice, batch));
    ASSERT_TRUE(store->append({"t", "bob"}, batch_of("sparrow")));
    const Result<Receipt> receipt = store->erase(alice);
    ASSERT_TRUE(receipt) << receipt.error().message;
    EXPECT_EQ(receipt->entries, 50U);
    for (const char* name : {"store.db", "store.db-wal", "store.db-shm"}) {
        const std::string bytes = bytes_of_file(folder.file(name));
        EXPECT_EQ(bytes.find("canary"), std::string::npos) << name;
        EXPECT_EQ(bytes.find("qqqqqqqq"), std::string::npos) << name;
    }
    EXPECT_NE(bytes_of_file(folder.file("store.db")).find("sparrow"), std::string::npos);
}

TEST(sqlite_store, an_erase_beside_a_reader_says_what_the_wal_still_has) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    ASSERT_TRUE(store->append({"t", "bob"}, batch_of("sparrow")));
    ASSERT_TRUE(store->append(alice, batch_of("canary")));
    const auto wal_has_it = [&] {
        return bytes_of_file(folder.file("store.db-wal")).find("canary") != std::string::npos;
    };
    {
        const auto reader =
            SqliteDatabase::open(folder.file("store.db"), SqliteDatabase::Mode::read_only);
        ASSERT_TRUE(reader && (*reader)->execute("BEGIN; SELECT count(*) FROM log"));
        const Result<Receipt> receipt = store->erase(alice);
        ASSERT_TRUE(receipt) << receipt.error().message;
        EXPECT_TRUE(wal_has_it()) << "nothing was in the way, so this proves nothing";
        ASSERT_EQ(receipt->remains.size(), 2U);
        EXPECT_NE(receipt->remains[1].find("write-ahead log"), std::string::npos);
    }
    ASSERT_TRUE(store->append({"t", "bob"}, batch_of("wren")));
    EXPECT_FALSE(wal_has_it());
}

TEST(sqlite_store, scrub_leaves_no_byte_of_the_content_in_any_file) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    const Result<Appended> done = store->append(alice, batch_of(std::string(30000, 'q')));
    ASSERT_TRUE(done);
    MessageEntry gone;
    gone.scrubbed = true;
    const Replacement replacement{done->header.log, Seq{1}, gone};
    ASSERT_TRUE(store->scrub({&replacement, 1}));
    for (const char* name : {"store.db", "store.db-wal"})
        EXPECT_EQ(bytes_of_file(folder.file(name)).find("qqqqqqqq"), std::string::npos) << name;
    EXPECT_EQ(store->head(alice)->epoch, 1U);
}

TEST(sqlite_store, a_healthy_store_has_nothing_to_report) {
    const TestFolder folder;
    const auto store = open_good(folder.url());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(store->append(alice, batch_of("x")));
    ASSERT_TRUE(store->put_record({.key = {"t", "s", "k"}, .value = "v"}));
    const Result<CheckReport> report = store->check({});
    ASSERT_TRUE(report) << report.error().message;
    for (const Finding& finding : report->findings) ADD_FAILURE() << finding.message;
    EXPECT_EQ(report->logs, 1U);
    EXPECT_EQ(report->entries, 20U);
    EXPECT_EQ(report->records, 1U);
}

TEST(sqlite_store, damage_to_one_entry_is_named_and_others_are_served) {
    const TestFolder folder;
    {
        const auto store = open_good(folder.url());
        for (const char* text : {"one", "two", "three"})
            ASSERT_TRUE(store->append(alice, batch_of(text)));
        ASSERT_TRUE(store->append({"t", "bob"}, batch_of("untouched")));
    }
    run_sql(folder.file("store.db"), "UPDATE entry SET payload = x'00' WHERE log = 1 AND seq = 2");
    const auto store = open_good(folder.url());
    const auto entries = store->read(store->head(alice)->log, {});
    ASSERT_FALSE(entries);
    EXPECT_EQ(entries.error().code, ErrorCode::internal);
    EXPECT_NE(entries.error().message.find("entry 2 of t/alice"), std::string::npos)
        << entries.error().message;
    const auto bob = store->read(store->head({"t", "bob"})->log, {});
    ASSERT_TRUE(bob);
    EXPECT_EQ(text_of(bob->front()), "untouched");
    const Result<CheckReport> report = store->check({});
    ASSERT_TRUE(report);
    std::set<std::string> readable, unreadable;
    for (const Finding& finding : report->findings)
        (finding.what == "readable" ? readable : unreadable).insert(finding.where);
    EXPECT_EQ(readable, std::set<std::string>{"t/bob"});
    EXPECT_EQ(unreadable, std::set<std::string>{"t/alice"});
}

TEST(sqlite_store, check_finds_gaps_orphans_and_wrong_headers) {
    const TestFolder folder;
    {
        const auto store = open_good(folder.url());
        for (const char* name : {"a", "b", "c"}) {
            Batch batch = batch_of("x");
            batch.patch.metadata_merge = R"({"k":"v"})";
            for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->append({"t", name}, batch));
        }
    }
    run_sql(folder.file("store.db"),
            "DELETE FROM entry WHERE log = 1 AND seq = 2;"
            "UPDATE head SET \"end\" = 2 WHERE log = 2;"
            "DELETE FROM log WHERE log = 3");
    const auto store = open_good(folder.url());
    const Result<CheckReport> report = store->check({});
    ASSERT_TRUE(report);
    std::string all;
    for (const Finding& finding : report->findings)
        all += finding.what + " " + finding.where + ": " + finding.message + "\n";
    EXPECT_NE(all.find("entry 2 of \"a\" is missing"), std::string::npos) << all;
    EXPECT_NE(all.find("the header of t/b is damaged"), std::string::npos) << all;
    EXPECT_NE(all.find("its row of the table `log` is lost"), std::string::npos) << all;
    EXPECT_NE(all.find("1 labels say what no metadata says"), std::string::npos) << all;
}

TEST(sqlite_store, repair_keeps_every_kind_of_policy_of_a_damaged_header) {
    const std::string policies[] = {R"({"mode":"compact"})", R"("balanced")", "balanced", ""};
    for (const std::string& policy : policies) {
        const TestFolder folder;
        {
            Batch batch = batch_of("x");
            batch.patch.policy = policy;
            ASSERT_TRUE(open_good(folder.url())->append(alice, batch));
        }
        run_sql(folder.file("store.db"), "UPDATE log SET title = 'changed'");
        const auto store = open_good(folder.url());
        ASSERT_FALSE(store->head(alice));
        ASSERT_TRUE(store->repair({}));
        const auto header = store->head(alice);
        ASSERT_TRUE(header) << header.error().message;
        EXPECT_EQ(header->policy, policy);
    }
}

}  // namespace
}  // namespace palimpsest
