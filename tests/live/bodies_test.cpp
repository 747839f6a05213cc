// Large payloads on servers: one copy for a family of forks, as long as somebody in it says it.
#include <thread>

#include "base/ids.h"
#include "live/live.h"
#include "store/lineage.h"

namespace palimpsest::testing_support {
namespace {

using namespace std::chrono_literals;

const ConversationId parent{"t", "a"}, child{"t", "b"};
const std::string picture(300'000, 'q');

Batch for_ever(Batch batch) {
    batch.patch.ttl = std::optional<Duration>();
    return batch;
}

Result<Appended> make_fork(Store& store) {
    Batch fork = for_ever(says(picture));
    fork.fork = fork_point(store, store.head(parent).value(), Seq{1}).value();
    return store.append(child, fork);
}

// Three times by the parent, once by its fork.
LogId say_it_everywhere(Store& store) {
    const auto first = store.append(parent, for_ever(says(picture)));
    EXPECT_TRUE(first) << first.error().message;
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(store.append(parent, says(picture)));
    EXPECT_TRUE(make_fork(store));
    return first->header.log;
}

Result<void> scrub(Store& store, const LogId& log, Seq seq) {
    MessageEntry gone;
    gone.scrubbed = true;
    const Replacement replacement{log, seq, gone};
    return store.scrub({&replacement, 1});
}

// Two logs of one family, two servers: each says the picture and takes it back, over and over, so
// that one names it while the other removes its last use.
TEST(live, a_large_payload_is_never_lost_to_another_server_that_removes_it) {
    const std::string url = unique(running().url());
    const auto first = open_good(url), second = open_good(url);
    ASSERT_TRUE(first->append(parent, for_ever(says("1"))));
    ASSERT_TRUE(make_fork(*first));
    std::vector<std::jthread> threads;
    for (int me = 0; me < 4; ++me)
        threads.emplace_back([&, me] {
            Store& store = me % 2 == 0 ? *first : *second;
            const ConversationId& name = me < 2 ? parent : child;
            for (int i = 0; i < 25; ++i) {
                const auto said = store.append(name, says(picture));
                ASSERT_TRUE(said) << said.error().message;
                const LogId log = said->header.log;
                const auto read = store.read(log, {.ranges = {{said->first, said->last}}});
                ASSERT_TRUE(read) << read.error().message;
                const auto& message = std::get<MessageEntry>(read->at(0).body);
                ASSERT_TRUE(view_of(message.message.raw) == picture);
                const auto done = scrub(store, log, said->first);
                ASSERT_TRUE(done) << done.error().message;
            }
        });
    threads.clear();
    EXPECT_EQ(texts_of(*second, child).at(1), picture);
}

// ---- PostgreSQL ---------------------------------------------------------------------------------

class Tables {
public:
    std::string url = unique(running().postgres->url());
    std::string ask(const std::string& sql) const {
        const std::string schema = url.substr(url.find("schema=") + 7);
        return output_of("psql -h 127.0.0.1 -p " + std::to_string(running().postgres->port()) +
                         " -U postgres postgres -v ON_ERROR_STOP=1 -Atqc \"set search_path to " +
                         schema.substr(0, schema.find('&')) + "; " + sql + "\"");
    }
};
constexpr const char* count_bodies = "select count(*), sum(length(bytes)) from pal_body";

TEST(postgres_bodies, hold_what_a_family_says_again_once_and_go_with_its_last_use) {
    const Tables tables;
    const auto store = open_good(tables.url);
    const LogId log = say_it_everywhere(*store);
    EXPECT_EQ(tables.ask(count_bodies), "1|300000\n");
    EXPECT_EQ(tables.ask("select count(*) from pal_entry where payload is null"), "4\n");
    ASSERT_TRUE(store->append({"t", "c"}, says(picture)));
    EXPECT_EQ(tables.ask(count_bodies), "2|600000\n") << "another family has its own";
    ASSERT_TRUE(scrub(*store, log, Seq{3}));
    ASSERT_TRUE(store->erase(parent));
    EXPECT_EQ(tables.ask(count_bodies), "2|600000\n");
    EXPECT_EQ(texts_of(*store, child), (std::vector<std::string>{picture, picture}));
    ASSERT_TRUE(store->erase(child));
    EXPECT_EQ(tables.ask(count_bodies), "1|300000\n");
    ASSERT_TRUE(scrub(*store, store->head({"t", "c"})->log, Seq{1}));
    EXPECT_EQ(tables.ask(count_bodies), "0|\n");
}

TEST(postgres_bodies, come_to_tables_of_version_2_which_go_on) {
    const Tables tables;
    ASSERT_TRUE(open_good(tables.url)->append(parent, says("old")));
    (void)tables.ask(
        "drop table pal_body; alter table pal_entry drop column shared; "
        "drop index pal_log_parent; "
        "update pal_schema set version = 2");
    std::vector<std::jthread> starting;
    for (int i = 0; i < 4; ++i) starting.emplace_back([&] { open_good(tables.url).reset(); });
    starting.clear();
    EXPECT_EQ(tables.ask("select version from pal_schema"), "4\n");
    const auto store = open_good(tables.url);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(store->append(parent, says(picture)));
    EXPECT_EQ(texts_of(*store, parent), (std::vector<std::string>{"old", picture, picture}));
    EXPECT_EQ(tables.ask(count_bodies), "1|300000\n");
}

TEST(postgres_bodies, that_are_missing_or_changed_are_damage_of_their_entries) {
    for (const char* damage : {"delete from pal_body", "update pal_body set bytes = 'x'"}) {
        const Tables tables;
        const auto store = open_good(tables.url);
        const LogId log = say_it_everywhere(*store);
        ASSERT_TRUE(store->append({"t", "c"}, says("untouched")));
        (void)tables.ask(damage);
        const auto read = store->read(log, {});
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, ErrorCode::internal);
        EXPECT_EQ(texts_of(*store, {"t", "c"}), std::vector<std::string>{"untouched"});
        const std::string tenants[] = {"t"};
        EXPECT_FALSE(store->check(tenants)->findings.empty());
    }
}

// ---- Redis --------------------------------------------------------------------------------------

class Keys {
public:
    std::string url = unique(running().redis->url());
    std::string ask(const std::string& words) const {
        return output_of("redis-cli -p " + std::to_string(running().redis->port()) + " " + words);
    }
    std::string key(const std::string& rest, const std::string& id = "a") const {
        return "'" + url.substr(url.find("prefix=") + 7) + ":{t/" + id + "}:" + rest + "'";
    }
};

TEST(redis_bodies, hold_what_a_family_says_again_once_and_go_with_its_last_use) {
    const Keys keys;
    const auto store = open_good(keys.url);
    const LogId log = say_it_everywhere(*store);
    EXPECT_EQ(keys.ask("hlen " + keys.key("b")), "1\n");
    EXPECT_EQ(keys.ask("hlen " + keys.key("s")), "4\n");
    EXPECT_EQ(keys.ask("lrange " + keys.key("p:" + hex(log)) + " 0 -1 | wc -c"), "99\n")
        << "three hashes of 32 bytes and a newline";
    ASSERT_TRUE(scrub(*store, log, Seq{3}));
    EXPECT_EQ(keys.ask("hlen " + keys.key("s")), "3\n");
    ASSERT_TRUE(store->erase(parent));
    EXPECT_EQ(keys.ask("hlen " + keys.key("b")), "1\n");
    EXPECT_EQ(texts_of(*store, child), (std::vector<std::string>{picture, picture}));
    ASSERT_TRUE(store->erase(child));
    EXPECT_EQ(keys.ask("exists " + keys.key("b") + " " + keys.key("s")), "0\n");
}

TEST(redis_bodies, expire_with_an_unforked_conversation_and_stay_with_a_forked_one) {
    const Keys keys;
    const auto store = open_good(keys.url);
    const auto kept_for_ever = [&] { return keys.ask("pttl " + keys.key("b")) == "-1\n"; };
    ASSERT_TRUE(store->append(parent, says("1")));
    ASSERT_TRUE(store->append(parent, says(picture)));
    EXPECT_FALSE(kept_for_ever());
    ASSERT_TRUE(store->append(parent, for_ever({})));
    EXPECT_TRUE(kept_for_ever());
    Batch a_day;
    a_day.patch.ttl = std::optional<Duration>(24h);
    ASSERT_TRUE(store->append(parent, a_day));
    EXPECT_FALSE(kept_for_ever());
    ASSERT_TRUE(make_fork(*store));
    EXPECT_TRUE(kept_for_ever());
    // Under the name of an erased one that its fork keeps, the bodies are those of both.
    ASSERT_TRUE(store->erase(parent));
    const auto anew = store->append(parent, says("anew"));
    ASSERT_TRUE(anew) << anew.error().message;
    EXPECT_EQ(anew->header.ttl, std::optional<Duration>(24h));
    EXPECT_TRUE(kept_for_ever());
    ASSERT_TRUE(store->append(parent, says(picture)));
    EXPECT_TRUE(kept_for_ever());
    EXPECT_EQ(keys.ask("pttl " + keys.key("e:" + hex(anew->header.log))), "-1\n");
    ASSERT_TRUE(store->erase(child));
    EXPECT_EQ(texts_of(*store, parent), (std::vector<std::string>{"anew", picture}));
    ASSERT_TRUE(store->erase(parent));
    EXPECT_EQ(keys.ask("exists " + keys.key("b") + " " + keys.key("s")), "0\n");
}

TEST(redis_bodies, that_are_missing_or_changed_are_damage_of_their_entries) {
    for (const char* damage : {"del ", "hset "}) {
        const Keys keys;
        const auto store = open_good(keys.url);
        const LogId log = say_it_everywhere(*store);
        ASSERT_TRUE(store->append({"t", "c"}, says("untouched")));
        const std::string b = keys.key("b");
        (void)keys.ask(damage[0] == 'd'
                           ? "del " + b
                           : "eval \"for _, k in ipairs(redis.call('hkeys', KEYS[1])) do "
                             "redis.call('hset', KEYS[1], k, 'x') end\" 1 " +
                                 b);
        const auto read = store->read(log, {});
        ASSERT_FALSE(read) << damage;
        EXPECT_EQ(read.error().code, ErrorCode::internal);
        EXPECT_EQ(texts_of(*store, {"t", "c"}), std::vector<std::string>{"untouched"});
        const std::string tenants[] = {"t"};
        EXPECT_FALSE(store->check(tenants)->findings.empty());
    }
}

}  // namespace
}  // namespace palimpsest::testing_support
