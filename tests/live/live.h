// What the tests over running servers share: which servers run, fresh stores on them, and sixteen
// clients that append and read while something happens.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/store.h"
#include "support/list_append.h"
#include "support/servers.h"

namespace palimpsest::testing_support {

struct RunningServers {
    std::string kind;
    std::unique_ptr<PostgresServer> postgres;
    std::unique_ptr<RedisServer> redis;
    std::unique_ptr<RedisCluster> cluster;
    std::string url() const;  // with UNIQUE
};
RunningServers& running();

// UNIQUE replaced by a name that no other test has.
std::string unique(std::string url);
std::unique_ptr<Store> open_good(const std::string& url);
Batch says(const std::string& text, const std::string& key = "");
std::vector<std::string> texts_of(Store& store, const ConversationId& name);
std::size_t setting(const char* name, std::size_t otherwise);

struct ListAppendRun {
    std::vector<std::string> urls;  // one store for each; clients take turns
    std::size_t clients = 16;
    std::size_t operations = 4000;
    int conversations = 8;     // at a time
    std::size_t round = 8000;  // so many operations on them, then on new ones: a read reads all
    std::chrono::milliseconds give_up{30'000};  // of one operation
    // Called again and again beside the clients, until they are done.
    std::function<void()> disturb = {};
};
struct ListAppendResult {
    std::vector<std::string> anomalies;
    std::size_t acknowledged = 0, unknown = 0, refused = 0, reads = 0;
    std::string text() const;
};
ListAppendResult run_list_append(const ListAppendRun& run);

}  // namespace palimpsest::testing_support
