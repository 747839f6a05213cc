// The server itself is killed, again and again, under clients that go on: nothing acknowledged is
// lost, nothing is there twice, and they come back by themselves. Without syncs it must lose, or
// the test proves nothing.
#include <thread>

#include "live/live.h"

namespace palimpsest::testing_support {
namespace {

using namespace std::chrono_literals;

// Kills the server after some time and starts it again, `kills` times.
template <class Server>
std::function<void()> killer(Server& server, std::size_t kills, std::atomic<std::size_t>& done) {
    return [&server, kills, &done] {
        std::this_thread::sleep_for(done < kills ? 250ms : 20ms);
        if (done >= kills) return;
        server.process().kill();
        server.restart();
        ++done;
    };
}

template <class Server>
void survive_kills(Server& server, const std::string& kind, std::size_t kills) {
    std::atomic<std::size_t> done = 0;
    std::size_t acknowledged = 0;
    while (done < kills) {
        const std::string url = unique(server.url());
        const auto result = run_list_append(
            {.urls = {url, url}, .operations = 1600, .disturb = killer(server, kills, done)});
        EXPECT_EQ(result.anomalies, std::vector<std::string>{});
        acknowledged += result.acknowledged;
        if (!result.anomalies.empty()) break;
    }
    std::cout << kind << ": " << done << " kills of the server, " << acknowledged
              << " appends acknowledged" << std::endl;
}

TEST(redis_kill, with_an_append_only_file_synced_always_nothing_acknowledged_is_lost) {
    RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
    const auto store = open_good(unique(server.url()));
    EXPECT_TRUE(store->durability().power_cut) << store->durability().level;
    survive_kills(server, "redis, synced", setting("PAL_SERVER_KILLS", 4));
}

TEST(redis_kill, without_an_append_only_file_acknowledged_appends_are_lost_and_that_is_said) {
    RedisServer server;
    const std::string url = unique(server.url());
    const auto store = open_good(url);
    EXPECT_FALSE(store->durability().process_killed) << store->durability().level;
    ASSERT_TRUE(store->append({"t", "a"}, says("gone")).has_value());
    server.process().kill();
    server.restart();
    EXPECT_EQ(texts_of(*open_good(url), {"t", "a"}), std::vector<std::string>{});
}

TEST(postgres_kill, nothing_acknowledged_is_lost) {
    PostgresServer server(true);
    const auto store = open_good(unique(server.url()));
    EXPECT_TRUE(store->durability().power_cut) << store->durability().level;
    survive_kills(server, "postgres, synced", setting("PAL_SERVER_KILLS", 2));
}

TEST(live, a_store_whose_server_is_gone_says_so_soon_and_comes_back_by_itself) {
    if (running().cluster) GTEST_SKIP() << "see cluster_failover";
    std::unique_ptr<PostgresServer> postgres;
    std::unique_ptr<RedisServer> redis;
    if (running().postgres) postgres = std::make_unique<PostgresServer>(true);
    if (running().redis)
        redis = std::make_unique<RedisServer>(
            std::vector<std::string>{"--appendonly", "yes", "--appendfsync", "always"});
    const auto store = open_good(unique(postgres ? postgres->url() : redis->url()));
    ASSERT_TRUE(store->append({"t", "a"}, says("before")).has_value());
    (postgres ? postgres->process() : redis->process()).kill();
    const auto start = std::chrono::steady_clock::now();
    const auto refused = store->head(ConversationId{"t", "a"});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
    postgres ? postgres->restart() : redis->restart();
    Result<Appended> back = store->append({"t", "a"}, says("after", "k"));
    for (int i = 0; i < 200 && !back; ++i) {
        std::this_thread::sleep_for(20ms);
        back = store->append({"t", "a"}, says("after", "k"));
    }
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(texts_of(*store, {"t", "a"}), (std::vector<std::string>{"before", "after"}));
}

}  // namespace
}  // namespace palimpsest::testing_support
