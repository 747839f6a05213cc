// One connection to one Redis server: commands go out as a pipeline, and every wait has an end.
//
// Invariants: what was sent and has no complete answer leaves the connection broken, and a broken
// connection is never used again, so no reply ever reaches another request. A lost connection is
// `outcome_unknown` where a command writes, `unavailable` where none does.
#pragma once
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/stream.h"
#include "palimpsest/error.h"
#include "store/redis_reply.h"

namespace palimpsest {

struct RedisNode {
    std::string host = {};
    std::uint16_t port = 6379;
    auto operator<=>(const RedisNode&) const = default;
    std::string text() const { return host + ":" + std::to_string(port); }
};

struct RedisOptions {
    std::vector<RedisNode> nodes = {};  // one; of a cluster any that answers
    bool cluster = false;
    bool tls = false;
    std::string ca_file = {};
    std::string user = {}, password = {};
    int database = 0;
    int connect_timeout_ms = 5'000;
    int timeout_ms = 5'000;  // of one pipeline
    std::size_t connections = 16;
};

enum class Effect : std::uint8_t { reads, writes };

class RedisConnection {
public:
    static Result<std::unique_ptr<RedisConnection>> open(const RedisOptions& options,
                                                         const RedisNode& node,
                                                         std::chrono::milliseconds within);

    // As many replies as commands, error replies among them.
    Result<std::vector<RedisReply>> run(std::span<const std::vector<std::string>> commands,
                                        Effect effect);
    bool is_broken() const { return broken_; }
    bool is_quiet() const { return stream_.is_quiet(); }

private:
    RedisConnection(Stream stream, const RedisOptions& options, RedisNode node);
    Result<void> greet(const RedisOptions& options);
    Result<void> exchange(std::string_view bytes, std::size_t until, Effect effect,
                          std::vector<RedisReply>& replies);
    std::unexpected<Error> lost(Effect effect, std::string_view why);

    Stream stream_;
    RedisNode node_;
    RedisReader reader_;
    int timeout_ms_;
    bool broken_ = false;
};

}  // namespace palimpsest
