// Counter's inner loop for processors with AVX2: 64 bytes become nine bit masks, the masks become
// borders (window.h), and each piece between two borders is one probe of the cache. Non-ASCII
// text and what a window cannot decide go through piece_end(), as in counter.cpp.
#include "token/counter.h"

#include "token/encoding.h"
#include "token/window.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <cstring>
#define PAL_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt")))

namespace palimpsest {
namespace {

PAL_AVX2 inline std::uint64_t bits(__m256i bytes) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
}

PAL_AVX2 inline std::uint64_t equal(__m256i bytes, char c) {
    return bits(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c)));
}

// Signed comparison: bytes of 0x80 and more are below everything.
PAL_AVX2 inline std::uint64_t between(__m256i bytes, char from, char to) {
    const __m256i low = _mm256_set1_epi8(static_cast<char>(from - 1));
    const __m256i high = _mm256_set1_epi8(static_cast<char>(to + 1));
    return bits(_mm256_and_si256(_mm256_cmpgt_epi8(bytes, low), _mm256_cmpgt_epi8(high, bytes)));
}

// The masks of 32 bytes, `shift` bits up.
PAL_AVX2 inline void add_masks(ByteMasks& masks, const char* at, unsigned shift) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const std::uint64_t newline = equal(bytes, '\n') | equal(bytes, '\r');
    masks.upper |= between(bytes, 'A', 'Z') << shift;
    masks.lower |= between(bytes, 'a', 'z') << shift;
    masks.digit |= between(bytes, '0', '9') << shift;
    masks.space |= equal(bytes, ' ') << shift;
    masks.newline |= newline << shift;
    masks.blank |= (between(bytes, '\t', '\r') & ~newline) << shift;
    masks.high |= bits(bytes) << shift;
    masks.quote |= equal(bytes, '\'') << shift;
    masks.slash |= equal(bytes, '/') << shift;
}

PAL_AVX2 inline ByteMasks byte_masks(const char* at, unsigned size = 64) {
    ByteMasks masks;
    add_masks(masks, at, 0);
    if (size > 32) add_masks(masks, at + 32, 32);
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

// A text of at most 64 bytes.
template <Family family>
PAL_AVX2 bool Counter::grow_last(const char*& at, const char* end, Growth& growth) {
    const auto size = static_cast<unsigned>(end - at);
    std::uint64_t starts = window::all_starts<family>(byte_masks(at, size), {at, size});
    if (starts == 0) return false;
    unsigned from = 0, before = 0;
    std::uint32_t tokens_before = 0;
    for (starts &= starts - 1; starts != 0; starts &= starts - 1) {
        const auto to = static_cast<unsigned>(std::countr_zero(starts));
        growth.closed += tokens_before;
        if (from != 0)
            tokens_before = count_short(at + from, to - from);
        else
            tokens_before =
                to == growth.known_size ? growth.known_tokens : count_finished({at, to}, growth);
        before = from, from = to;
    }
    const std::uint32_t last = count_last({at + from, size - from}, growth);
    growth.open = last;
    // The piece before the last stays open if the border between them may still move.
    const bool ends_white = end[-1] == ' ' || (end[-1] >= '\t' && end[-1] <= '\r');
    const bool is_settled = !(ends_white || (at[from] == '\'' && size - from <= 3));
    (is_settled ? growth.closed : growth.open) += tokens_before;
    const bool is_first = is_settled || from == 0;
    growth.known_size = is_first ? size - from : from - before;
    growth.known_tokens = is_first ? last : tokens_before;
    at += is_settled ? from : before;
    return true;
}

template <Family family>
PAL_AVX2 bool Counter::grow_wide(const char*& at, const char* end, Growth& growth) {
    while (end - at > 64) {
        std::uint64_t starts = window::piece_starts<family>(byte_masks(at), at) & ~std::uint64_t{1};
        if (starts == 0) return false;
        unsigned from = 0;
        for (; starts != 0; starts &= starts - 1) {
            const auto to = static_cast<unsigned>(std::countr_zero(starts));
            growth.closed += count_short(at + from, to - from);
            from = to;
        }
        at += from;
        growth.known_size = 0;
    }
    return grow_last<family>(at, end, growth);
}

template std::uint64_t Counter::count_wide<Family::o200k>(const char*, const char*);
template std::uint64_t Counter::count_wide<Family::cl100k>(const char*, const char*);

bool Counter::grow(const char*& at, const char* end, Growth& growth) {
    if (!wide_ || at == end || is_high(*at) || is_high(end[-1])) return false;
    if (encoding_.family() == Family::o200k) return grow_wide<Family::o200k>(at, end, growth);
    return encoding_.family() == Family::cl100k && grow_wide<Family::cl100k>(at, end, growth);
}

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

bool Counter::grow(const char*&, const char*, Growth&) {
    return false;
}

template std::uint64_t Counter::count_wide<Family::o200k>(const char*, const char*);
template std::uint64_t Counter::count_wide<Family::cl100k>(const char*, const char*);

}  // namespace palimpsest

#endif
