#include "token/bpe.h"

namespace palimpsest {

std::uint32_t Merger::count(std::string_view piece) {
    const Match match = vocabulary_->longest(piece.data(), piece.data() + piece.size());
    if (match.size() == piece.size()) return 1;
    walk(piece, match);
    return static_cast<std::uint32_t>(stack_.size());
}

const std::vector<Token>& Merger::merge(std::string_view piece) {
    const Match match = vocabulary_->longest(piece.data(), piece.data() + piece.size());
    tokens_.assign(1, match.token());
    if (match.size() == piece.size()) return tokens_;
    walk(piece, match);
    tokens_.clear();
    for (const Match placed : stack_) tokens_.push_back(placed.token());
    return tokens_;
}

bool Merger::fits(Match next, std::size_t at) {
    return !is_dead(at + next.size()) &&
           (stack_.empty() || vocabulary_->may_follow(stack_.back().token(), next.token()));
}

// The candidate, or the longest shorter token that fits, or none.
Vocabulary::Match Merger::fitting(Match candidate, std::size_t at) {
    while (!candidate.none() && !fits(candidate, at))
        candidate = vocabulary_->shorter(candidate.token());
    return candidate;
}

void Merger::walk(std::string_view piece, Match first) {
    const char* const text = piece.data();
    const char* const end = text + piece.size();
    stack_.clear();
    dead_.assign(piece.size() / 64 + 1, 0);
    std::size_t at = 0;
    for (Match next = first;;) {
        next = fitting(next, at);
        if (!next.none()) {
            stack_.push_back(next);
            at += next.size();
            if (at == piece.size()) return;
            next = vocabulary_->longest(text + at, end);
        } else {
            dead_[at / 64] |= std::uint64_t{1} << (at % 64);
            next = stack_.back();
            stack_.pop_back();
            at -= next.size();
        }
    }
}

}  // namespace palimpsest
