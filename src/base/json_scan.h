// Passing over the bytes of JSON strings, as many at a time as the machine can look at.
//
// Plain bytes are printable ASCII other than quote and backslash: nothing in them needs a second
// look. SSE2 is there on every x86-64; AVX2 is asked for at run time; elsewhere words of 8 bytes
// do.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace palimpsest {

inline bool is_plain(char c) {
    return c >= ' ' && c != '"' && c != '\\';
}

#if defined(__SSE2__)

// Two registers at a time: runs between escapes are mostly shorter, so that the branch behind it
// can be foretold.
constexpr std::ptrdiff_t plain_block = 32;
struct PlainBlock {
    explicit PlainBlock(const char* at) : low(load(at)), high(load(at + 16)) {}
    void copy_to(char* out) const {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), low);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16), high);
    }
    // How many bytes before the first that is not plain; plain_block if there is none.
    int plain() const {
        return std::countr_zero(special(low) | (special(high) << 16) | (std::uint64_t{1} << 32));
    }
    static __m128i load(const char* at) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    }
    // Compared as signed numbers, bytes from 0x80 on are below a space too.
    static std::uint64_t special(__m128i bytes) {
        const __m128i quotes = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                            _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        const __m128i found = _mm_or_si128(quotes, _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')));
        return static_cast<unsigned>(_mm_movemask_epi8(found));
    }
    __m128i low, high;
};

constexpr std::ptrdiff_t half_block = 16;
inline int plain_in_half_block(const char* at) {
    return std::countr_zero(PlainBlock::special(PlainBlock::load(at)) | 0x10000U);
}

#else

constexpr std::ptrdiff_t plain_block = 8;
struct PlainBlock {
    explicit PlainBlock(const char* at) { std::memcpy(bytes, at, sizeof bytes); }
    void copy_to(char* out) const { std::memcpy(out, bytes, sizeof bytes); }
    int plain() const {
        int count = 0;
        while (count < plain_block && is_plain(bytes[count])) ++count;
        return count;
    }
    char bytes[plain_block];
};

constexpr std::ptrdiff_t half_block = plain_block;
inline int plain_in_half_block(const char* at) {
    return PlainBlock(at).plain();
}

#endif

// The first byte from `at` on that is not plain, or `end`.
using SkipPlain = const char* (*)(const char* at, const char* end);
const char* skip_plain_blocks(const char* at, const char* end);
// The widest that this machine has.
SkipPlain widest_skip_plain();

// Keys and ids end in the first 16 bytes; long texts are left to `far`.
inline const char* skip_plain(const char* at, const char* end, SkipPlain far) {
    for (std::ptrdiff_t i = 0; i < 2; ++i, at += half_block) {
        if (end - at < half_block) return skip_plain_blocks(at, end);
        const int plain = plain_in_half_block(at);
        if (plain < half_block) return at + plain;
    }
    return far(at, end);
}

// Passes over characters above ASCII. Null where one is broken.
const char* skip_above_ascii(const char* at, const char* end);

}  // namespace palimpsest
