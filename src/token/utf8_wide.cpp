#include "token/utf8_wide.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define PAL_AVX2 __attribute__((target("avx2")))

namespace palimpsest {
namespace {

// What can be wrong with two adjacent bytes; the bits that are set in all three tables are.
enum Wrong : std::uint8_t {
    too_short = 1,   // A lead and no continuation.
    too_long = 2,    // ASCII and a continuation.
    overlong_3 = 4,  // E0 and less than A0.
    too_large = 8,   // F4 and 90 or more, or a lead above F4.
    surrogate = 16,  // ED and A0 or more.
    overlong_2 = 32,
    overlong_4 = 64,          // F0 and less than 90; or
    too_large_1000 = 64,      // a lead above F4 and less than 90.
    two_continuations = 128,  // Right if a lead stands two or three bytes before.
};
constexpr std::uint8_t any_low = too_short | too_long | two_continuations;
constexpr std::uint8_t large = any_low | too_large | too_large_1000;
constexpr std::uint8_t any_tail = too_long | overlong_2 | two_continuations;

alignas(16) constexpr std::uint8_t first_high[16] = {
    too_long,
    too_long,
    too_long,
    too_long,
    too_long,
    too_long,
    too_long,
    too_long,
    two_continuations,
    two_continuations,
    two_continuations,
    two_continuations,
    too_short | overlong_2,
    too_short,
    too_short | overlong_3 | surrogate,
    too_short | too_large | too_large_1000,
};
alignas(16) constexpr std::uint8_t first_low[16] = {
    any_low | overlong_3 | overlong_2 | overlong_4,
    any_low | overlong_2,
    any_low,
    any_low,
    any_low | too_large,
    large,
    large,
    large,
    large,
    large,
    large,
    large,
    large,
    large | surrogate,
    large,
    large,
};
alignas(16) constexpr std::uint8_t second_high[16] = {
    too_short,
    too_short,
    too_short,
    too_short,
    too_short,
    too_short,
    too_short,
    too_short,
    any_tail | overlong_3 | too_large_1000,
    any_tail | overlong_3 | too_large,
    any_tail | surrogate | too_large,
    any_tail | surrogate | too_large,
    too_short,
    too_short,
    too_short,
    too_short,
};

PAL_AVX2 inline __m256i table(const std::uint8_t* entries) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(entries)));
}

PAL_AVX2 inline __m256i high_half(__m256i bytes) {
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
}

// Not zero where a byte is wrong. `before` are the 32 bytes before.
PAL_AVX2 inline __m256i errors(__m256i bytes, __m256i before) {
    const __m256i middle = _mm256_permute2x128_si256(before, bytes, 0x21);
    const __m256i one_back = _mm256_alignr_epi8(bytes, middle, 15);
    const __m256i two_back = _mm256_alignr_epi8(bytes, middle, 14);
    const __m256i three_back = _mm256_alignr_epi8(bytes, middle, 13);
    const __m256i low = _mm256_and_si256(one_back, _mm256_set1_epi8(15));
    const __m256i pairs = _mm256_and_si256(
        _mm256_and_si256(_mm256_shuffle_epi8(table(first_high), high_half(one_back)),
                         _mm256_shuffle_epi8(table(first_low), low)),
        _mm256_shuffle_epi8(table(second_high), high_half(bytes)));
    // The top bit is set after a lead of three bytes and of four.
    const __m256i third = _mm256_subs_epu8(two_back, _mm256_set1_epi8(0xE0 - 0x80));
    const __m256i fourth = _mm256_subs_epu8(three_back, _mm256_set1_epi8(0xF0 - 0x80));
    const __m256i must_continue =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(-128));
    return _mm256_xor_si256(must_continue, pairs);
}

}  // namespace

bool has_utf8_wide() {
    return __builtin_cpu_supports("avx2");
}

PAL_AVX2 bool is_utf8_wide(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    __m256i wrong = _mm256_setzero_si256(), before = wrong;
    for (; end - at >= 32; at += 32) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        // ASCII after ASCII needs no look; `before` may end in an unfinished character.
        if (_mm256_movemask_epi8(_mm256_or_si256(bytes, before)) != 0)
            wrong = _mm256_or_si256(wrong, errors(bytes, before));
        before = bytes;
    }
    // Zeros behind the end: a character that is cut off there is too short.
    char rest[32] = {};
    std::memcpy(rest, at, static_cast<std::size_t>(end - at));
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rest));
    wrong = _mm256_or_si256(wrong, errors(bytes, before));
    return _mm256_testz_si256(wrong, wrong) != 0;
}

}  // namespace palimpsest

#else

namespace palimpsest {

bool has_utf8_wide() {
    return false;
}

bool is_utf8_wide(std::string_view) {
    return false;
}

}  // namespace palimpsest

#endif
