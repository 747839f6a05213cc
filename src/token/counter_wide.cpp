// Counter's inner loop for processors with AVX2: 64 bytes become nine bit masks, the masks become
// borders (window.h), and each piece between two borders is one probe of the cache. Non-ASCII
// text and what a window cannot decide go through piece_end(), as in counter.cpp.
#include "token/counter.h"

#include "token/window.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <cstring>
#define PAL_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt")))

namespace palimpsest {
namespace {

struct Wide {
    __m256i first, second;
};

PAL_AVX2 inline std::uint64_t mask(__m256i first, __m256i second) {
    const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(first));
    const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(second));
    return low | std::uint64_t{high} << 32;
}

PAL_AVX2 inline std::uint64_t equal(Wide bytes, char c) {
    const __m256i all = _mm256_set1_epi8(c);
    return mask(_mm256_cmpeq_epi8(bytes.first, all), _mm256_cmpeq_epi8(bytes.second, all));
}

// Signed comparison: bytes of 0x80 and more are below everything.
PAL_AVX2 inline std::uint64_t between(Wide bytes, char from, char to) {
    const __m256i low = _mm256_set1_epi8(static_cast<char>(from - 1));
    const __m256i high = _mm256_set1_epi8(static_cast<char>(to + 1));
    return mask(
        _mm256_and_si256(_mm256_cmpgt_epi8(bytes.first, low), _mm256_cmpgt_epi8(high, bytes.first)),
        _mm256_and_si256(_mm256_cmpgt_epi8(bytes.second, low),
                         _mm256_cmpgt_epi8(high, bytes.second)));
}

PAL_AVX2 inline ByteMasks byte_masks(const char* at) {
    const Wide bytes{_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)),
                     _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32))};
    ByteMasks masks;
    masks.upper = between(bytes, 'A', 'Z');
    masks.lower = between(bytes, 'a', 'z');
    masks.digit = between(bytes, '0', '9');
    masks.space = equal(bytes, ' ');
    masks.newline = equal(bytes, '\n') | equal(bytes, '\r');
    masks.blank = between(bytes, '\t', '\r') & ~masks.newline;
    masks.high = mask(bytes.first, bytes.second);
    masks.quote = equal(bytes, '\'');
    masks.slash = equal(bytes, '/');
    return masks;
}

inline bool is_high(char c) {
    return static_cast<signed char>(c) < 0;
}

}  // namespace

bool Counter::has_wide() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

template <Family family>
PAL_AVX2 std::uint64_t Counter::count_wide(const char* at, const char* end) {
    std::uint64_t total = 0;
    // A window is 64 bytes, and a key may read 16 bytes from any place in it.
    while (end - at >= 80) {
        if (!is_high(at[0]) && !is_high(at[1])) {
            std::uint64_t starts =
                window::piece_starts<family>(byte_masks(at), at) & ~std::uint64_t{1};
            unsigned from = 0;
            for (; starts != 0; starts &= starts - 1) {
                const auto to = static_cast<unsigned>(std::countr_zero(starts));
                total += count_short(at + from, to - from);
                from = to;
            }
            at += from;
            if (from != 0) continue;
        }
        const char* const next = piece_end<family>(at, end);
        total += count_piece(at, next, end);
        at = next;
    }
    return total + count_valid<family>(at, end);
}

// What lies behind the end is unknown, like a byte that is not ASCII.
template <Family family>
PAL_AVX2 std::uint64_t Counter::closed_wide(const char*& at, const char* end) {
    std::uint64_t total = 0;
    while (at != end && !is_high(*at)) {
        const auto size = static_cast<unsigned>(end - at < 64 ? end - at : 64);
        ByteMasks masks = byte_masks(at);
        if (size < 64) masks.high |= ~window::up_to(size - 1);
        std::uint64_t starts = window::piece_starts<family>(masks, at) & ~std::uint64_t{1};
        unsigned from = 0;
        for (; starts != 0; starts &= starts - 1) {
            const auto to = static_cast<unsigned>(std::countr_zero(starts));
            total += count_short(at + from, to - from);
            from = to;
        }
        at += from;
        if (from == 0 || size < 64) break;
    }
    return total;
}

template std::uint64_t Counter::count_wide<Family::o200k>(const char*, const char*);
template std::uint64_t Counter::count_wide<Family::cl100k>(const char*, const char*);
template std::uint64_t Counter::closed_wide<Family::o200k>(const char*&, const char*);
template std::uint64_t Counter::closed_wide<Family::cl100k>(const char*&, const char*);

}  // namespace palimpsest

#else

namespace palimpsest {

bool Counter::has_wide() {
    return false;
}

template <Family family>
std::uint64_t Counter::count_wide(const char* at, const char* end) {
    return count_valid<family>(at, end);
}

template <Family family>
std::uint64_t Counter::closed_wide(const char*& at, const char* end) {
    return closed_plain(at, end);
}

template std::uint64_t Counter::count_wide<Family::o200k>(const char*, const char*);
template std::uint64_t Counter::count_wide<Family::cl100k>(const char*, const char*);
template std::uint64_t Counter::closed_wide<Family::o200k>(const char*&, const char*);
template std::uint64_t Counter::closed_wide<Family::cl100k>(const char*&, const char*);

}  // namespace palimpsest

#endif
