// live_test KIND: starts the servers of one kind of store (postgres, redis, cluster), runs the
// tests of stores over them, and stops them. With further arguments these choose the tests.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "support/servers.h"

using namespace palimpsest::testing_support;

int main(int argc, char** argv) {
    const std::string kind = argc > 1 ? argv[1] : "";
    std::optional<PostgresServer> postgres;
    std::optional<RedisServer> redis;
    std::optional<RedisCluster> cluster;
    if (kind == "postgres") {
        postgres.emplace();
        ::setenv("PAL_TEST_POSTGRES", postgres->url().c_str(), 1);
    } else if (kind == "redis") {
        redis.emplace();
        ::setenv("PAL_TEST_REDIS", redis->url().c_str(), 1);
    } else if (kind == "cluster") {
        cluster.emplace();
        ::setenv("PAL_TEST_CLUSTER", cluster->url().c_str(), 1);
    } else {
        std::cerr << "usage: live_test postgres|redis|cluster [arguments of gtest]\n";
        return 2;
    }
    ::setenv("PAL_SEEDS", "3", 0);
    ::testing::GTEST_FLAG(filter) = "*" + kind + "*:properties.the_loaded_view*";
    ::testing::GTEST_FLAG(brief) = true;
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
