// What is PostgreSQL's own: TLS, by libpq's settings in the URL; rows that somebody changed.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/ids.h"
#include "live/live.h"
#include "store/copy.h"
#include "store/lineage.h"

namespace palimpsest::testing_support {
namespace {

TEST(postgres_server, speaks_tls_to_whom_it_can_prove_itself) {
    PostgresServer server;
    const std::string cert = server.restart_with_tls();
    const std::string url = "postgres://postgres@127.0.0.1:" + std::to_string(server.port()) +
                            "/postgres?schema=sealed&sslmode=verify-full";
    const auto refused = open_store(url + "&sslrootcert=/dev/null");
    ASSERT_FALSE(refused.has_value()) << "nobody vouches for that certificate";
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().message;
    const auto store = open_good(url + "&sslrootcert=" + cert);
    EXPECT_TRUE(store->append({"t", "a"}, says("sealed on its way")).has_value());
    EXPECT_EQ(texts_of(*store, {"t", "a"}), std::vector<std::string>{"sealed on its way"});
}

TEST(postgres_server, of_a_store_that_was_not_tried_nothing_is_said_of_what_it_keeps) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "pal";
    const std::string check = program.string() + " serve --check --listen 127.0.0.1:0 --store '" +
                              unique(running().url()) + "'";
    const std::string said = output_of(check);
    EXPECT_TRUE(said.starts_with("these settings are good\nwarning: there is no store")) << said;
    const std::string json = output_of(check + " --json");
    EXPECT_TRUE(json.contains(R"("durability":null)")) << json;
}

// In the tables of the store at that URL.
std::string run_sql(const std::string& url, const std::string& sql) {
    const std::string schema = url.substr(url.find("schema=") + 7);
    return output_of("psql -h 127.0.0.1 -p " + std::to_string(running().postgres->port()) +
                     " -U postgres postgres -v ON_ERROR_STOP=1 -Atqc \"set search_path to " +
                     schema.substr(0, schema.find('&')) + "; " + sql + "\"");
}

// A store with the conversations "a" and "b" of three messages each, and a way into its tables.
class DamagedTables {
public:
    DamagedTables() : url_(unique(running().postgres->url())), store_(open_good(url_)) {
        for (const char* id : {"a", "b"})
            for (const char* text : {"one", "two", "three"})
                logs_[id] = store_->append({"t", id}, says(text))->header.log;
    }
    void run(const std::string& sql) const { (void)run_sql(url_, sql); }
    std::string count(const std::string& table) const {
        return run_sql(url_, "select count(*) from " + table);
    }
    Store& store() { return *store_; }
    const std::string& url() const { return url_; }
    Result<std::vector<Entry>> read(const char* id) { return store_->read(logs_[id], {}); }
    // What doctor would say, as WHAT of WHERE.
    std::vector<std::string> findings() {
        const std::string tenants[] = {"t"};
        const auto report = store_->check(tenants);
        std::vector<std::string> found;
        for (const Finding& one : report->findings)
            found.push_back(one.what + " " + one.where + ": " + one.message);
        return found;
    }

private:
    std::string url_;
    std::unique_ptr<Store> store_;
    std::map<std::string, LogId> logs_;
};

TEST(postgres_damage, a_changed_entry_is_never_given_out_and_is_named) {
    for (const char* column : {"payload", "meta"}) {
        DamagedTables tables;
        ASSERT_EQ(tables.findings(), std::vector<std::string>{});
        tables.run("update pal_entry set " + std::string(column) +
                   " = 'x' where seq = 2 and log = (select log from pal_name where id = 'a')");
        const auto damaged = tables.read("a");
        ASSERT_FALSE(damaged);
        EXPECT_EQ(damaged.error().code, ErrorCode::internal);
        EXPECT_NE(damaged.error().message.find("entry 2"), std::string::npos);
        EXPECT_EQ(tables.read("b")->size(), 3U);
        const std::vector<std::string> found = tables.findings();
        ASSERT_EQ(found.size(), 1U);
        EXPECT_TRUE(found[0].starts_with("damaged a: entry 2 ")) << found[0];
    }
}

TEST(postgres_damage, a_missing_entry_is_noticed_and_named) {
    DamagedTables tables;
    tables.run(
        "delete from pal_entry where seq in (1, 3) and log = (select log from pal_name where id = "
        "'a')");
    const auto gap = tables.read("a");
    ASSERT_FALSE(gap);
    EXPECT_NE(gap.error().message.find("entry 1 of"), std::string::npos) << gap.error().message;
    const std::vector<std::string> found = tables.findings();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_NE(found[0].find("entry 1 of \"a\" is missing"), std::string::npos) << found[0];
    EXPECT_NE(found[1].find("entry 3 of \"a\" is missing"), std::string::npos) << found[1];
}

TEST(postgres_damage, a_header_without_its_head_is_damage_and_never_absent) {
    DamagedTables tables;
    tables.run("delete from pal_head where log = (select log from pal_name where id = 'a')");
    const auto head = tables.store().head(ConversationId{"t", "a"});
    const auto appended = tables.store().append({"t", "a"}, says("four"));
    ASSERT_FALSE(head || appended);
    for (const Error& error : {head.error(), appended.error()}) {
        EXPECT_EQ(error.code, ErrorCode::internal) << error.message;
        EXPECT_NE(error.message.find("is damaged"), std::string::npos) << error.message;
    }
    EXPECT_EQ(tables.read("b")->size(), 3U);
    const std::vector<std::string> found = tables.findings();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].starts_with("damaged a: ")) << found[0];
    EXPECT_TRUE(found[0].ends_with("; 3 entries of it are there")) << found[0];
}

