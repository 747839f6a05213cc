#include "search/code_product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace palimpsest {
namespace {

#if defined(__x86_64__)
[[gnu::target("avx2")]] __m256i widened(const std::int8_t* at) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

[[gnu::target("avx2")]] std::int32_t avx2_code_product(const std::int8_t* a, const std::int8_t* b,
                                                       std::size_t size) {
    __m256i even = _mm256_setzero_si256(), odd = even;
    std::size_t i = 0;
    for (; i + 32 <= size; i += 32) {
        even = _mm256_add_epi32(even, _mm256_madd_epi16(widened(a + i), widened(b + i)));
        odd = _mm256_add_epi32(odd, _mm256_madd_epi16(widened(a + i + 16), widened(b + i + 16)));
    }
    alignas(32) std::int32_t sums[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums), _mm256_add_epi32(even, odd));
    std::int32_t sum = portable_code_product(a + i, b + i, size - i);
    for (const std::int32_t part : sums) sum += part;
    return sum;
}
#endif

}  // namespace

std::int32_t portable_code_product(const std::int8_t* a, const std::int8_t* b, std::size_t size) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += std::int32_t{a[i]} * std::int32_t{b[i]};
    return sum;
}

CodeProduct best_code_product() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return avx2_code_product;
#endif
    return portable_code_product;
}

}  // namespace palimpsest
