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
    static constexpr std::uint64_t all = ~std::uint64_t{0};
    static constexpr std::uint64_t count_mask = std::uint64_t{15} << 60;
    static constexpr std::uint64_t low_mask[16] = {0,
                                                   0xFF,
                                                   0xFFFF,
                                                   0xFFFFFF,
                                                   0xFFFFFFFF,
                                                   0xFFFFFFFFFF,
                                                   0xFFFFFFFFFFFF,
                                                   0xFFFFFFFFFFFFFF,
                                                   all,
                                                   all,
                                                   all,
                                                   all,
                                                   all,
                                                   all,
                                                   all,
                                                   all};
    static constexpr std::uint64_t high_mask[16] = {0,
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

    std::size_t set_of(Key key) const {
        const std::uint64_t mixed =
            (key.low ^ (key.high * 0x9E3779B97F4A7C15)) * 0xD6E8FEB86659FD93;
        return std::size_t{2} * (mixed >> shift_);
    }

    unsigned shift_;
    std::unique_ptr<Key[]> entries_;
};

}  // namespace palimpsest
