#include "token/bpe.h"

namespace palimpsest {

std::uint32_t Merger::count(std::string_view piece) {
    const Token first = vocabulary_->longest(piece.data(), piece.data() + piece.size());
    if (vocabulary_->length(first) == piece.size()) return 1;
    walk(piece, first);
    return static_cast<std::uint32_t>(stack_.size());
}

const std::vector<Token>& Merger::merge(std::string_view piece) {
    const Token first = vocabulary_->longest(piece.data(), piece.data() + piece.size());
    if (vocabulary_->length(first) == piece.size())
        stack_.assign(1, first);
    else
        walk(piece, first);
    return stack_;
}

void Merger::walk(std::string_view piece, Token first) {
    const char* const text = piece.data();
    const char* const end = text + piece.size();
    stack_.clear();
    dead_.assign(piece.size() / 64 + 1, 0);
    std::size_t at = 0;
    for (Token next = first;;) {
        while (next != no_token) {
            const std::size_t then = at + vocabulary_->length(next);
            if (!(dead_[then / 64] >> (then % 64) & 1) && fits(next)) break;
            next = vocabulary_->shorter(next);
        }
        if (next != no_token) {
            stack_.push_back(next);
            at += vocabulary_->length(next);
            if (at == piece.size()) return;
            next = vocabulary_->longest(text + at, end);
        } else {
            dead_[at / 64] |= std::uint64_t{1} << (at % 64);
            next = stack_.back();
            stack_.pop_back();
            at -= vocabulary_->length(next);
        }
    }
}

}  // namespace palimpsest
