// Counts the tokens of texts without making ids: cut into pieces, look each up in a cache, merge
// the rest. One object per thread; it owns its cache and nothing is shared but the vocabulary.
#pragma once
#include "palimpsest/tokenizer.h"

#include "token/bpe.h"
#include "token/growing_piece.h"
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

    // For a text that grows: `padding` bytes behind its end must be readable, whatever they hold.
    static constexpr std::size_t padding = 80;
    struct Growth {
        const char* text = nullptr;
        GrowingPiece* piece = nullptr;  // Counts what grows; its places are offsets in `text`.
        // The piece at the place where counting starts, as it was when it was counted last; after
        // that, the one at the place where the next counting starts.
        std::size_t known_size = 0;
        std::uint32_t known_tokens = 0;
        std::uint64_t closed = 0, open = 0;
    };
    // Counts a text from `at`, the start of a piece, to its end: into `closed` what no continuation
    // can change, moving `at` behind it, and as `open` the rest. False if it cannot, as the text is
    // not ASCII or a piece is long; it may have counted a part of `closed` then.
    bool grow(const char*& at, const char* end, Growth& growth);
    // The last piece of a text that grows: only what is new of it is merged, unless it was in the
    // cache or was a token.
    std::uint32_t count_last(std::string_view piece, const Growth& growth) {
        const auto size = static_cast<std::uint32_t>(piece.size());
        const auto place = static_cast<std::size_t>(piece.data() - growth.text);
        if (size <= PieceCache::longest_piece && !growth.piece->is_at(place))
            if (const std::uint32_t known = cache_.find(PieceCache::key_wide(piece.data(), size)))
                return known;
        return count_growing(piece, growth);
    }
    // What has become of it when another follows.
    std::uint32_t count_finished(std::string_view piece, const Growth& growth) {
        const auto place = static_cast<std::size_t>(piece.data() - growth.text);
        return growth.piece->is_at(place) ? count_growing(piece, growth) : count_padded(piece);
    }
    // The tokens of one piece.
    std::uint32_t count_padded(std::string_view piece) {
        const char* const end = piece.data() + piece.size();
        return count_piece(piece.data(), end, end + padding);
    }
    const Encoding& encoding() const { return encoding_; }

private:
    static bool has_wide();
    std::uint64_t count_pieces(const char* at, const char* end);
    template <Family family>
    bool grow_last(const char*& at, const char* end, Growth& growth);
    template <Family family>
    bool grow_wide(const char*& at, const char* end, Growth& growth);
    template <Family family>
    std::uint64_t count_valid(const char* at, const char* end);
    template <Family family>
    std::uint64_t count_wide(const char* at, const char* end);
    std::uint32_t count_piece(const char* at, const char* next, const char* readable_end);
    std::uint32_t count_long(std::string_view piece, const char* readable_end);
    std::uint32_t count_growing(std::string_view piece, const Growth& growth);
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
