// Where keys live in a Redis Cluster: slots, and which node has them. Pure.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis_connection.h"

namespace palimpsest {

constexpr std::size_t redis_slot_count = 16384;

// Of the part between the first { and the next }, if there is one that is not empty.
std::uint16_t slot_of(std::string_view key);

class SlotMap {
public:
    // The answer to CLUSTER SLOTS. A node without a host is where it was asked.
    static std::optional<SlotMap> parse(const RedisReply& reply, const RedisNode& asked);

    std::optional<RedisNode> master_of(std::uint16_t slot) const;
    void move(std::uint16_t slot, const RedisNode& node);  // as a MOVED said
    std::vector<RedisNode> masters() const;

private:
    std::uint16_t index_of(const RedisNode& node);

    std::vector<RedisNode> nodes_;
    std::array<std::uint16_t, redis_slot_count> owners_{};  // index in nodes_ + 1; 0: nobody
};

// "MOVED 3999 127.0.0.1:6381" and ASK likewise.
struct Redirection {
    std::uint16_t slot = 0;
    RedisNode node = {};
};
std::optional<Redirection> parse_redirection(std::string_view text, const RedisNode& asked);

}  // namespace palimpsest