TEST(postgres_damage, a_head_that_is_lost_is_made_from_the_entries_when_asked) {
    DamagedTables tables;
    const Header before = *tables.store().head(ConversationId{"t", "a"});
    tables.run("delete from pal_head where log = (select log from pal_name where id = 'a')");
    const auto report = tables.store().repair({});
    ASSERT_EQ(report->findings.size(), 1U) << "told and done";
    EXPECT_TRUE(report->findings[0].message.find("it was made from them") != std::string::npos);
    EXPECT_EQ(tables.findings(), std::vector<std::string>{});
    const auto after = tables.store().head(ConversationId{"t", "a"});
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(after->end, before.end);
    EXPECT_EQ(after->messages, before.messages);
    EXPECT_EQ(after->basis, before.basis);
    EXPECT_GT(after->epoch, before.epoch) << "whoever remembers the old one reads again";
    EXPECT_EQ(tables.store().append({"t", "a"}, says("four"))->last, Seq{4});
    EXPECT_EQ(texts_of(tables.store(), {"t", "a"}).size(), 4U);
    EXPECT_EQ(tables.store().list({.tenant = "t"})->headers.size(), 2U);
}

TEST(postgres_damage, what_lost_a_row_of_its_header_can_be_erased) {
    for (const std::vector<std::string>& lost : std::vector<std::vector<std::string>>{
             {"pal_head"}, {"pal_log"}, {"pal_head", "pal_log"}}) {
        DamagedTables tables;
        const std::string large(70'000, 'x');
        ASSERT_TRUE(tables.store().append({"t", "a"}, says(large)));
        for (const std::string& table : lost)
            tables.run("delete from " + table +
                       " where log = (select log from pal_name where id = 'a')");
        const auto erased = tables.store().erase({"t", "a"});
        ASSERT_TRUE(erased) << lost.front() << ": " << erased.error().message;
        EXPECT_EQ(erased->entries, 4U);
        EXPECT_EQ(erased->logs, 1U);
        EXPECT_EQ(tables.findings(), std::vector<std::string>{});
        EXPECT_EQ(tables.count("pal_entry"), "3\n") << "of the other";
        EXPECT_EQ(tables.count("pal_body"), "0\n");
        EXPECT_EQ(tables.store().erase({"t", "a"}).error().code, ErrorCode::not_found);
        EXPECT_TRUE(tables.store().append({"t", "a"}, says("begun anew")));
    }
}

TEST(postgres_damage, a_copy_names_what_lists_leave_out_and_has_the_rest) {
    for (const std::string table : {"pal_head", "pal_log"}) {
        DamagedTables tables;
        tables.run("delete from " + table +
                   " where log = (select log from pal_name where id = 'a')");
        const auto to = open_good("memory:?ttl=0");
        const auto report = copy_store(tables.store(), *to, {});
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_EQ(report->conversations, 1U) << table;
        ASSERT_EQ(report->failures.size(), 1U) << table;
        EXPECT_EQ(report->failures[0].what, "a");
        EXPECT_EQ(report->failures[0].error.code, ErrorCode::internal);
        EXPECT_EQ(texts_of(*to, {"t", "b"}).size(), 3U);
    }
}

TEST(postgres_damage, a_copy_has_what_is_readable_and_not_listed) {
    DamagedTables tables;
    tables.run("update pal_head set named = false");
    const auto to = open_good("memory:?ttl=0");
    const auto report = copy_store(tables.store(), *to, {});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->conversations, 2U);
    EXPECT_EQ(texts_of(*to, {"t", "a"}).size(), 3U);
}

