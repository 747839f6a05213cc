#include "token/nfc.h"

#include "token/chars.h"
#include "token/nfc_tables.h"

#include <algorithm>
#include <array>
#include <vector>

namespace palimpsest {
namespace {

using Code = std::uint32_t;
using Codes = std::vector<Code>;

constexpr Code syllables = 0xAC00, leads = 0x1100, vowels = 0x1161, tails = 0x11A7;
constexpr Code lead_count = 19, vowel_count = 21, tail_count = 28;
constexpr Code syllable_count = lead_count * vowel_count * tail_count;

constexpr Code code_of(std::uint64_t row) {
    return static_cast<Code>(row >> 37);
}
constexpr Code first_of(std::uint64_t row) {
    return row >> 19 & 0x3FFFF;
}
constexpr Code second_of(std::uint64_t row) {
    return row >> 1 & 0x3FFFF;
}
constexpr bool composes(std::uint64_t row) {
    return (row & 1) != 0;
}
constexpr std::uint64_t pair_of(std::uint64_t row) {
    return row & 0x1FFFFFFFFF;
}

// The rows that compose, by their pair.
constexpr auto compositions = [] {
    std::array<std::uint64_t, std::ranges::count_if(nfc_pairs, composes)> rows{};
    std::ranges::copy_if(nfc_pairs, rows.begin(), composes);
    std::ranges::sort(rows, {}, pair_of);
    return rows;
}();

// The second halves of what composes.
constexpr auto seconds = [] {
    std::array<Code, compositions.size()> codes{};
    std::ranges::transform(compositions, codes.begin(), second_of);
    std::ranges::sort(codes);
    return codes;
}();

std::uint8_t class_of(Code code) {
    if (code < 0x300) return 0;
    const auto after = std::ranges::upper_bound(nfc_classes, code * 256 + 255);
    return static_cast<std::uint8_t>(*(after - 1));
}

// The row of the character, or none.
const std::uint64_t* pair_row(Code code) {
    const auto row = std::ranges::lower_bound(nfc_pairs, code, {}, code_of);
    return row != std::end(nfc_pairs) && code_of(*row) == code ? row : nullptr;
}

// What an ideograph is another spelling of, or 0.
Code same_ideograph(Code code) {
    if (code - 0xF900 < std::size(nfc_ideographs_bmp)) return nfc_ideographs_bmp[code - 0xF900];
    if (code - 0x2F800 < std::size(nfc_ideographs_sip)) return nfc_ideographs_sip[code - 0x2F800];
    return 0;
}

void decompose(Code code, Codes& out) {
    if (const Code index = code - syllables; index < syllable_count) {
        out.push_back(leads + index / (vowel_count * tail_count));
        out.push_back(vowels + index % (vowel_count * tail_count) / tail_count);
        if (index % tail_count != 0) out.push_back(tails + index % tail_count);
        return;
    }
    if (const Code same = same_ideograph(code)) return decompose(same, out);
    const std::uint64_t* const row = pair_row(code);
    if (row == nullptr) return out.push_back(code);
    decompose(first_of(*row), out);
    if (second_of(*row) != 0) decompose(second_of(*row), out);
}

// May it have to change, or change the character before it?
bool is_doubtful(Code code) {
    if (code < 0x300 || (code >= 0x4E00 && code < 0xA000)) return false;
    if (code - syllables < syllable_count) return false;
    if (code - vowels < vowel_count || code - tails - 1 < tail_count - 1) return true;
    if (class_of(code) != 0 || same_ideograph(code) != 0) return true;
    const std::uint64_t* const row = pair_row(code);
    return (row != nullptr && !composes(*row)) || std::ranges::binary_search(seconds, code);
}

// Marks on one character stand in the order of their classes.
void order_marks(Codes& codes) {
    for (auto at = codes.begin(); at != codes.end();) {
        const auto is_mark = [](Code code) { return class_of(code) != 0; };
        at = std::find_if(at, codes.end(), is_mark);
        const auto end = std::find_if_not(at, codes.end(), is_mark);
        std::stable_sort(at, end, [](Code a, Code b) { return class_of(a) < class_of(b); });
        at = end;
    }
}

// 0 if the two do not compose.
Code composed(Code first, Code second) {
    if (first - leads < lead_count && second - vowels < vowel_count)
        return syllables + ((first - leads) * vowel_count + (second - vowels)) * tail_count;
    const bool is_open =
        first - syllables < syllable_count && (first - syllables) % tail_count == 0;
    if (is_open && second - tails - 1 < tail_count - 1) return first + (second - tails);
    if (first >= 0x40000 || second >= 0x40000) return 0;  // There are none, and no place for them.
    const std::uint64_t pair = std::uint64_t{first} << 19 | std::uint64_t{second} << 1 | 1;
    const auto row = std::ranges::lower_bound(compositions, pair, {}, pair_of);
    return row != compositions.end() && pair_of(*row) == pair ? code_of(*row) : 0;
}

// Each mark joins the character before it, unless a mark of its class or higher is between them.
void compose(Codes& codes) {
    std::size_t kept = 0, starter = SIZE_MAX;
    int before = -1;  // The class of the last that was kept after the starter; -1: there is none.
    for (const Code code : codes) {
        const int kind = class_of(code);
        const bool is_blocked = before >= kind && before != -1;
        const Code both = starter == SIZE_MAX || is_blocked ? 0 : composed(codes[starter], code);
        if (both != 0) {
            codes[starter] = both;
            continue;
        }
        if (kind == 0) starter = kept;
        before = kind == 0 ? -1 : kind;
        codes[kept++] = code;
    }
    codes.resize(kept);
}

void write(Code code, std::string& out) {
    const auto tail = [&](unsigned shift) {
        out += static_cast<char>(0x80 | (code >> shift & 63));
    };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6);
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0 | code >> 12);
        tail(6), tail(0);
    } else {
        out += static_cast<char>(0xF0 | code >> 18);
        tail(12), tail(6), tail(0);
    }
}

}  // namespace

bool is_surely_nfc(std::string_view text) {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
        const chars::Char c = chars::char_at(at, end);
        if (is_doubtful(c.code)) return false;
        at += c.size;
    }
    return true;
}

std::string to_nfc(std::string_view text) {
    Codes codes;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
        const chars::Char c = chars::char_at(at, end);
        decompose(c.code, codes);
        at += c.size;
    }
    order_marks(codes);
    compose(codes);
    std::string out;
    for (const Code code : codes) write(code, out);
    return out;
}

}  // namespace palimpsest
