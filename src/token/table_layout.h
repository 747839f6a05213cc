// The byte format of a compiled vocabulary, written by packaging/token/make_tables.cpp and used in
// place: nothing is parsed or allocated at start. Little endian, sections aligned to 64 bytes.
//
//   header   TableHeader
//   trie     u64 per unit, a double array: bits 0-21 base, 22-43 parent, 44-63 token or no_token.
//            The child of unit u by byte b is unit base(u) + b if its parent is u. Unit 0 is the
//            root. Only tokens that merging can produce are in it.
//   tokens   u64 per id: bits 0-19 left, 20-39 right (the last merge that makes the token; itself
//            and itself for a single byte), 40-47 length in bytes, 0 for an id without bytes.
//   prefixes u32 per id: bits 0-19 the longest token that is a proper prefix, or no_token; bits
//            20-27 its length.
//   pairs    u64 per slot, open addressing by pair_slot(): bits 0-19 left, 20-39 right, 40-59 the
//            token they merge into; all ones when free.
//   filter   one bit per filter_bit() of a pair: 0 if no pair in `pairs` has it. Small enough to
//            stay in a processor's second cache, so most pairs never touch `pairs`.
//   starts   u32 per id and one more: where the token's bytes start in `bytes`.
//   bytes    the tokens' bytes, in the order of ids.
#pragma once
#include <cstdint>

namespace palimpsest {

using Token = std::uint32_t;
constexpr Token no_token = 0xFFFFF;
constexpr std::uint64_t table_magic = 0x31304b4f544c4150;  // "PALTOK01"
constexpr std::uint64_t free_pair = ~std::uint64_t{0};

struct TableHeader {
    std::uint64_t magic = table_magic;
    std::uint32_t ids = 0;          // One more than the largest id.
    std::uint32_t trie_units = 0;   // With 256 unused units at the end, so a child needs no bounds.
    std::uint32_t pair_bits = 0;    // The pair table has 1 << pair_bits slots.
    std::uint32_t filter_bits = 0;  // The filter has 1 << filter_bits bits.
    std::uint64_t trie_at = 0, tokens_at = 0, prefixes_at = 0, pairs_at = 0, filter_at = 0;
    std::uint64_t starts_at = 0, bytes_at = 0, size = 0;
};

constexpr std::uint64_t pair_key(Token left, Token right) {
    return left | std::uint64_t{right} << 20;
}
constexpr std::uint32_t pair_slot(std::uint64_t key, std::uint32_t pair_bits) {
    return static_cast<std::uint32_t>((key * 0x9E3779B97F4A7C15) >> (64 - pair_bits));
}
// The upper bits are those of pair_slot.
constexpr std::uint32_t filter_bit(std::uint64_t key, std::uint32_t filter_bits) {
    return pair_slot(key, filter_bits);
}

// Character classes of all code points in two steps:
// class = blocks[256 * index[code_point >> 8] + (code_point & 255)].
constexpr std::uint32_t class_index_size = 0x1100;

}  // namespace palimpsest
