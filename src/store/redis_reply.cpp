#include "store/redis_reply.h"

#include <charconv>

namespace palimpsest {
namespace {

constexpr std::int64_t bulk_bytes_max = 512LL << 20;  // the server's own limit
constexpr std::int64_t items_max = 1 << 26;
constexpr std::size_t depth_max = 8;

std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

bool RedisReply::is_error(std::string_view word) const {
    if (!is_error() || !text.starts_with(word)) return false;
    return text.size() == word.size() || text[word.size()] == ' ';
}

const std::string& RedisReply::at(std::size_t i) const {
    static const std::string none;
    return i < items.size() ? items[i].text : none;
}

void write_redis_command(std::string& out, const std::vector<std::string>& words) {
    std::size_t size = 16;
    for (const std::string& word : words) size += word.size() + 16;
    if (out.capacity() - out.size() < size) out.reserve(out.size() + size);
    out += "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
        out += "$" + std::to_string(word.size()) + "\r\n";
        out += word;
        out += "\r\n";
    }
}

std::optional<std::string_view> RedisReader::line() {
    const std::size_t end = in_.find("\r\n", at_);
    if (end == std::string::npos) return std::nullopt;
    const std::string_view found = std::string_view(in_).substr(at_, end - at_);
    at_ = end + 2;
    return found;
}

// The bytes of a text whose size has been read; `before` is where to go back to when they have not
// all come.
std::optional<RedisReply> RedisReader::bulk(std::int64_t size, std::size_t before) {
    if (size == -1) return RedisReply{};
    if (size < 0 || size > bulk_bytes_max) failed_ = true;
    if (failed_) return std::nullopt;
    const auto bytes = static_cast<std::size_t>(size);
    if (in_.size() - at_ < bytes + 2) {
        at_ = before;
        return std::nullopt;
    }
    RedisReply reply{.kind = RedisReply::Kind::text, .text = in_.substr(at_, bytes)};
    failed_ = in_.compare(at_ + bytes, 2, "\r\n") != 0;
    at_ += bytes + 2;
    return reply;
}

// One reply, or the beginning of an array, which goes onto the stack.
std::optional<RedisReply> RedisReader::element() {
    const std::size_t before = at_;
    const auto head = line();
    if (!head) return std::nullopt;
    const char type = head->empty() ? '\0' : head->front();
    const std::string_view rest = head->empty() ? *head : head->substr(1);
    if (type == '+') return RedisReply{.kind = RedisReply::Kind::text, .text = std::string(rest)};
    if (type == '-') return RedisReply{.kind = RedisReply::Kind::error, .text = std::string(rest)};
    const auto number = number_of(rest);
    if (!number || (type != ':' && type != '$' && type != '*')) {
        failed_ = true;
        return std::nullopt;
    }
    if (type == ':') return RedisReply{.kind = RedisReply::Kind::integer, .number = *number};
    if (type == '$') return bulk(*number, before);
    if (*number == -1) return RedisReply{};
    RedisReply array{.kind = RedisReply::Kind::array};
    if (*number == 0) return array;
    failed_ = *number < 0 || *number > items_max || open_.size() == depth_max;
    if (!failed_) open_.push_back({std::move(array), static_cast<std::size_t>(*number)});
    return std::nullopt;
}

// Puts a finished reply where it belongs; gives the outermost when that is finished, too.
std::optional<RedisReply> RedisReader::close(RedisReply reply) {
    while (!open_.empty()) {
        open_.back().reply.items.push_back(std::move(reply));
        if (--open_.back().missing > 0) return std::nullopt;
        reply = std::move(open_.back().reply);
        open_.pop_back();
    }
    return reply;
}

std::optional<RedisReply> RedisReader::next() {
    while (!failed_) {
        const std::size_t depth = open_.size();
        auto reply = element();
        if (failed_) break;
        if (!reply) {
            if (open_.size() > depth) continue;
            // Nothing whole is left: what was walked is not kept.
            in_.erase(0, at_);
            at_ = 0;
            return std::nullopt;
        }
        if (auto done = close(std::move(*reply))) return done;
    }
    return std::nullopt;
}

}  // namespace palimpsest