TEST(postgres_damage, a_log_without_its_head_keeps_no_key_of_others) {
    ::setenv("PAL_LIVE_KEY", std::string(64, 'a').c_str(), 1);
    const std::string url = unique(running().postgres->url());
    const auto store = open_store(url, {.encryption_key = "env:PAL_LIVE_KEY"});
    ASSERT_TRUE(store) << store.error().message;
    Batch brief = says("brief");
    brief.patch.ttl.emplace(Duration(1));
    const LogId torn = (*store)->append({"t", "torn"}, says("one"))->header.log;
    for (const char* id : {"a", "b", "c", "d", "e"})
        ASSERT_TRUE((*store)->append({"t", id}, brief));
    (void)run_sql(url,
                  "delete from pal_head where log = (select log from pal_name where id = 'torn')");
    std::size_t went = 0;
    while (went < 5) {
        const auto swept = (*store)->sweep(100);
        ASSERT_TRUE(swept) << swept.error().message;
        went += *swept;
    }
    const auto keys = open_store(url, {.raw = true}).value()->list_records({"t", "pal.key"});
    ASSERT_EQ(keys->size(), 1U);
    EXPECT_EQ(keys->front().key.key, hex(torn));
}

TEST(postgres_damage, a_name_that_is_lost_is_found_and_put_back) {
    DamagedTables tables;
    tables.run("delete from pal_name where id = 'a'");
    EXPECT_FALSE(tables.store().head(ConversationId{"t", "a"}));
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(tables.findings().size(), 1U) << "only told";
        EXPECT_TRUE(tables.findings()[0].starts_with("name a: ")) << tables.findings()[0];
    }
    EXPECT_EQ(tables.store().repair({})->findings.size(), 1U) << "told and done";
    EXPECT_EQ(tables.findings(), std::vector<std::string>{});
    EXPECT_EQ(texts_of(tables.store(), {"t", "a"}).size(), 3U);
}

TEST(postgres_damage, a_name_that_another_took_meanwhile_is_left_alone) {
    DamagedTables tables;
    tables.run("delete from pal_name where id = 'a'");
    ASSERT_TRUE(tables.store().append({"t", "a"}, says("begun anew")));
    EXPECT_EQ(tables.store().repair({})->findings.size(), 1U);
    EXPECT_EQ(tables.findings().size(), 1U);
    EXPECT_EQ(texts_of(tables.store(), {"t", "a"}), std::vector<std::string>{"begun anew"});
}

TEST(postgres_damage, entries_whose_log_is_lost_are_found) {
    DamagedTables tables;
    tables.run(
        "delete from pal_log where log = (select log from pal_name where id = 'a'); "
        "insert into pal_entry(log, seq, kind, at, ordinal, meta) values "
        "('00000000-0000-0000-0000-000000000001', 1, 0, 0, 1, 'x')");
    const std::vector<std::string> found = tables.findings();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_TRUE(found[0].starts_with("orphan a: ")) << found[0];
    EXPECT_NE(found[0].find("; 3 entries of it are there"), std::string::npos) << found[0];
    EXPECT_TRUE(found[1].starts_with("orphan 00000000000000000000000000000001: 1 ")) << found[1];
}

// "b" gets a fork at its end, "f".
LogId fork_of(DamagedTables& tables, const char* id) {
    const Header parent = *tables.store().head(ConversationId{"t", id});
    Batch fork = says("other");
    fork.fork = ForkPoint{.parent = parent.log, .at = parent.end, .messages = parent.messages};
    return tables.store().append({"t", "f"}, fork)->header.log;
}

