// Counts the tokens of texts without making ids: cut into pieces, look each up in a cache, merge
// the rest. One object per thread; it owns its cache and nothing is shared but the vocabulary.
#pragma once
#include "palimpsest/tokenizer.h"

#include "token/bpe.h"
#include "token/piece_cache.h"
#include "token/split.h"

#include <cstdint>
#include <string_view>

namespace palimpsest {

class Encoding;

struct CounterOptions {
    unsigned cache_bits = 16;  // 4 to 24; the caches take about 50 << cache_bits bytes in all.
    bool wide = true;          // Use wide instructions if the processor has them.
};

class Counter final : public TokenCounter {
public:
    Counter(const Encoding& encoding, const CounterOptions& options);
    std::uint64_t count(std::string_view text) override;

    // For a text that grows: `padding` bytes behind `end` must be readable, whatever they hold.
    static constexpr std::size_t padding = 80;
    // Counts the pieces that no continuation can change and moves `at` behind them. The text must
    // be UTF-8 and `at` the start of a piece.
    std::uint64_t count_closed(const char*& at, const char* end);
    // Counts the rest.
    std::uint64_t count_open(const char* at, const char* end);

private:
    static bool has_wide();
    std::uint64_t count_pieces(const char* at, const char* end);
    template <Family family>
    std::uint64_t open_pieces(const char* at, const char* end);
    template <Family family>
    std::uint64_t closed_wide(const char*& at, const char* end);
    std::uint64_t closed_plain(const char*& at, const char* end);
    template <Family family>
    std::uint64_t count_valid(const char* at, const char* end);
    template <Family family>
    std::uint64_t count_wide(const char* at, const char* end);
    std::uint32_t count_piece(const char* at, const char* next, const char* readable_end);
    std::uint32_t count_long(std::string_view piece, const char* readable_end);
    std::uint32_t count_new(const char* at, std::uint32_t size, PieceCache::Key key);

    // A piece of at most 64 bytes; 16 bytes must be readable from `at` on.
    std::uint32_t count_short(const char* at, std::uint32_t size) {
        if (size > PieceCache::longest_piece) return count_long({at, size}, at + 16);
        const PieceCache::Key key = PieceCache::key_wide(at, size);
        const std::uint32_t known = cache_.find(key);
        return known != 0 ? known : count_new(at, size, key);
    }

    const Encoding& encoding_;
    Merger merger_;
    PieceCache cache_;
    LongPieceCache long_cache_;
    bool wide_;
};

}  // namespace palimpsest
