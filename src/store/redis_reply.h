// The Redis protocol (RESP2) as values, without I/O: commands to bytes, bytes to replies.
//
// Invariants: a reader takes bytes in pieces of any size and keeps its place, so that a large reply
// is walked once. What no Redis would send makes it failed for good, and costs no memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest {

struct RedisReply {
    enum class Kind : std::uint8_t { nil, text, integer, array, error };
    Kind kind = Kind::nil;
    std::string text = {};  // of a text or an error
    std::int64_t number = 0;
    std::vector<RedisReply> items = {};

    bool is_nil() const { return kind == Kind::nil; }
    bool is_error() const { return kind == Kind::error; }
    // An error by its first word: "MOVED", "NOSCRIPT", ...
    bool is_error(std::string_view word) const;
    // The item's text; empty when there is none.
    const std::string& at(std::size_t i) const;
};

void write_redis_command(std::string& out, const std::vector<std::string>& words);

class RedisReader {
public:
    void feed(std::string_view bytes) { in_.append(bytes); }
    std::string& buffer() { return in_; }
    // The next complete reply, if there is one.
    std::optional<RedisReply> next();
    bool failed() const { return failed_; }
    bool empty() const { return at_ == in_.size() && open_.empty(); }

private:
    struct Open {
        RedisReply reply;
        std::size_t missing;
    };
    std::optional<std::string_view> line();
    std::optional<RedisReply> element();
    std::optional<RedisReply> bulk(std::int64_t size, std::size_t before);
    std::optional<RedisReply> close(RedisReply reply);

    std::string in_;
    std::size_t at_ = 0;
    std::vector<Open> open_;
    bool failed_ = false;
};

}  // namespace palimpsest