TEST(postgres_damage, a_fork_whose_parent_is_lost_is_damaged_and_not_absent) {
    for (const std::vector<std::string>& lost : std::vector<std::vector<std::string>>{
             {"pal_log"}, {"pal_head"}, {"pal_log", "pal_head", "pal_entry"}}) {
        DamagedTables tables;
        (void)fork_of(tables, "b");
        const std::string& table = lost.back();
        for (const std::string& one : lost)
            tables.run("delete from " + one +
                       " where log = (select log from pal_name where id = 'b')");
        const auto header = tables.store().head(ConversationId{"t", "f"});
        ASSERT_TRUE(header) << header.error().message;
        const auto read = read_lineage(tables.store(), *header, {});
        ASSERT_FALSE(read) << table;
        EXPECT_EQ(read.error().code, ErrorCode::internal) << read.error().message;
        EXPECT_NE(read.error().message.find("is damaged"), std::string::npos);
        EXPECT_FALSE(tables.findings().empty());
        EXPECT_TRUE(tables.store().erase({"t", "f"})) << "it can be erased all the same";
    }
}

TEST(postgres_damage, what_a_fork_shares_stays_whatever_row_of_the_two_is_lost) {
    for (const std::string lost : {"b", "f"})
        for (const std::string table : {"pal_head", "pal_log"}) {
            if (lost == "f" && table == "pal_log") continue;  // nobody knows what that shared
            DamagedTables tables;
            (void)fork_of(tables, "b");
            ASSERT_TRUE(tables.store().append({"t", "b"}, says("behind the fork")));
            tables.run("delete from " + table +
                       " where log = (select log from pal_name where id = '" + lost + "')");
            const auto erased = tables.store().erase({"t", "b"});
            ASSERT_TRUE(erased) << lost << table << ": " << erased.error().message;
            EXPECT_EQ(erased->entries, 1U) << lost << table;
            EXPECT_EQ(erased->kept_for, std::vector<std::string>{"f"}) << lost << table;
            EXPECT_EQ(texts_of(tables.store(), {"t", "f"}).size(), 4U) << lost << table;
            EXPECT_EQ(tables.findings(), std::vector<std::string>{}) << lost << table;
            ASSERT_TRUE(tables.store().erase({"t", "f"}));
            EXPECT_EQ(tables.count("pal_entry"), "3\n") << "nothing of either is left";
        }
}

TEST(postgres_damage, a_fork_that_is_not_in_its_family_keeps_what_it_shares) {
    DamagedTables tables;
    (void)fork_of(tables, "b");
    tables.run("update pal_log set root = log where id = 'f'");
    for (const char* id : {"b", "f"}) {
        const auto erased = tables.store().erase({"t", id});
        ASSERT_FALSE(erased) << id;
        EXPECT_EQ(erased.error().code, ErrorCode::internal) << erased.error().message;
        EXPECT_NE(erased.error().message.find("pal doctor --repair"), std::string::npos);
    }
    ASSERT_EQ(tables.findings().size(), 1U);
    EXPECT_TRUE(tables.findings()[0].starts_with("family f: ")) << tables.findings()[0];
    EXPECT_EQ(tables.store().repair({})->findings.size(), 1U) << "told and done";
    EXPECT_EQ(tables.findings(), std::vector<std::string>{});
    const auto erased = tables.store().erase({"t", "b"});
    ASSERT_TRUE(erased) << erased.error().message;
    EXPECT_EQ(erased->kept_for, std::vector<std::string>{"f"});
    EXPECT_EQ(texts_of(tables.store(), {"t", "f"}).size(), 4U);
}

TEST(postgres_damage, with_a_fork_whose_log_is_lost_goes_what_was_kept_for_it_alone) {
    DamagedTables tables;
    (void)fork_of(tables, "b");
    ASSERT_TRUE(tables.store().erase({"t", "b"}));
    tables.run("delete from pal_log where id = 'f'");
    (void)tables.store().repair({});
    EXPECT_EQ(tables.count("pal_entry"), "7\n") << "nobody knows what f shares";
    const auto erased = tables.store().erase({"t", "f"});
    ASSERT_TRUE(erased) << erased.error().message;
    EXPECT_EQ(erased->entries, 4U);
    EXPECT_EQ(tables.count("pal_entry"), "3\n") << "those of a";
    EXPECT_EQ(tables.findings(), std::vector<std::string>{});
}

