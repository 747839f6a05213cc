// Commands to a Redis server or to the nodes of a cluster: routing, redirections, scripts, and
// waiting for replicas.
//
// A command goes to the node that has its key. MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING and
// READONLY mean that nothing was done: they are followed, or tried again after a pause, until the
// time is up (`unavailable`). What was sent to a node that then was lost is never sent again.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/connection_pool.h"
#include "store/redis_connection.h"
#include "store/redis_slots.h"

namespace palimpsest {

// A Lua script, sent by its hash and whole where the server does not know it.
struct RedisScript {
    explicit RedisScript(std::string text);
    std::string text;
    std::string sha;
};

struct RedisCommand {
    std::string key = {};  // decides where it goes
    std::vector<std::string> words = {};
    Effect effect = Effect::reads;
    const RedisScript* script = nullptr;  // words are then what follows the script
};

// How many replicas must confirm a write before it is acknowledged.
struct ReplicaWait {
    bool all = false;
    std::size_t count = 0;
    bool asked() const { return all || count > 0; }
};

class RedisClient {
public:
    static Result<std::unique_ptr<RedisClient>> open(RedisOptions options, ReplicaWait wait);

    // An error reply of another kind than those above becomes an Error.
    Result<RedisReply> run(const RedisCommand& command);
    // The same for many, one pipeline for each node.
    Result<std::vector<RedisReply>> run_all(const std::vector<RedisCommand>& commands);
    // Asks every master; the answers in no order.
    Result<std::vector<RedisReply>> ask_masters(const std::vector<std::string>& words);
    // Every key of every master that matches, in no order; one that is on its way from node to node
    // may come twice or not at all.
    Result<void> each_key(const std::string& pattern,
                          const std::function<void(const std::string& key)>& visit);
    std::size_t replicas_waited_for() const { return wait_count_; }

private:
    using Pool = ConnectionPool<RedisConnection>;
    using Words = std::vector<std::string>;
    RedisClient(RedisOptions options, ReplicaWait wait);
    Result<void> refresh();
    Result<void> count_replicas(ReplicaWait wait);
    Pool& pool_of(const RedisNode& node);
    RedisNode node_of(std::string_view key) const;
    std::vector<RedisNode> masters() const;
    RedisNode redirected(const RedisReply& reply, const RedisNode& asked);

    struct Attempt;
    Result<RedisReply> attempt(Attempt& at);
    Result<RedisReply> follow(Attempt& at, RedisReply reply);
    void add_words(const RedisCommand& command, bool whole, std::vector<Words>& out) const;
    Result<RedisReply> confirmed(RedisReply reply, const RedisReply& replicas) const;
    Result<void> run_group(const RedisNode& node, const std::vector<RedisCommand>& commands,
                           const std::vector<std::size_t>& which,
                           std::vector<std::optional<RedisReply>>& replies);

    RedisOptions options_;
    std::size_t wait_count_ = 0;
    mutable std::mutex mutex_;
    SlotMap slots_;
    std::map<RedisNode, std::unique_ptr<Pool>> pools_;
};

// For people and programs: what an error reply means.
Error error_of_redis(const RedisReply& reply, const RedisCommand* asked = nullptr);

}  // namespace palimpsest
