#include "token/long_run.h"

#include "token/chars.h"

namespace palimpsest {

using namespace chars;

void LongRun::begin_run(State state, std::uint32_t set) {
    state_ = state;
    set_ = set;
}

void LongRun::begin_gpt2(const char* at, const char* end) {
    const char* const word = at + (*at == ' ');
    const Char c = char_at(word, end);
    at_ = static_cast<std::size_t>(word - at);
    if (is_in(c, letters)) return begin_run(State::set, letters);
    if (is_in(c, digits)) return begin_run(State::set, digits);
    if (is_in(c, signs)) return begin_run(State::set, signs);
    at_ = 0;
    begin_run(State::spaces, 0);
}

// Chooses the alternative as piece_end() does. One that cannot be long has ended at once.
void LongRun::begin(const char* at, const char* end) {
    const Char c = char_at(at, end);
    if (is_in(c, digits) && family_ != Family::r50k) ended_ = true;
    if (!is_cased() && contraction(at, end) != 0) ended_ = true;
    if (ended_) {
        at_ = static_cast<std::size_t>(piece_end(family_, at, end) - at);
        return begin_run(State::set, 0);
    }
    if (family_ == Family::r50k) return begin_gpt2(at, end);
    const std::uint32_t word = is_cased() ? letters | marks : letters;
    const State words = is_cased() ? State::first_letters : State::set;
    if (is_in(c, word)) return begin_run(words, letters);
    const Char d = char_at(at + c.size, end);
    if (c.kind != CharClass::newline && is_in(d, word)) {
        at_ = c.size;
        return begin_run(words, letters);
    }
    if (!is_in(c, signs) && !(*at == ' ' && is_in(d, signs))) return begin_run(State::spaces, 0);
    at_ = c.size;
    begin_run(State::signs, signs);
}

void LongRun::grow(std::string_view text) {
    const char* const start = text.data();
    const char* const end = start + text.size();
    if (state_ == State::unread) begin(start, end);
    if (ended_) return;
    const char* at = start + at_;
    const auto offset = [&] { return static_cast<std::size_t>(at - start); };
    if (state_ == State::first_letters) {
        Char c = char_at(at, end);
        for (; is_in(c, first_letters); c = char_at(at, end)) {
            at += c.size;
            if (is_in(c, both_cases)) mark_ = offset();
        }
        if (is_in(c, last_letters)) begin_run(State::set, last_letters);
    }
    if (state_ == State::set || state_ == State::signs) at = skip(at, end, set_);
    if (state_ == State::signs && at != end) state_ = State::sign_lines;
    if (state_ == State::sign_lines) at = skip_bytes(at, end, is_cased() ? "\r\n/" : "\r\n");
    if (state_ == State::spaces)
        for (Char c = char_at(at, end); is_in(c, spaces); c = char_at(at, end)) {
            last_at_ = offset();
            at += c.size;
            if (c.kind == CharClass::newline && family_ != Family::r50k) mark_ = offset();
        }
    at_ = offset();
    ended_ = at != end;
}

std::size_t LongRun::first_end() const {
    const bool marked = state_ == State::first_letters || state_ == State::spaces;
    if (marked && mark_ != 0) return mark_;
    if (state_ == State::spaces && ended_ && last_at_ != 0) return last_at_;
    return at_;
}

bool LongRun::takes_contraction() const {
    const bool is_word = state_ == State::first_letters || (state_ == State::set && set_ != 0);
    return is_cased() && is_word && first_end() == at_;
}

}  // namespace palimpsest