TEST(postgres_damage, what_is_kept_for_forks_that_are_gone_is_told_and_removed_when_asked) {
    DamagedTables tables;
    const std::string f = hex(fork_of(tables, "b"));
    const std::string b = hex(tables.store().head(ConversationId{"t", "b"})->log);
    ASSERT_TRUE(tables.store().erase({"t", "b"}));
    for (const std::string table : {"pal_log", "pal_head", "pal_entry", "pal_name"})
        tables.run("delete from " + table + " where log = '" + f + "'");
    ASSERT_EQ(tables.findings().size(), 1U);
    EXPECT_TRUE(tables.findings()[0].starts_with("kept " + b + ": was erased, and 3 entries"))
        << tables.findings()[0];
    EXPECT_EQ(tables.store().repair({})->findings.size(), 1U) << "told and done";
    EXPECT_EQ(tables.findings(), std::vector<std::string>{});
    EXPECT_EQ(tables.count("pal_entry"), "3\n") << "those of a";
}

TEST(postgres_damage, a_wrong_count_of_messages_is_set_right_when_asked) {
    DamagedTables tables;
    tables.run(
        "update pal_head set messages = 7 where log = (select log from pal_name where id = 'a')");
    ASSERT_EQ(tables.findings().size(), 1U);
    EXPECT_EQ(tables.store().repair({})->findings.size(), 1U) << "told and done";
    EXPECT_EQ(tables.findings(), std::vector<std::string>{});
    EXPECT_EQ(tables.store().head(ConversationId{"t", "a"})->messages, 3U);
}

TEST(postgres_damage, what_listings_go_by_is_compared_with_the_header_and_written_anew) {
    for (const std::string change :
         {"update pal_head set named = false", "update pal_head set tenant = 'u'",
          "update pal_head set updated_minute = 1", "update pal_log set labels = '{}'"}) {
        DamagedTables tables;
        Batch labels;
        labels.patch.metadata_merge = R"({"topic":"birds","mood":"calm"})";
        ASSERT_TRUE(tables.store().append({"t", "a"}, labels));
        ASSERT_EQ(tables.findings(), std::vector<std::string>{});
        tables.run(change + " where log = (select log from pal_name where id = 'a')");
        ASSERT_EQ(tables.findings().size(), 1U) << change;
        EXPECT_TRUE(tables.findings()[0].starts_with("listing a: ")) << tables.findings()[0];
        EXPECT_EQ(tables.store().repair({})->findings.size(), 1U) << "told and done";
        EXPECT_EQ(tables.findings(), std::vector<std::string>{}) << change;
        EXPECT_EQ(tables.store().list({.tenant = "t"})->headers.size(), 2U) << change;
        EXPECT_EQ(
            tables.store().list({.tenant = "t", .metadata = {{"topic", "birds"}}})->headers.size(),
            1U)
            << change;
    }
}

TEST(postgres_damage, metadata_that_is_no_json_is_told_and_emptied_when_asked) {
    DamagedTables tables;
    tables.run("update pal_log set metadata = 'x' where id = 'a'");
    ASSERT_EQ(tables.findings().size(), 1U);
    EXPECT_TRUE(tables.findings()[0].starts_with("metadata a: ")) << tables.findings()[0];
    EXPECT_EQ(tables.store().repair({})->findings.size(), 1U) << "told and done";
    EXPECT_EQ(tables.findings(), std::vector<std::string>{});
    EXPECT_EQ(tables.store().head(ConversationId{"t", "a"})->metadata, "{}");
}

TEST(postgres_damage, tables_without_their_version_are_damage_and_not_absent) {
    for (const std::string change : {"delete from pal_schema", "drop table pal_schema"}) {
        DamagedTables tables;
        tables.run(change);
        for (const bool create : {true, false}) {
            const auto refused = open_store(tables.url(), {.create = create});
            ASSERT_FALSE(refused) << change;
            EXPECT_EQ(refused.error().code, ErrorCode::internal) << refused.error().message;
            EXPECT_NE(refused.error().message.find("is damaged"), std::string::npos);
            EXPECT_NE(refused.error().message.find("INSERT INTO pal_schema"), std::string::npos);
        }
    }
}

