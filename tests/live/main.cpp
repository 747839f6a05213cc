// live_test KIND: starts the servers of one kind of store (postgres, redis, cluster), runs the
// tests of stores over them, and stops them. With further arguments these choose the tests.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "live/live.h"

using namespace palimpsest::testing_support;

int main(int argc, char** argv) {
    RunningServers& servers = running();
    servers.kind = argc > 1 ? argv[1] : "";
    const char* variable = nullptr;
    if (servers.kind == "postgres") {
        servers.postgres = std::make_unique<PostgresServer>();
        variable = "PAL_TEST_POSTGRES";
    } else if (servers.kind == "redis") {
        servers.redis = std::make_unique<RedisServer>();
        variable = "PAL_TEST_REDIS";
    } else if (servers.kind == "cluster") {
        servers.cluster = std::make_unique<RedisCluster>();
        variable = "PAL_TEST_CLUSTER";
    } else {
        std::cerr << "usage: live_test postgres|redis|cluster [arguments of gtest]\n";
        return 2;
    }
    ::setenv(variable, servers.url().c_str(), 1);
    ::setenv("PAL_SEEDS", "3", 0);
    ::testing::GTEST_FLAG(filter) = "*" + servers.kind + "*:live.*:properties.the_loaded_view*:*.hold_over_stores_on_servers";
    // What servers tell each other does not depend on the kind.
    if (servers.kind == "redis") ::testing::GTEST_FLAG(filter) += ":two_servers.*";
    ::testing::GTEST_FLAG(brief) = true;
    ::testing::InitGoogleTest(&argc, argv);
    const int result = RUN_ALL_TESTS();
    servers = {};
    return result;
}
