// Remembers how many tokens short pieces have. Fixed size, exact: the key is the piece itself, so
// a hit is never wrong; a new piece displaces the older one of the two that share its place.
//
// An entry is 16 bytes: up to 15 bytes of the piece, then 4 bits of its length and 4 bits of its
// count (a piece of at most 15 bytes has at most 15 tokens). A free entry has length 0.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>

namespace palimpsest {

// What stays of bytes 0 to 7 and of bytes 8 to 15 of a piece of so many bytes.
inline constexpr std::uint64_t low_mask[16] = {0,
                                               0xFF,
                                               0xFFFF,
                                               0xFFFFFF,
                                               0xFFFFFFFF,
                                               0xFFFFFFFFFF,
                                               0xFFFFFFFFFFFF,
                                               0xFFFFFFFFFFFFFF,
                                               ~std::uint64_t{0},
                                               ~std::uint64_t{0},
                                               ~std::uint64_t{0},
                                               ~std::uint64_t{0},
                                               ~std::uint64_t{0},
                                               ~std::uint64_t{0},
                                               ~std::uint64_t{0},
                                               ~std::uint64_t{0}};
inline constexpr std::uint64_t high_mask[16] = {0,
                                                0,
                                                0,
                                                0,
                                                0,
                                                0,
                                                0,
                                                0,
                                                0,
                                                0xFF,
                                                0xFFFF,
                                                0xFFFFFF,
                                                0xFFFFFFFF,
                                                0xFFFFFFFFFF,
                                                0xFFFFFFFFFFFF,
                                                0xFFFFFFFFFFFFFF};

class PieceCache {
public:
    static constexpr std::uint32_t longest_piece = 15;

    struct Key {
        std::uint64_t low = 0, high = 0;
    };

    // 2^set_bits sets of two entries: 32 bytes each.
    explicit PieceCache(unsigned set_bits)
        : shift_(64 - set_bits), entries_(std::make_unique<Key[]>(std::size_t{2} << set_bits)) {}

    // `size` is 1 to 15. Sixteen bytes must be readable at `at` for key_wide.
    static Key key_wide(const char* at, std::uint32_t size) {
        Key key;
        std::memcpy(&key, at, 16);
        key.low &= low_mask[size];
        key.high = (key.high & high_mask[size]) | std::uint64_t{size} << 56;
        return key;
    }
    static Key key_exact(const char* at, std::uint32_t size) {
        char bytes[16] = {};
        std::memcpy(bytes, at, size);
        return key_wide(bytes, size);
    }

    // 0 if the piece is not there.
    std::uint32_t find(Key key) const {
        const Key* set = &entries_[set_of(key)];
        for (int way = 0; way < 2; ++way)
            if (set[way].low == key.low && (set[way].high & ~count_mask) == key.high)
                return static_cast<std::uint32_t>(set[way].high >> 60);
        return 0;
    }
    void add(Key key, std::uint32_t count) {
        Key* set = &entries_[set_of(key)];
        set[1] = set[0];
        set[0] = {key.low, key.high | std::uint64_t{count} << 60};
    }

private:
    static constexpr std::uint64_t count_mask = std::uint64_t{15} << 60;
    std::size_t set_of(Key key) const {
        const std::uint64_t mixed =
            (key.low ^ (key.high * 0x9E3779B97F4A7C15)) * 0xD6E8FEB86659FD93;
        return std::size_t{2} * (mixed >> shift_);
    }

    unsigned shift_;
    std::unique_ptr<Key[]> entries_;
};

// The same for pieces of 16 to 30 bytes with at most 15 tokens. An entry is 32 bytes; the last
// holds 4 bits of length (less 15) and 4 bits of count. A set is one line of the processor's cache.
class LongPieceCache {
public:
    static constexpr std::uint32_t longest_piece = 30;

    struct Key {
        std::uint64_t words[4] = {};
    };

    explicit LongPieceCache(unsigned set_bits)
        : shift_(64 - set_bits), entries_(std::make_unique<Key[]>(std::size_t{2} << set_bits)) {}

    // `size` is 16 to 30; 32 bytes must be readable at `at` for key_wide.
    static Key key_wide(const char* at, std::uint32_t size) {
        Key key;
        std::memcpy(key.words, at, 32);
        key.words[2] &= low_mask[size - 16];
        key.words[3] = (key.words[3] & high_mask[size - 16]) | std::uint64_t{size - 15} << 56;
        return key;
    }
    static Key key_exact(const char* at, std::uint32_t size) {
        char bytes[32] = {};
        std::memcpy(bytes, at, size);
        return key_wide(bytes, size);
    }
    std::uint32_t find(const Key& key) const {
        const Key* set = &entries_[set_of(key)];
        for (int way = 0; way < 2; ++way)
            if (same(set[way], key)) return static_cast<std::uint32_t>(set[way].words[3] >> 60);
        return 0;
    }
    void add(Key key, std::uint32_t count) {
        if (count > 15) return;
        Key* set = &entries_[set_of(key)];
        key.words[3] |= std::uint64_t{count} << 60;
        set[1] = set[0];
        set[0] = key;
    }

private:
    static constexpr std::uint64_t count_mask = std::uint64_t{15} << 60;

    static bool same(const Key& entry, const Key& key) {
        return ((entry.words[0] ^ key.words[0]) | (entry.words[1] ^ key.words[1]) |
                (entry.words[2] ^ key.words[2]) |
                ((entry.words[3] & ~count_mask) ^ key.words[3])) == 0;
    }
    std::size_t set_of(const Key& key) const {
        std::uint64_t mixed = 0;
        for (const std::uint64_t word : key.words)
            mixed = (mixed ^ word) * 0x9E3779B97F4A7C15, mixed ^= mixed >> 29;
        return std::size_t{2} * ((mixed * 0xD6E8FEB86659FD93) >> shift_);
    }

    unsigned shift_;
    std::unique_ptr<Key[]> entries_;
};

}  // namespace palimpsest