TEST(postgres_check, counts_the_records_of_all_tenants_unless_one_is_named) {
    DamagedTables tables;
    for (const char* tenant : {"t", "u"})
        ASSERT_TRUE(tables.store().put_record({.key = {tenant, "s", "k"}, .value = "v"}));
    const std::string tenants[] = {"t"};
    EXPECT_EQ(tables.store().check({})->records, 2U);
    EXPECT_EQ(tables.store().check(tenants)->records, 1U);
}

// What psql prints, on the server that runs.
std::string psql(const PostgresServer& server, const std::string& database,
                 const std::string& sql) {
    return output_of("psql -h 127.0.0.1 -p " + std::to_string(server.port()) + " -U postgres " +
                     database + " -v ON_ERROR_STOP=1 -Atqc \"" + sql + "\"");
}

TEST(postgres_server, with_tables_of_others_is_refused_and_left_as_it_is) {
    const PostgresServer& server = *running().postgres;
    for (const std::string foreign : {"pal_entry(note text)", "pal_schema(version text)"}) {
        const std::string name = foreign.substr(0, foreign.find('('));
        (void)psql(server, "postgres", "create database others");
        (void)psql(server, "others", "create table " + foreign);
        const std::string url =
            "postgresql://postgres@127.0.0.1:" + std::to_string(server.port()) + "/others";
        const auto refused = open_store(url);
        ASSERT_FALSE(refused) << foreign;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_request) << refused.error().message;
        EXPECT_NE(refused.error().message.find(name), std::string::npos);
        EXPECT_NE(refused.error().message.find("?schema=NAME"), std::string::npos);
        EXPECT_EQ(psql(server, "others", "select relname from pg_class where relname ~ '^pal_'"),
                  name + "\n")
            << "nothing is left behind";
        EXPECT_TRUE(open_store(url + "?schema=ours")) << "as it says";
        (void)psql(server, "postgres", "drop database others with (force)");
    }
}

TEST(postgres_server, that_knows_neither_user_nor_database_is_not_asked_again) {
    const PostgresServer server;
    const auto code = [&](const std::string& who, const std::string& database) {
        const auto store = open_store(
            "postgres://" + who + "@127.0.0.1:" + std::to_string(server.port()) + "/" + database);
        if (store) return std::string("it opened");
        EXPECT_EQ(store.error().message.find("wrong1"), std::string::npos);
        return std::string(error_info(store.error().code).name) + ": " + store.error().message;
    };
    EXPECT_TRUE(code("nobody", "postgres").starts_with("unauthorized: ")) << code("nobody", "x");
    const std::string absent = code("postgres", "nowhere");
    EXPECT_TRUE(absent.starts_with("not_found: ")) << absent;
    EXPECT_NE(absent.find("createdb"), std::string::npos) << absent;
    EXPECT_EQ(absent.find("LOCATION"), std::string::npos) << absent;
    (void)psql(server, "postgres", "create role reader login");
    (void)psql(server, "postgres", "alter role reader set default_transaction_read_only = on");
    const std::string reads = code("reader", "postgres");
    EXPECT_NE(reads.find("name the primary"), std::string::npos) << reads;
    (void)psql(server, "postgres", "create role guest login password 'right'");
    const std::string file = psql(server, "postgres", "show hba_file");
    (void)psql(server, "postgres",
               "copy (select * from (values ('host all postgres 127.0.0.1/32 trust'), "
               "('host all all 127.0.0.1/32 scram-sha-256')) as rows) to '" +
                   file.substr(0, file.size() - 1) + "'");
    (void)psql(server, "postgres", "select pg_reload_conf()");
    for (const char* who : {"guest:wrong1", "guest"})
        EXPECT_TRUE(code(who, "postgres").starts_with("unauthorized: ")) << code(who, "postgres");
    EXPECT_TRUE(code("guest:wrong1", "postgres?nothing=1").starts_with("invalid_request: "));
    const auto none = open_store(
        "postgres://postgres@127.0.0.1:" + std::to_string(server.port()) + "/postgres?schema=none",
        {.create = false});
    EXPECT_EQ(none.error().code, ErrorCode::not_found);
    EXPECT_NE(none.error().message.find("makes one"), std::string::npos);
}

}  // namespace
}  // namespace palimpsest::testing_support
