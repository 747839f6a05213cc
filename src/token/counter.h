// Counts the tokens of texts without making ids: cut into pieces, look each up in a cache, merge
// the rest. One object per thread; it owns its cache and nothing is shared but the vocabulary.
#pragma once
#include "palimpsest/tokenizer.h"

#include "token/bpe.h"
#include "token/piece_cache.h"
#include "token/split.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace palimpsest {

class Encoding;

struct CounterOptions {
    unsigned cache_bits = 16;  // 2^bits sets of 32 bytes; 0 means no cache.
    bool wide = true;          // Use wide instructions if the processor has them.
};

class Counter final : public TokenCounter {
public:
    Counter(const Encoding& encoding, const CounterOptions& options);
    std::uint64_t count(std::string_view text) override;

private:
    template <Family family>
    std::uint64_t count_valid(const char* at, const char* end);
    std::uint32_t count_piece(const char* at, const char* next, const char* readable_end);

    const Encoding& encoding_;
    Merger merger_;
    std::optional<PieceCache> cache_;
};

}  // namespace palimpsest
