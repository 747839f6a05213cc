// Merging without merging: finds the tokens of one piece by taking the longest token that may
// follow and stepping back out of dead ends. Every position is entered at most once per token that
// starts there, so the time is linear in the piece, whatever it holds.
#pragma once
#include "token/vocabulary.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace palimpsest {

// Working memory, kept by the caller so that pieces do not allocate. For one thread.
class Merger {
public:
    explicit Merger(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

    // The tokens of a piece that is not empty; valid until the next call.
    const std::vector<Token>& merge(std::string_view piece);
    std::uint32_t count(std::string_view piece);
    bool is_token(std::string_view piece) const {
        return vocabulary_->longest(piece.data(), piece.data() + piece.size()).size() ==
               piece.size();
    }

private:
    using Match = Vocabulary::Match;
    void walk(std::string_view piece, Match first);
    Match fitting(Match candidate, std::size_t at);
    bool fits(Match next, std::size_t at);
    bool is_dead(std::size_t at) const { return dead_[at / 64] >> (at % 64) & 1; }

    const Vocabulary* vocabulary_;
    std::vector<Match> stack_;
    std::vector<Token> tokens_;
    std::vector<std::uint64_t> dead_;  // A bit per position from which no end was found.
};

}  // namespace palimpsest
