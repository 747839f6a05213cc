#include "token/bpe.h"

#include <algorithm>

namespace palimpsest {

Merger::Merger(const Vocabulary& vocabulary, unsigned memo_bits)
    : vocabulary_(&vocabulary),
      memo_bits_(memo_bits),
      memo_(std::make_unique<std::uint64_t[]>(std::size_t{1} << memo_bits)) {
    std::fill_n(memo_.get(), std::size_t{1} << memo_bits, free_pair);
}

std::uint32_t Merger::count(std::string_view piece) {
    const Vocabulary::Match match = vocabulary_->longest(piece.data(), piece.data() + piece.size());
    if (match.size == piece.size()) return 1;
    walk(piece, {match.token, match.size});
    return static_cast<std::uint32_t>(stack_.size());
}

const std::vector<Token>& Merger::merge(std::string_view piece) {
    const Vocabulary::Match match = vocabulary_->longest(piece.data(), piece.data() + piece.size());
    tokens_.assign(1, match.token);
    if (match.size == piece.size()) return tokens_;
    walk(piece, {match.token, match.size});
    tokens_.clear();
    for (const Placed& placed : stack_) tokens_.push_back(placed.token);
    return tokens_;
}

bool Merger::may_follow(Token left, Token right) {
    constexpr std::uint64_t yes = std::uint64_t{1} << 40;
    const std::uint64_t key = pair_key(left, right);
    std::uint64_t& known = memo_[pair_slot(key, memo_bits_)];
    if ((known & ~yes) != key) known = vocabulary_->may_follow(left, right) ? key | yes : key;
    return (known & yes) != 0;
}

bool Merger::fits(Placed next, std::size_t at) {
    return !is_dead(at + next.size) &&
           (stack_.empty() || may_follow(stack_.back().token, next.token));
}

// The candidate, or the longest shorter token that fits, or none.
Merger::Placed Merger::fitting(Placed candidate, std::size_t at) {
    while (!fits(candidate, at)) {
        candidate.token = vocabulary_->shorter(candidate.token);
        if (candidate.token == no_token) break;
        candidate.size = vocabulary_->length(candidate.token);
    }
    return candidate;
}

void Merger::walk(std::string_view piece, Placed first) {
    const char* const text = piece.data();
    const char* const end = text + piece.size();
    stack_.clear();
    dead_.assign(piece.size() / 64 + 1, 0);
    std::size_t at = 0;
    for (Placed next = first;;) {
        next = fitting(next, at);
        if (next.token != no_token) {
            stack_.push_back(next);
            at += next.size;
            if (at == piece.size()) return;
            const Vocabulary::Match match = vocabulary_->longest(text + at, end);
            next = {match.token, match.size};
        } else {
            dead_[at / 64] |= std::uint64_t{1} << (at % 64);
            next = stack_.back();
            stack_.pop_back();
            at -= next.size;
        }
    }
}

}  // namespace palimpsest
