// A cluster whose nodes fail and whose slots move: what was acknowledged after every replica had
// confirmed it stays; what was acknowledged by the master alone may go, which the control shows.
#include <thread>

#include "base/ids.h"
#include "live/live.h"

namespace palimpsest::testing_support {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> durable{"--appendonly", "yes", "--appendfsync", "always"};

// The node that follows `master`.
std::size_t replica_of(RedisCluster& cluster, std::size_t master) {
    const std::string said = cluster.cli(master, "info replication");
    for (std::size_t i = 0; i < cluster.nodes().size(); ++i)
        if (said.find("port=" + std::to_string(cluster.nodes()[i]->port())) != std::string::npos)
            return i;
    return master;
}

// Appends while the replica is cut off, then loses the master: what the store had acknowledged,
// and whether it is still there after the failover.
struct Acknowledged {
    bool acknowledged = false, there = false;
};
Acknowledged lose_the_master(const std::string& wait) {
    RedisCluster cluster(3, 1, durable);
    const std::string url = unique(cluster.url());
    const auto store = open_good(url + wait + "&timeout=600ms");
    const ConversationId name{"t", "a"};
    EXPECT_TRUE(store->append(name, says("first", "k0")).has_value());
    const std::string prefix = url.substr(url.find("prefix=") + 7);
    const std::size_t master = cluster.master_of(prefix + ":{t/a}:n");
    ServerProcess& replica = cluster.nodes()[replica_of(cluster, master)]->process();
    replica.pause();
    cluster.cli(master, "client kill type replica");
    Acknowledged result;
    result.acknowledged = store->append(name, says("second", "k1")).has_value();
    cluster.nodes()[master]->process().kill();
    replica.resume();
    for (int i = 0; i < 300; ++i) {
        const auto texts = texts_of(*store, name);
        result.there = texts.size() == 2;
        if (!texts.empty()) break;
        std::this_thread::sleep_for(50ms);
    }
    return result;
}

// What leads to a conversation lies in other slots than its header.
TEST(cluster, a_conversation_is_erased_whatever_its_header_lacks) {
    RedisCluster& cluster = *running().cluster;
    for (const std::string damage : {"hdel KEY owner end", "del KEY"}) {
        const std::string url = unique(cluster.url());
        const auto store = open_good(url);
        Batch batch = says("one");
        batch.patch.owner = "bob";
        const LogId log = store->append({"t", "a"}, batch)->header.log;
        std::string key = url.substr(url.find("prefix=") + 7);
        key = "'" + key.substr(0, key.find('&')) + ":{t/a}:h:" + hex(log) + "'";
        std::string words = damage;
        words.replace(words.find("KEY"), 3, key);
        (void)cluster.cli(cluster.master_of(key.substr(1, key.size() - 2)), words);
        const auto fresh = open_good(url);
        ASSERT_EQ(fresh->head(ConversationId{"t", "a"}).error().code, ErrorCode::internal);
        const auto erased = fresh->erase({"t", "a"});
        ASSERT_TRUE(erased) << damage << ": " << erased.error().message;
        EXPECT_EQ(erased->entries, 1U) << damage;
        EXPECT_TRUE(fresh->check({})->findings.empty()) << damage;
        EXPECT_TRUE(fresh->list({.tenant = "t", .owner = "bob"})->headers.empty()) << damage;
    }
}

TEST(cluster_failover, an_append_that_only_the_master_had_is_lost_without_wait) {
    const Acknowledged result = lose_the_master("");
    EXPECT_TRUE(result.acknowledged);
    EXPECT_FALSE(result.there) << "the control lost nothing, so the next test proves nothing";
}

TEST(cluster_failover, with_wait_an_append_that_only_the_master_had_is_not_acknowledged) {
    const Acknowledged result = lose_the_master("&wait=all");
    EXPECT_FALSE(result.acknowledged);
}

TEST(cluster_failover, with_wait_nothing_acknowledged_is_lost_when_a_node_fails) {
    RedisCluster cluster(3, 1, durable);
    const std::size_t kills = setting("PAL_NODE_KILLS", 1);
    std::size_t done = 0;
    const auto fail_a_node = [&] {
        std::this_thread::sleep_for(400ms);
        if (done >= kills) return;
        const std::size_t master = cluster.master_of("pal:{" + std::to_string(done) + "}:n");
        cluster.nodes()[master]->process().kill();
        std::this_thread::sleep_for(3s);  // the others notice, and a replica takes over
        cluster.nodes()[master]->restart();
        for (int i = 0; i < 200; ++i) {
            if (cluster.cli(master, "info replication").find("master_link_status:up") !=
                std::string::npos)
                break;
            std::this_thread::sleep_for(50ms);
        }
        ++done;
    };
    std::size_t acknowledged = 0;
    do {
        // A store of its own for each run: they all say the same values.
        const std::string url = unique(cluster.url()) + "&wait=all&timeout=1s";
        const auto result = run_list_append(
            {.urls = {url, url}, .operations = 3200, .conversations = 12, .disturb = fail_a_node});
        acknowledged += result.acknowledged;
        EXPECT_EQ(result.anomalies, std::vector<std::string>{});
        std::cout << "cluster, wait=all: " << result.text() << std::endl;
        if (!result.anomalies.empty()) break;
    } while (done < kills);
    std::cout << "cluster: " << done << " failovers, " << acknowledged << " acknowledged"
              << std::endl;
}

TEST(cluster_node, that_is_used_without_the_others_says_so) {
    RedisCluster& cluster = *running().cluster;
    const auto store =
        open_good("redis://127.0.0.1:" + std::to_string(cluster.nodes()[0]->port()) + "/0");
    EXPECT_NE(store->durability().level.find("a node of a Redis Cluster"), std::string::npos);
    const auto contents = store->contents();
    ASSERT_FALSE(contents) << "it has some of the keys only";
    EXPECT_NE(contents.error().message.find("cluster=1"), std::string::npos);
}

TEST(cluster_slots, slots_that_move_under_load_lose_and_double_nothing) {
    RedisCluster& cluster = *running().cluster;
    const std::string url = unique(cluster.url());
    const std::string first = cluster.cli(0, "cluster myid").substr(0, 40);
    const std::string second = cluster.cli(1, "cluster myid").substr(0, 40);
    int moves = 0;
    const auto move_slots = [&] {
        if (moves >= 4) return std::this_thread::sleep_for(20ms);
        const bool there = moves++ % 2 == 0;
        const std::string said = cluster.cli(
            0, "--cluster reshard 127.0.0.1:" + std::to_string(cluster.nodes()[0]->port()) +
                   " --cluster-from " + (there ? first : second) + " --cluster-to " +
                   (there ? second : first) + " --cluster-slots 1500 --cluster-yes");
        if (said.find("ERR") != std::string::npos) ADD_FAILURE() << said.substr(said.size() - 300);
    };
    const auto result = run_list_append(
        {.urls = {url, url}, .operations = 6400, .conversations = 40, .disturb = move_slots});
    std::cout << "cluster, " << moves << " moves of 1500 slots: " << result.text() << std::endl;
    EXPECT_EQ(result.anomalies, std::vector<std::string>{});
    EXPECT_GT(moves, 0);
}

}  // namespace
}  // namespace palimpsest::testing_support
