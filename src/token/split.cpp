#include "token/split.h"

#include "token/chars.h"

namespace palimpsest {
namespace {

using namespace chars;

// [Lu Lt Lm Lo M]*[Ll Lm Lo M]+ or, failing that, [Lu Lt Lm Lo M]+: if no lower-case letter follows
// the first run, the run gives back what comes after its last letter that has no case.
const char* cased_word_end(const char* at, const char* end) {
    const char* last_both = nullptr;
    Char c = char_at(at, end);
    for (; is_in(c, first_letters); c = char_at(at, end)) {
        at += c.size;
        if (is_in(c, both_cases)) last_both = at;
    }
    if (is_in(c, last_letters)) return skip(at, end, last_letters);
    return last_both != nullptr ? last_both : at;
}

template <Family family>
const char* number_end(const char* at, const char* end) {
    constexpr int most = family == Family::qwen ? 1 : 3;
    if constexpr (family == Family::r50k) return skip(at, end, digits);
    Char c = char_at(at, end);
    for (int n = 0; n < most && is_in(c, digits); ++n, c = char_at(at, end)) at += c.size;
    return at;
}

std::uint32_t lower_case(const char* at) {
    const std::uint32_t c = byte(at);
    return c - 'A' < 26 ? c | 0x20 : c;
}

// 's|'t|'re|'ve|'m|'ll|'d as written.
std::uint32_t plain_contraction(const char* at, const char* end) {
    const std::uint32_t size = contraction(at, end);
    for (std::uint32_t i = 1; i < size; ++i)
        if (byte(at + i) - 'a' >= 26) return 0;
    return size;
}

const char* r50k_end(const char* at, const char* end) {
    if (const std::uint32_t size = plain_contraction(at, end)) return at + size;
    const char* const word = at + (*at == ' ');
    const Char c = char_at(word, end);
    if (is_in(c, letters)) return skip(word, end, letters);
    if (is_in(c, digits)) return skip(word, end, digits);
    if (is_in(c, signs)) return skip(word, end, signs);
    return space_end(at, end, SpaceRule::plain);
}

template <Family family>
const char* word_end(const char* at, const char* end) {
    if constexpr (family != Family::o200k) return skip(at, end, letters);
    at = cased_word_end(at, end);
    return at + contraction(at, end);
}

}  // namespace

std::uint32_t contraction(const char* at, const char* end) {
    if (end - at < 2 || *at != '\'') return 0;
    const std::uint32_t c = lower_case(at + 1);
    if (c == 's' || c == 't' || c == 'm' || c == 'd') return 2;
    if (end - at < 3) return 0;
    const std::uint32_t d = lower_case(at + 2);
    if (c == 'l' && d == 'l') return 3;
    if ((c == 'v' || c == 'r') && d == 'e') return 3;
    return c == 0xC5 && d == 0xBF ? 3 : 0;
}

template <Family family>
const char* piece_end(const char* at, const char* end) {
    if constexpr (family == Family::r50k) return r50k_end(at, end);
    constexpr bool cased = family == Family::o200k;
    if constexpr (!cased)
        if (const std::uint32_t size = contraction(at, end)) return at + size;
    constexpr std::uint32_t word = cased ? letters | bit(CharClass::mark) : letters;
    const Char c = char_at(at, end);
    if (is_in(c, word)) return word_end<family>(at, end);
    if (is_in(c, digits)) return number_end<family>(at, end);
    const char* const next = at + c.size;
    const Char d = char_at(next, end);
    if (c.kind != CharClass::newline && is_in(d, word)) return word_end<family>(next, end);
    if (is_in(c, signs) || (*at == ' ' && is_in(d, signs)))
        return skip_bytes(skip(next, end, signs), end, cased ? "\r\n/" : "\r\n");
    return space_end(at, end, SpaceRule::up_to_newline);
}

template const char* piece_end<Family::o200k>(const char*, const char*);
template const char* piece_end<Family::cl100k>(const char*, const char*);
template const char* piece_end<Family::qwen>(const char*, const char*);
template const char* piece_end<Family::r50k>(const char*, const char*);

const char* piece_end(Family family, const char* at, const char* end) {
    switch (family) {
        case Family::o200k:
            return piece_end<Family::o200k>(at, end);
        case Family::cl100k:
            return piece_end<Family::cl100k>(at, end);
        case Family::qwen:
            return piece_end<Family::qwen>(at, end);
        case Family::r50k:
            break;
    }
    return piece_end<Family::r50k>(at, end);
}

}  // namespace palimpsest
