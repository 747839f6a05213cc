#include "base/json_scan.h"

#include "base/utf8.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace palimpsest {

const char* skip_plain_blocks(const char* at, const char* end) {
    while (end - at >= plain_block) {
        const int plain = PlainBlock(at).plain();
        at += plain;
        if (plain < plain_block) return at;
    }
    if (end - at >= half_block) {
        const int plain = plain_in_half_block(at);
        at += plain;
        if (plain < half_block) return at;
    }
    while (at < end && is_plain(*at)) ++at;
    return at;
}

#if defined(__x86_64__)
namespace {

__attribute__((target("avx2"))) inline __m256i special_bytes(const char* at) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i quotes = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')),
                                           _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')));
    return _mm256_or_si256(quotes, _mm256_cmpgt_epi8(_mm256_set1_epi8(' '), bytes));
}

__attribute__((target("avx2"))) const char* skip_plain_avx2(const char* at, const char* end) {
    for (; end - at >= 128; at += 128) {
        const __m256i a = special_bytes(at), b = special_bytes(at + 32);
        const __m256i c = special_bytes(at + 64), d = special_bytes(at + 96);
        const __m256i any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
        if (_mm256_testz_si256(any, any)) continue;
        const auto mask = [](__m256i low, __m256i high) __attribute__((target("avx2"))) {
            return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
                   (std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(high))} << 32);
        };
        const std::uint64_t first = mask(a, b);
        return first != 0 ? at + std::countr_zero(first) : at + 64 + std::countr_zero(mask(c, d));
    }
    return skip_plain_blocks(at, end);
}

}  // namespace

SkipPlain widest_skip_plain() {
    return __builtin_cpu_supports("avx2") ? skip_plain_avx2 : skip_plain_blocks;
}
#else
SkipPlain widest_skip_plain() {
    return skip_plain_blocks;
}
#endif

namespace {

// The length of a sequence of two or three bytes whose form alone proves it right; else 0.
inline int plain_length(std::uint32_t bytes) {
    const std::uint32_t lead = bytes & 0xffU;
    if ((bytes & 0xc0c0f0U) == 0x8080e0U) return lead != 0xe0U && lead != 0xedU ? 3 : 0;
    return (bytes & 0xc0e0U) == 0x80c0U && lead >= 0xc2U ? 2 : 0;
}

}  // namespace

const char* skip_above_ascii(const char* at, const char* end) {
    while (at < end && static_cast<unsigned char>(*at) >= 0x80) {
        int length = 0;
        if (std::endian::native == std::endian::little && end - at >= 4) {
            std::uint32_t bytes = 0;
            std::memcpy(&bytes, at, sizeof bytes);
            length = plain_length(bytes);
        }
        if (length == 0)
            length = static_cast<int>(utf8_length({at, static_cast<std::size_t>(end - at)}));
        if (length == 0) return nullptr;
        at += length;
    }
    return at;
}

}  // namespace palimpsest
