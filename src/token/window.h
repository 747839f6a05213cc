// The borders of pieces in 64 bytes at once, by arithmetic on bit masks.
//
// A window is 64 bytes that begin where a piece begins; bit i stands for byte i. piece_starts()
// knows the rules of split.h for ASCII and finds every start that it can be sure of: it stops
// before the first other byte, before white space whose end is not in the window, and before the
// two constructs that need a look further ahead. Whatever it leaves out, piece_end() does.
#pragma once
#include "token/split.h"

#include <bit>
#include <cstdint>
#include <string_view>

namespace palimpsest {

struct ByteMasks {
    std::uint64_t upper = 0, lower = 0, digit = 0;
    std::uint64_t space = 0;    // U+0020
    std::uint64_t blank = 0;    // \t \v \f
    std::uint64_t newline = 0;  // \r \n
    std::uint64_t high = 0;     // Not ASCII.
    std::uint64_t quote = 0, slash = 0;
};

// Bits of starts; bit 0 is always set. Bytes from the last of them on belong to a piece whose end
// is not known here.
namespace window {

using Bits = std::uint64_t;

constexpr Bits up_to(unsigned last) {
    return last >= 63 ? ~Bits{0} : (Bits{2} << last) - 1;
}

// The bits of `runs` that belong to runs which begin at one of `first` (starts of runs).
constexpr Bits runs_from(Bits runs, Bits first) {
    return runs & ~(runs + first);
}

// Starts of runs of blanks after a newline; such a run is part of the newline's piece if another
// newline follows it.
constexpr Bits indents(Bits blanks, Bits newline, Bits own_newline) {
    Bits indent = blanks & (own_newline << 1);
    if (((blanks + indent) & ~blanks & newline) == 0) return indent;
    for (Bits left = indent; left != 0; left &= left - 1) {
        const Bits one = left & (~left + 1);
        if (((blanks + one) & ~blanks & newline) != 0) indent &= ~one;
    }
    return indent;
}

// All but the first of every three digits of a run.
constexpr Bits digit_starts(Bits digit) {
    const Bits inside = digit & (digit << 1) & (digit << 2) & (digit << 3);
    Bits step = digit & ~(digit << 1);
    Bits starts = step;
    while ((step = (step << 3) & inside) != 0) starts |= step;
    return starts;
}

// Takes contractions into account: o200k appends one to a word, cl100k makes it a piece.
template <Family family>
Bits with_contractions(Bits starts, Bits candidates, Bits letters, std::string_view text) {
    unsigned after = 64;
    for (; candidates != 0; candidates &= candidates - 1) {
        const auto at = static_cast<unsigned>(std::countr_zero(candidates));
        if (family == Family::o200k && at == after) continue;
        const std::uint32_t size = contraction(text.data() + at, text.data() + text.size());
        if (size == 0) continue;
        after = at + size;
        starts &= ~(((Bits{1} << size) - 1) << at);
        if (family == Family::cl100k) starts |= Bits{1} << at;
        if (after < 64) starts |= letters & Bits{1} << after;
    }
    return starts;
}

// The last bit up to which starts are certain.
inline unsigned certain(const ByteMasks& m, Bits white, Bits own_white, Bits stop_at) {
    const auto stop = static_cast<unsigned>(std::countr_zero(stop_at));  // 64 if there is none.
    if (stop == 0) return 0;
    unsigned last = stop - 1;
    if ((white >> last & 1) != 0) {
        const Bits starts = own_white & ~(own_white << 1) & up_to(last);
        if (starts != 0) last = 63u - static_cast<unsigned>(std::countl_zero(starts));
    }
    const Bits near = m.quote & up_to(stop - 1) & ~up_to(stop >= 4 ? stop - 4 : 0);
    if (near == 0) return last;
    const auto quote = static_cast<unsigned>(std::countr_zero(near));
    return quote == 0 ? 0 : (quote - 1 < last ? quote - 1 : last);
}

struct Cut {
    Bits starts = 0, white = 0, own_white = 0;
    Bits stop_at = 0;  // From the first of these on, `starts` are not known.
};

// `ends` is the last byte of the text, if that is in the window.
template <Family family>
inline Cut cut(const ByteMasks& m, std::string_view text, Bits ends) {
    static_assert(family == Family::o200k || family == Family::cl100k);
    constexpr bool cased = family == Family::o200k;
    const Bits letters = m.upper | m.lower;
    const Bits blanks = m.space | m.blank;
    const Bits white = blanks | m.newline;
    const Bits signs = ~(letters | m.digit | white | m.high);
    const Bits taken = runs_from(m.newline, m.newline & (signs << 1));  // Newlines after signs.
    const Bits own_white = white & ~taken;
    const Bits sign_starts = signs & ~((signs | m.space) << 1);
    const Bits word_starts = letters & ~((letters | blanks | sign_starts) << 1);
    Bits starts = sign_starts | word_starts | digit_starts(m.digit);
    starts |= own_white & ~(own_white << 1);
    starts |= blanks & ~(white >> 1 | ends);
    starts |= indents(blanks, m.newline, m.newline & ~taken);
    if (cased) starts |= m.upper & (m.lower << 1);
    const Bits quotes =
        m.quote & (letters >> 1) & (cased ? letters << 1 : ~((signs | m.space) << 1));
    if (quotes != 0) starts = with_contractions<family>(starts, quotes, letters, text);
    return {starts, white, own_white, m.high | (cased ? m.slash & (taken << 1) : 0)};
}

template <Family family>
inline Bits piece_starts(const ByteMasks& m, const char* text) {
    const Cut found = cut<family>(m, {text, 64}, 0);
    return (found.starts & up_to(certain(m, found.white, found.own_white, found.stop_at))) | 1;
}

// All starts of an ASCII text of 1 to 64 bytes that ends there; 0 if they cannot be told. `m` may
// hold anything behind the end.
template <Family family>
inline Bits all_starts(ByteMasks m, std::string_view text) {
    const Bits inside = up_to(static_cast<unsigned>(text.size()) - 1);
    m.upper &= inside, m.lower &= inside, m.digit &= inside, m.space &= inside;
    m.blank &= inside, m.newline &= inside, m.quote &= inside, m.slash &= inside;
    if ((m.high & inside) != 0) return 0;
    m.high |= ~inside;
    const Cut found = cut<family>(m, text, Bits{1} << (text.size() - 1));
    return (found.stop_at & inside) != 0 ? 0 : (found.starts & inside) | 1;
}

}  // namespace window
}  // namespace palimpsest
