#include "token/growing_piece.h"

#include <algorithm>

namespace palimpsest {

void GrowingPiece::pop() {
    end_ -= stack_.back().size();
    stack_.pop_back();
}

std::uint32_t GrowingPiece::count(std::size_t at, std::string_view piece) {
    if (at != at_) {
        at_ = at;
        end_ = 0;
        stack_.clear();
    }
    while (end_ > piece.size()) pop();
    if (end_ != piece.size()) search(piece);
    return static_cast<std::uint32_t>(stack_.size());
}

// The candidate, or the longest shorter token that fits, or none.
Vocabulary::Match GrowingPiece::fitting(Match candidate) const {
    const auto fits = [this](Match next) {
        return !is_dead(end_ + next.size()) &&
               (stack_.empty() || vocabulary_->may_follow(stack_.back().token(), next.token()));
    };
    while (!candidate.none() && !fits(candidate))
        candidate = vocabulary_->shorter(candidate.token());
    return candidate;
}

void GrowingPiece::search(std::string_view piece) {
    const char* const text = piece.data();
    const char* const end = text + piece.size();
    dead_.resize(std::max(dead_.size(), piece.size() / 64 + 1));
    // The last token may have been cut short by the end.
    const Token last = stack_.empty() ? no_token : stack_.back().token();
    if (last != no_token) pop();
    std::size_t old = stack_.size(), lowest = end_;
    Match next = vocabulary_->longest(text + end_, end);
    bool is_known = next.token() == last;
    for (;;) {
        if (!is_known) next = fitting(next);
        is_known = false;
        if (!next.none()) {
            stack_.push_back(next);
            end_ += next.size();
            if (end_ == piece.size()) break;
            next = vocabulary_->longest(text + end_, end);
            continue;
        }
        dead_[end_ / 64] |= std::uint64_t{1} << (end_ % 64);
        next = stack_.back();
        pop();
        lowest = std::min(lowest, end_);
        // A token of the old stack was the longest that fitted the old end.
        if (stack_.size() >= old) continue;
        old = stack_.size();
        next = vocabulary_->longest(text + end_, end);
    }
    std::fill(dead_.begin() + static_cast<std::ptrdiff_t>(lowest / 64),
              dead_.begin() + static_cast<std::ptrdiff_t>(piece.size() / 64 + 1), 0);
}

}  // namespace palimpsest
