// What is Redis's own: passwords, TLS, settings that lose, expiry by the server, listings that are
// mended.
#include <map>
#include <thread>

#include "base/ids.h"
#include "live/live.h"
#include "store/promptkit_redis.h"

namespace palimpsest::testing_support {
namespace {

using namespace std::chrono_literals;

std::string at_port(const RedisServer& server, const std::string& who, const std::string& rest) {
    return "redis://" + who + "127.0.0.1:" + std::to_string(server.port()) + "/" + rest;
}

TEST(redis_server, asks_for_a_password_and_takes_the_right_one) {
    const RedisServer server({"--requirepass", "secret word"});
    for (const std::string who : {"", "wrong@"}) {
        const auto refused = open_store(at_port(server, who, "0"));
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, ErrorCode::unauthorized) << refused.error().message;
        EXPECT_EQ(refused.error().message.find("wrong"), std::string::npos);
    }
    const auto store = open_good(at_port(server, "default:secret%20word@", "2"));
    EXPECT_TRUE(store->append({"t", "a"}, says("1")).has_value());
    EXPECT_TRUE(open_good(at_port(server, "secret%20word@", "2"))
                    ->head(ConversationId{"t", "a"})
                    .has_value());
}

TEST(redis_server, speaks_tls_to_whom_it_can_prove_itself) {
    const ServerFolder folder("");
    const std::string key = folder.file("key.pem"), cert = folder.file("cert.pem");
    (void)output_of(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 "
        "-addext subjectAltName=IP:127.0.0.1 -keyout " +
        key + " -out " + cert + " 2>&1");
    const RedisServer server({"--tls-port", std::to_string(free_port()), "--tls-cert-file", cert,
                              "--tls-key-file", key, "--tls-ca-cert-file", cert,
                              "--tls-auth-clients", "no"});
    const std::string port = output_of("redis-cli -p " + std::to_string(server.port()) +
                                       " config get tls-port | tail -1");
    const std::string url = "rediss://127.0.0.1:" + std::to_string(std::stoi(port)) + "/0";
    const auto refused = open_store(url);
    ASSERT_FALSE(refused.has_value()) << "nobody vouches for that certificate";
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_EQ(refused.error().message.find("redis:"), std::string::npos) << "it does speak TLS";
    const auto plain = open_store("redis" + url.substr(6));
    ASSERT_FALSE(plain.has_value());
    EXPECT_NE(plain.error().message.find("begins with rediss:"), std::string::npos)
        << plain.error().message;
    const auto store = open_good(url + "?ca=" + cert);
    EXPECT_TRUE(store->append({"t", "a"}, says("sealed on its way")).has_value());
    EXPECT_EQ(texts_of(*store, {"t", "a"}), std::vector<std::string>{"sealed on its way"});
}

TEST(redis_server, that_forgets_keys_is_refused_unless_it_is_allowed) {
    const RedisServer server({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
    const auto refused = open_store(at_port(server, "", "0"));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_request);
    const auto store = open_good(at_port(server, "", "0?eviction=allow"));
    EXPECT_NE(store->durability().level.find("evicted"), std::string::npos);
}

// As those who run servers for others do.
TEST(redis_server, that_does_not_tell_its_settings_is_asked_otherwise) {
    const auto without_config = [](const RedisServer& server, const std::string& rest) {
        (void)output_of("redis-cli -p " + std::to_string(server.port()) +
                        " acl setuser guest on '>pw' '~*' '&*' +@all -config " + rest);
        return open_store(at_port(server, "guest:pw@", "0"));
    };
    const RedisServer kept({"--appendonly", "yes", "--appendfsync", "always"});
    const auto store = without_config(kept, "");
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_TRUE((*store)->durability().process_killed);
    EXPECT_FALSE((*store)->durability().power_cut) << "nobody said so";
    EXPECT_NE((*store)->durability().level.find("when it is synced is unknown"), std::string::npos);
    const RedisServer forgets({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
    const auto refused = without_config(forgets, "");
    ASSERT_FALSE(refused) << (*refused)->durability().level;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_request);
    const auto silent = without_config(forgets, "-info");
    ASSERT_TRUE(silent) << silent.error().message;
    EXPECT_NE((*silent)->durability().level.find("evicted is unknown"), std::string::npos);
    EXPECT_NE((*silent)->durability().level.find("on its disk is unknown"), std::string::npos);
}

TEST(redis_server, without_the_replicas_that_are_waited_for_is_refused_at_once) {
    const RedisServer server;
    for (const std::string wait : {"1", "all"}) {
        const auto refused = open_store(at_port(server, "", "0?wait=" + wait));
        ASSERT_FALSE(refused) << wait;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_request) << refused.error().message;
    }
}

TEST(redis_server, is_refused_in_words_that_say_what_to_do) {
    const RedisServer server;
    const auto said = [](const std::string& url, ErrorCode code) {
        const auto refused = open_store(url);
        if (refused) return std::string("it opened");
        EXPECT_EQ(refused.error().code, code) << refused.error().message;
        return refused.error().message;
    };
    EXPECT_NE(
        said(at_port(server, "", "0?cluster=1"), ErrorCode::invalid_request).find("leave cluster"),
        std::string::npos);
    EXPECT_NE(said("rediss://127.0.0.1:1/0?ca=/none/such.pem", ErrorCode::invalid_request)
                  .find("/none/such.pem"),
              std::string::npos);
    const std::string nobody = "redis://127.0.0.1:" + std::to_string(free_port()) + "/0";
    EXPECT_NE(said(nobody, ErrorCode::unavailable).find("is Redis running"), std::string::npos);
    const std::string high = said(at_port(server, "", "999"), ErrorCode::invalid_request);
    EXPECT_NE(high.find("CONFIG GET databases"), std::string::npos) << high;
    std::string plain = at_port(server, "", "0?timeout=300ms");
    const std::string tls = said(plain.replace(0, 5, "rediss"), ErrorCode::unavailable);
    EXPECT_NE(tls.find("begins with redis:"), std::string::npos) << tls;
}

// Over the limit before anything is asked: every command that needs memory is refused.
TEST(redis_server, whose_memory_is_full_refuses_and_goes_on_reading) {
    const RedisServer server;
    const auto limit = [&](const std::string& bytes) {
        (void)output_of("redis-cli -p " + std::to_string(server.port()) + " config set maxmemory " +
                        bytes);
    };
    const auto store = open_good(at_port(server, "", "0"));
    for (const char* id : {"a", "b"}) ASSERT_TRUE(store->append({"t", id}, says("one")));
    ASSERT_TRUE(store->put_record({.key = {"t", "s", "k"}, .value = "kept"}));
    limit("1");
    const auto refused = store->append({"t", "a"}, says("two"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::no_space) << refused.error().message;
    EXPECT_NE(refused.error().message.find("raise maxmemory"), std::string::npos);
    EXPECT_EQ(texts_of(*store, {"t", "a"}), std::vector<std::string>{"one"});
    EXPECT_EQ(store->list({.tenant = "t"})->headers.size(), 2U);
    EXPECT_EQ(store->get_record({"t", "s", "k"})->value, "kept");
    EXPECT_EQ(store->list_records({.tenant = "t", .space = "s"})->size(), 1U);
    const std::string tenants[] = {"t"};
    EXPECT_TRUE(store->check(tenants)->findings.empty());
    EXPECT_TRUE(open_store(at_port(server, "", "0"))) << "it opens";
    // What takes away makes room, and may be written down.
    EXPECT_TRUE(store->put_record({.key = {"t", "acts", "1"}, .value = "erases b"}));
    const auto erased = store->erase({"t", "b"});
    EXPECT_TRUE(erased) << erased.error().message;
    EXPECT_FALSE(store->head(ConversationId{"t", "b"}));
    EXPECT_TRUE(store->put_record({.key = {"t", "s", "k"}})) << "a record goes, too";
    const std::string large(5000, 'x');
    EXPECT_EQ(store->put_record({.key = {"t", "s", "l"}, .value = large}).error().code,
              ErrorCode::no_space);
    EXPECT_TRUE(store->sweep(10));
    limit("0");
    EXPECT_TRUE(store->append({"t", "a"}, says("two")));
}

TEST(redis_server, that_misses_replicas_refuses_writes_and_goes_on_reading) {
    const RedisServer server;
    const auto store = open_good(at_port(server, "", "0?timeout=300ms"));
    ASSERT_TRUE(store->append({"t", "a"}, says("one")));
    (void)output_of("redis-cli -p " + std::to_string(server.port()) +
                    " config set min-replicas-to-write 1");
    const auto refused = store->append({"t", "a"}, says("two"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().message;
    EXPECT_NE(refused.error().message.find("min-replicas-to-write"), std::string::npos);
    EXPECT_EQ(texts_of(*store, {"t", "a"}), std::vector<std::string>{"one"});
    EXPECT_EQ(store->list({.tenant = "t"})->headers.size(), 1U);
    EXPECT_TRUE(store->list_records({.tenant = "t", .space = "s"}));
}

TEST(redis_expiry, a_conversation_lives_a_day_by_default_and_every_key_of_it_expires) {
    RedisServer& server = *running().redis;
    const std::string url = unique(server.url());
    const auto store = open_good(url);
    const auto made = store->append({"t", "a"}, says("1", "k"));
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->header.ttl, std::optional<Duration>(24h));
    ASSERT_TRUE(store->append({"t", "a"}, {.entries = {{.body = CheckpointEntry{.name = "c"}}}})
                    .has_value());
    const std::string prefix = url.substr(url.find("prefix=") + 7);
    const std::string keys =
        output_of("for k in $(redis-cli -p " + std::to_string(server.port()) +
                  " --scan --pattern '" + prefix + ":{t/a}:*'); do echo $k $(redis-cli -p " +
                  std::to_string(server.port()) + " ttl $k); done");
    EXPECT_EQ(std::ranges::count(keys, '\n'), 6) << keys;
    EXPECT_EQ(keys.find(" -1"), std::string::npos) << "kept for ever:\n" << keys;
}

TEST(redis_expiry, a_listing_is_right_when_the_server_itself_has_removed_conversations) {
    RedisServer& server = *running().redis;
    const std::string url = unique(server.url());
    const auto store = open_good(url);
    for (const char* id : {"a", "b", "c"}) {
        Batch batch = says("1");
        batch.patch.owner = "ann";
        ASSERT_TRUE(store->append({"t", id}, batch).has_value());
    }
    const std::string prefix = url.substr(url.find("prefix=") + 7);
    (void)output_of("redis-cli -p " + std::to_string(server.port()) + " --scan --pattern '" +
                    prefix + ":{t/b}:*' | xargs redis-cli -p " + std::to_string(server.port()) +
                    " del");
    for (const SortBy sort : {SortBy::created, SortBy::updated, SortBy::accessed}) {
        const auto page = store->list({.tenant = "t", .sort = sort});
        ASSERT_TRUE(page.has_value());
        EXPECT_EQ(page->headers.size(), 2U);
    }
    const auto owned = store->list({.tenant = "t", .owner = "ann"});
    ASSERT_TRUE(owned.has_value());
    EXPECT_EQ(owned->headers.size(), 2U);
    const auto again = store->append({"t", "b"}, says("anew"));
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_TRUE(again->created);
}

// A store with the conversations "a" and "b" of three messages each; `damage` is a command of
// Redis, in which ENTRIES and PAYLOADS stand for keys of "a", INDEX for a listing, NAME and OWN
// for the names of "new" and "a".
struct DamagedKeys {
    std::string url = unique(running().redis->url());
    std::unique_ptr<Store> store = open_good(url);
    LogId log = {};
    DamagedKeys() {
        for (const char* id : {"b", "a"})
            for (const char* text : {"one", "two", "three"})
                log = store->append({"t", id}, says(text))->header.log;
    }
    void damage(std::string command) const {
        const std::string base = url.substr(url.find("prefix=") + 7) + ":{t/a}:";
        const std::map<std::string, std::string> keys{
            {"ENTRIES", base + "e:" + hex(log)},
            {"PAYLOADS", base + "p:" + hex(log)},
            {"OWN", base + "n"},
            {"NAME", url.substr(url.find("prefix=") + 7) + ":{t/new}:n"},
            {"INDEX", url.substr(url.find("prefix=") + 7) + ":{i/t}:c"}};
        for (const auto& [word, name] : keys)
            if (const auto at = command.find(word); at != command.npos)
                command.replace(at, word.size(), "'" + name + "'");
        (void)output_of("redis-cli -p " + std::to_string(running().redis->port()) + " " + command);
    }
    std::vector<Finding> findings() {
        const std::string tenants[] = {"t"};
        return store->check(tenants)->findings;
    }
};

TEST(redis_damage, a_changed_entry_is_never_given_out_and_is_named) {
    for (const char* command : {"lset PAYLOADS 1 x", "lset ENTRIES 1 '0:5:2:1:x'"}) {
        DamagedKeys keys;
        ASSERT_TRUE(keys.findings().empty());
        keys.damage(command);
        const auto damaged = keys.store->read(keys.log, {});
        ASSERT_FALSE(damaged) << command;
        EXPECT_EQ(damaged.error().code, ErrorCode::internal);
        EXPECT_NE(damaged.error().message.find("entry 2"), std::string::npos);
        EXPECT_EQ(texts_of(*keys.store, {"t", "b"}).size(), 3U);
        ASSERT_EQ(keys.findings().size(), 1U) << command;
        EXPECT_EQ(keys.findings()[0].where, "a");
        EXPECT_NE(keys.findings()[0].message.find("entry 2"), std::string::npos);
    }
}

TEST(redis_damage, a_missing_entry_is_noticed_and_nothing_is_appended_in_its_place) {
    for (const char* command : {"lpop ENTRIES", "rpop PAYLOADS", "del ENTRIES"}) {
        DamagedKeys keys;
        keys.damage(command);
        EXPECT_FALSE(keys.store->read(keys.log, {})) << command;
        EXPECT_FALSE(keys.store->read(keys.log, {.ranges = {{Seq{2}, Seq{2}}}})) << command;
        const auto appended = keys.store->append({"t", "a"}, says("four"));
        ASSERT_FALSE(appended) << command;
        EXPECT_EQ(appended.error().code, ErrorCode::internal);
        EXPECT_FALSE(keys.findings().empty()) << command;
        EXPECT_EQ(texts_of(*keys.store, {"t", "b"}).size(), 3U);
    }
}

TEST(redis_damage, what_a_listing_should_not_name_is_told_and_goes_when_asked) {
    DamagedKeys keys;
    keys.damage("zadd INDEX 1 '00000000000000000000000000000001 ghost'");
    const std::string tenants[] = {"t"};
    EXPECT_EQ(keys.store->list({.tenant = "t", .sort = SortBy::created})->headers.size(), 2U);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(keys.findings().size(), 1U) << "only told";
        EXPECT_EQ(keys.findings()[0].what, "listing");
    }
    EXPECT_EQ(keys.store->repair(tenants)->findings.size(), 1U) << "told and done";
    EXPECT_TRUE(keys.findings().empty());
}

// Somebody else's values under names of ours.
TEST(redis_damage, values_of_others_are_named_with_their_keys) {
    for (const char* command : {"set NAME foreign", "lpush NAME foreign"}) {
        DamagedKeys keys;
        keys.damage(command);
        const auto appended = keys.store->append({"t", "new"}, says("one"));
        ASSERT_FALSE(appended) << command;
        EXPECT_EQ(appended.error().code, ErrorCode::internal) << appended.error().message;
        EXPECT_NE(appended.error().message.find("{t/new}:n"), std::string::npos)
            << appended.error().message;
    }
    DamagedKeys taken;
    taken.damage("del OWN");
    taken.damage("lpush OWN foreign");
    ASSERT_EQ(taken.findings().size(), 1U) << "and the check goes on";
    EXPECT_EQ(taken.findings()[0].where, "a");
    EXPECT_NE(taken.findings()[0].message.find("{t/a}:n"), std::string::npos);
    DamagedKeys keys;
    keys.damage("del INDEX");
    keys.damage("set INDEX foreign");
    const auto listed = keys.store->list({.tenant = "t", .sort = SortBy::created});
    ASSERT_FALSE(listed);
    EXPECT_NE(listed.error().message.find("{i/t}:c"), std::string::npos) << listed.error().message;
    ASSERT_EQ(keys.findings().size(), 1U);
    EXPECT_NE(keys.findings()[0].where.find("{i/t}:c"), std::string::npos);
    const std::string tenants[] = {"t"};
    EXPECT_EQ(keys.store->repair(tenants)->findings.size(), 1U) << "it is left alone";
    keys.damage("del INDEX");
    EXPECT_EQ(keys.store->repair(tenants)->findings.size(), 2U);
    EXPECT_EQ(keys.store->list({.tenant = "t", .sort = SortBy::created})->headers.size(), 2U);
}

// The layout as PromptKit writes it, decomposed and as one text.
TEST(promptkit_in_redis, is_read_as_it_lies_there) {
    const RedisServer server;
    const auto redis = [&](const std::string& words) {
        return output_of("redis-cli -p " + std::to_string(server.port()) + " " + words);
    };
    const std::string stem = "promptkit:conversation:";
    (void)redis("set " + stem + R"(a:1:meta '{"id":"a:1","user_id":"ann"}')");
    (void)redis("rpush " + stem + R"(a:1:messages '{"role":"user","content":"hi"}' )" +
                R"('{"role":"assistant","content":"hello"}')");
    (void)redis("hset " + stem + R"(a:1:metadata user.topic '"birds"')");
    (void)redis("sadd " + stem + "a:1:lists notes");
    (void)redis("rpush " + stem + "a:1:list:notes x");
    (void)redis("set " + stem + R"(old '{"ID":"old","Messages":[]}')");
    (void)redis("rpush " + stem + R"(begun:messages '{"role":"user","content":"first"}')");
    (void)redis("set other:conversation:b:meta '{}'");
    std::map<std::string, std::string> found;
    const auto count = read_promptkit_redis(at_port(server, "", "0"), [&](auto& id, auto& state) {
        found[id] = state;
        return Result<void>{};
    });
    ASSERT_TRUE(count) << count.error().message;
    EXPECT_EQ(*count, 3u);
    EXPECT_EQ(found["begun"],
              R"({"meta":{"id":"begun"},"messages":[{"role":"user","content":"first"}],)"
              R"("summaries":[],"metadata":{},"lists":{}})")
        << "PromptKit writes the messages first, and may have died then";
    EXPECT_EQ(found["a:1"],
              R"({"meta":{"id":"a:1","user_id":"ann"},"messages":[{"role":"user","content":"hi"},)"
              R"({"role":"assistant","content":"hello"}],"summaries":[],)"
              R"("metadata":{"user.topic":"\"birds\""},"lists":{"notes":["x"]}})");
    EXPECT_EQ(found["old"], R"({"ID":"old","Messages":[]})");

    const PromptkitState state{.id = "b",
                               .owner = "ann",
                               .meta = R"({"id":"b"})",
                               .messages = {R"({"role":"user"})", R"({"role":"assistant"})"},
                               .metadata = {{"k", "1"}}};
    const auto written = write_promptkit_redis(at_port(server, "", "0"), state);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(redis("lrange " + stem + "b:messages 1 1"), "{\"role\":\"assistant\"}\n");
    EXPECT_EQ(redis("hget " + stem + "b:metadata user.k"), "1\n");
    EXPECT_EQ(redis("smembers promptkit:user:ann:conversations"), "b\n");
    EXPECT_NE(redis("pttl " + stem + "b:meta"), "-1\n");
    EXPECT_EQ(write_promptkit_redis(at_port(server, "", "0"), state).error().code,
              ErrorCode::conflict);
}

}  // namespace
}  // namespace palimpsest::testing_support
