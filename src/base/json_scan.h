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

constexpr std::ptrdiff_t plain_block = 16;
struct PlainBlock {
    explicit PlainBlock(const char* at)
        : bytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) {}
    void copy_to(char* out) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes); }
    // How many bytes before the first that is not plain; plain_block if there is none. Compared as
    // signed numbers, bytes from 0x80 on are below a space too.
    int plain() const {
        const __m128i special =
            _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')));
        return std::countr_zero(static_cast<unsigned>(_mm_movemask_epi8(special)) | 0x10000U);
    }
    __m128i bytes;
};

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

#endif

// The first byte from `at` on that is not plain, or `end`.
using SkipPlain = const char* (*)(const char* at, const char* end);
const char* skip_plain_blocks(const char* at, const char* end);
// The widest that this machine has.
SkipPlain widest_skip_plain();

// Keys and ids end in the first blocks; long texts are left to `far`.
inline const char* skip_plain(const char* at, const char* end, SkipPlain far) {
    for (int blocks = 0; blocks < 2; ++blocks) {
        if (end - at < plain_block) return skip_plain_blocks(at, end);
        const int plain = PlainBlock(at).plain();
        at += plain;
        if (plain < plain_block) return at;
    }
    return far(at, end);
}

// Passes over characters above ASCII. Null where one is broken.
const char* skip_above_ascii(const char* at, const char* end);

}  // namespace palimpsest
