// Merging without merging: finds the tokens of one piece by taking the longest token that may
// follow and stepping back out of dead ends. Every position is entered at most once per token that
// starts there, so the time is linear in the piece, whatever it holds.
#pragma once
#include "token/vocabulary.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace palimpsest {

// Working memory, kept by the caller so that pieces do not allocate. For one thread.
class Merger {
public:
    // Remembers the answers about 2^memo_bits pairs of tokens.
    explicit Merger(const Vocabulary& vocabulary, unsigned memo_bits = 4);

    // The tokens of a piece that is not empty; valid until the next call.
    const std::vector<Token>& merge(std::string_view piece);
    std::uint32_t count(std::string_view piece);

private:
    struct Placed {
        Token token = no_token;
        std::uint32_t size = 0;
    };
    void walk(std::string_view piece, Placed first);
    Placed fitting(Placed candidate, std::size_t at);
    bool fits(Placed next, std::size_t at);
    bool may_follow(Token left, Token right);
    bool is_dead(std::size_t at) const { return dead_[at / 64] >> (at % 64) & 1; }

    const Vocabulary* vocabulary_;
    std::vector<Placed> stack_;
    std::vector<Token> tokens_;
    std::vector<std::uint64_t> dead_;  // A bit per position from which no end was found.
    unsigned memo_bits_;
    std::unique_ptr<std::uint64_t[]> memo_;  // pair_key, and bit 40 set if the pair may stand.
};

}  // namespace palimpsest
