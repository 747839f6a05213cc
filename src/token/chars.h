// Characters as the splitters see them: decoded from UTF-8 that is known to be valid, classed by
// the compiled table of unicode_ranges.h. Sets of classes are bits of a number.
#pragma once
#include "token/table_layout.h"
#include "token/tables.h"
#include "token/unicode_ranges.h"

#include <cstdint>

namespace palimpsest::chars {

struct Char {
    CharClass kind = CharClass::other;
    std::uint32_t size = 0;  // Bytes; 0 at the end of the text.
    std::uint32_t code = 0;
};

inline std::uint32_t byte(const char* at) {
    return static_cast<std::uint8_t>(*at);
}

[[gnu::always_inline]] inline Char char_at(const char* at, const char* end) {
    if (at == end) return {};
    std::uint32_t code = byte(at), size = 1;
    if (code >= 0xF0) {
        code = (code & 7) << 18 | (byte(at + 1) & 63) << 12 | (byte(at + 2) & 63) << 6 |
               (byte(at + 3) & 63);
        size = 4;
    } else if (code >= 0xE0) {
        code = (code & 15) << 12 | (byte(at + 1) & 63) << 6 | (byte(at + 2) & 63);
        size = 3;
    } else if (code >= 0x80) {
        code = (code & 31) << 6 | (byte(at + 1) & 63);
        size = 2;
    }
    const std::uint8_t* table = pal_table_classes;
    const std::uint8_t kind = table[class_index_size + 256u * table[code >> 8] + (code & 255)];
    return {static_cast<CharClass>(kind), size, code};
}

constexpr std::uint32_t bit(CharClass kind) {
    return 1u << static_cast<std::uint32_t>(kind);
}
constexpr std::uint32_t letters =
    bit(CharClass::upper) | bit(CharClass::lower) | bit(CharClass::letter);
constexpr std::uint32_t marks = bit(CharClass::mark);
constexpr std::uint32_t both_cases = bit(CharClass::letter) | marks;
constexpr std::uint32_t first_letters = bit(CharClass::upper) | both_cases;
constexpr std::uint32_t last_letters = bit(CharClass::lower) | both_cases;
constexpr std::uint32_t digits = bit(CharClass::number);
constexpr std::uint32_t spaces = bit(CharClass::space) | bit(CharClass::newline);
constexpr std::uint32_t signs = ~(letters | digits | spaces);

inline bool is_in(Char c, std::uint32_t set) {
    return c.size != 0 && (bit(c.kind) & set) != 0;
}

inline const char* skip(const char* at, const char* end, std::uint32_t set) {
    for (Char c = char_at(at, end); is_in(c, set); c = char_at(at, end)) at += c.size;
    return at;
}

// `any` is a set of bytes, ended by 0.
inline const char* skip_bytes(const char* at, const char* end, const char* any) {
    for (; at != end; ++at) {
        const char* found = any;
        while (*found != 0 && *found != *at) ++found;
        if (*found == 0) break;
    }
    return at;
}

// \s+(?!\S)|\s+ at a white-space character, or \s*[\r\n]+|\s+(?!\S)|\s+.
enum class SpaceRule : std::uint8_t { plain, up_to_newline };
inline const char* space_end(const char* at, const char* end, SpaceRule rule) {
    const char* const start = at;
    const char* last = at;
    const char* after_newline = nullptr;
    Char c = char_at(at, end);
    for (; is_in(c, spaces); c = char_at(at, end)) {
        last = at;
        at += c.size;
        if (c.kind == CharClass::newline) after_newline = at;
    }
    if (rule == SpaceRule::up_to_newline && after_newline != nullptr) return after_newline;
    return at == end || last == start ? at : last;
}

}  // namespace palimpsest::chars
