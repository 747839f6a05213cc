#include "store/redis_slots.h"

#include <algorithm>
#include <charconv>

namespace palimpsest {
namespace {

// CRC-16/XMODEM, as the cluster specification says.
constexpr std::array<std::uint16_t, 256> crc_table() {
    std::array<std::uint16_t, 256> table{};
    for (unsigned i = 0; i < 256; ++i) {
        unsigned crc = i << 8U;
        for (int bit = 0; bit < 8; ++bit) crc = (crc << 1U) ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
        table[i] = static_cast<std::uint16_t>(crc);
    }
    return table;
}
constexpr std::array<std::uint16_t, 256> table = crc_table();

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

std::uint16_t slot_of(std::string_view key) {
    const std::size_t open = key.find('{');
    if (open != key.npos) {
        const std::size_t close = key.find('}', open + 1);
        if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
    }
    unsigned crc = 0;
    for (const char c : key)
        crc =
            ((crc << 8U) ^ table[((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xffU]) & 0xffffU;
    return static_cast<std::uint16_t>(crc % redis_slot_count);
}

std::uint16_t SlotMap::index_of(const RedisNode& node) {
    const auto found = std::ranges::find(nodes_, node);
    if (found == nodes_.end()) nodes_.push_back(node);
    return static_cast<std::uint16_t>(std::ranges::find(nodes_, node) - nodes_.begin() + 1);
}

std::optional<SlotMap> SlotMap::parse(const RedisReply& reply, const RedisNode& asked) {
    SlotMap map;
    for (const RedisReply& range : reply.items) {
        if (range.items.size() < 3 || range.items[2].items.size() < 2) return std::nullopt;
        const RedisReply& master = range.items[2];
        const std::int64_t from = range.items[0].number, to = range.items[1].number;
        const std::int64_t port = master.items[1].number;
        if (from < 0 || to >= std::ssize(map.owners_) || port < 1 || port > 65'535)
            return std::nullopt;
        const std::string& host = master.at(0);
        const std::uint16_t owner = map.index_of(
            {host.empty() || host == "?" ? asked.host : host, static_cast<std::uint16_t>(port)});
        for (std::int64_t slot = from; slot <= to; ++slot)
            map.owners_[static_cast<std::size_t>(slot)] = owner;
    }
    if (map.nodes_.empty()) return std::nullopt;
    return map;
}

std::optional<RedisNode> SlotMap::master_of(std::uint16_t slot) const {
    if (owners_[slot] == 0) return std::nullopt;
    return nodes_[owners_[slot] - 1];
}

void SlotMap::move(std::uint16_t slot, const RedisNode& node) {
    owners_[slot] = index_of(node);
}

std::vector<RedisNode> SlotMap::masters() const {
    std::set<RedisNode> found;
    for (const std::uint16_t owner : owners_)
        if (owner != 0) found.insert(nodes_[owner - 1]);
    return {found.begin(), found.end()};
}

std::optional<Redirection> parse_redirection(std::string_view text, const RedisNode& asked) {
    const std::size_t first = text.find(' ');
    const std::size_t second = first == text.npos ? first : text.find(' ', first + 1);
    const std::size_t colon = text.rfind(':');
    if (second == text.npos || colon == text.npos || colon < second) return std::nullopt;
    const auto slot = number_of<std::uint16_t>(text.substr(first + 1, second - first - 1));
    const auto port = number_of<std::uint16_t>(text.substr(colon + 1));
    if (!slot || *slot >= redis_slot_count || !port) return std::nullopt;
    const std::string_view host = text.substr(second + 1, colon - second - 1);
    return Redirection{*slot, {host.empty() ? asked.host : std::string(host), *port}};
}

}  // namespace palimpsest
