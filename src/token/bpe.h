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

private:
    void walk(std::string_view piece, Token first);
    bool fits(Token next) const {
        return stack_.empty() || vocabulary_->may_follow(stack_.back(), next);
    }

    const Vocabulary* vocabulary_;
    std::vector<Token> stack_;
    std::vector<std::uint64_t> dead_;  // A bit per position from which no end was found.
};

}  // namespace palimpsest
