// The tokens of a piece that grows at its end, found anew at the price of what changed. What is
// kept is the stack of tokens: any run of tokens in which each may follow the one before is the
// encoding of its bytes, so a search that starts from a part of the old stack and reaches the new
// end is right, and one that cannot reach it gives up one more token of the old stack.
#pragma once
#include "token/vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace palimpsest {

class GrowingPiece {
public:
    explicit GrowingPiece(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

    // `at` names the piece: the same place means the same bytes as before, up to the shorter of
    // the two. `piece` must not be empty.
    std::uint32_t count(std::size_t at, std::string_view piece);
    bool is_at(std::size_t at) const { return at == at_; }

private:
    using Match = Vocabulary::Match;
    void search(std::string_view piece);
    Match fitting(Match candidate) const;
    bool is_dead(std::size_t at) const { return dead_[at / 64] >> (at % 64) & 1; }
    void pop();

    const Vocabulary* vocabulary_;
    std::size_t at_ = SIZE_MAX;
    std::size_t end_ = 0;  // The tokens of the stack end here,
    std::vector<Match> stack_;
    std::vector<std::uint64_t> dead_;  // and from here no end was found; empty between searches.
};

}  // namespace palimpsest
