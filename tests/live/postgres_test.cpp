// What is PostgreSQL's own: TLS, by libpq's settings in the URL; rows that somebody changed.
#include <map>

#include "live/live.h"

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

// A store with the conversations "a" and "b" of three messages each, and a way into its tables.
class DamagedTables {
public:
    DamagedTables() : url_(unique(running().postgres->url())), store_(open_good(url_)) {
        for (const char* id : {"a", "b"})
            for (const char* text : {"one", "two", "three"})
                logs_[id] = store_->append({"t", id}, says(text))->header.log;
    }
    void run(const std::string& sql) const {
        const std::string schema = url_.substr(url_.find("schema=") + 7);
        (void)output_of("psql -h 127.0.0.1 -p " + std::to_string(running().postgres->port()) +
                        " -U postgres postgres -v ON_ERROR_STOP=1 -qc \"set search_path to " +
                        schema.substr(0, schema.find('&')) + "; " + sql + "\"");
    }
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

}  // namespace
}  // namespace palimpsest::testing_support
