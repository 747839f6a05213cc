// Bodies are written once and made twice: functions with a target attribute take them inline and
// let the compiler use wide registers. Only the product of matrices is written by hand for AVX2.
#include "search/encoder_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define PAL_AVX2 [[gnu::target("avx2,fma")]]
#endif
#define PAL_INLINE [[gnu::always_inline]] inline

namespace palimpsest {
namespace {

constexpr std::size_t panel_columns = 16;
constexpr std::size_t lanes = 16;

// To the nearest whole number, of two the even one; below 2^22. (Adding 1.5 * 2^23 leaves no room
// for a fraction.)
PAL_INLINE float rounded(float value) {
    constexpr float shift = 12582912.0f;
    return (value + shift) - shift;
}

PAL_INLINE float power_of_e(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float n = rounded(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return p * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

// The error function, by Abramowitz and Stegun 7.1.26: right to 1.5e-7.
PAL_INLINE float erf_of(float x) {
    const float a = x < 0 ? -x : x;
    const float t = 1.0f / (1.0f + 0.3275911f * a);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    const float value = 1.0f - p * t * power_of_e(-a * a);
    return x < 0 ? -value : value;
}

PAL_INLINE float sum_of(const float* values, std::size_t count) {
    float sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += values[i + lane];
    float sum = 0;
    for (; i < count; ++i) sum += values[i];
    for (const float part : sums) sum += part;
    return sum;
}

PAL_INLINE float largest(const float* values, std::size_t count) {
    float most[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const float size = values[i + lane] < 0 ? -values[i + lane] : values[i + lane];
            most[lane] = size > most[lane] ? size : most[lane];
        }
    for (; i < count; ++i) most[0] = std::max(most[0], std::abs(values[i]));
    return *std::max_element(most, most + lanes);
}

PAL_INLINE void quantize_body(std::span<const float> values, const Linear& linear,
                              QuantizedRows& out) {
    const std::size_t width = linear.inputs, count = values.size() / width;
    out.numbers.resize(values.size());
    out.scales.resize(count);
    for (std::size_t r = 0; r < count; ++r) {
        const float* const from = values.data() + r * width;
        std::int16_t* const to = out.numbers.data() + r * width;
        const float most = largest(from, width);
        const float factor = most > 0 ? linear.row_max / most : 0.0f;
        out.scales[r] = most / linear.row_max;
        for (std::size_t i = 0; i < width; ++i)
            to[i] = static_cast<std::int16_t>(static_cast<std::int32_t>(rounded(from[i] * factor)));
    }
}

PAL_INLINE void gelu_body(std::span<float> values) {
    float* const all = values.data();
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count; ++i)
        all[i] = 0.5f * all[i] * (1.0f + erf_of(all[i] * 0.70710678f));
}

PAL_INLINE void norm_body(std::span<float> rows, std::span<const float> added,
                          std::span<const float> scale, std::span<const float> bias) {
    const std::size_t width = scale.size();
    std::vector<float> squares(width);
    for (std::size_t at = 0; at + width <= rows.size(); at += width) {
        float* const row = rows.data() + at;
        if (!added.empty())
            for (std::size_t i = 0; i < width; ++i) row[i] += added[at + i];
        const float mean = sum_of(row, width) / static_cast<float>(width);
        for (std::size_t i = 0; i < width; ++i) row[i] -= mean;
        for (std::size_t i = 0; i < width; ++i) squares[i] = row[i] * row[i];
        const float variance = sum_of(squares.data(), width) / static_cast<float>(width);
        const float factor = 1.0f / std::sqrt(variance + 1e-12f);
        for (std::size_t i = 0; i < width; ++i) row[i] = row[i] * factor * scale[i] + bias[i];
    }
}

// One token's mixture for one head. `keys` holds the head's keys by dimension, `weights` has room
// for the tokens.
PAL_INLINE void attend_token(const AttentionShape& shape, const float* query, const float* keys,
                             const float* value, float* weights, float* out) {
    const std::size_t tokens = shape.tokens, width = shape.heads * shape.head_size;
    for (std::size_t j = 0; j < tokens; ++j) weights[j] = 0;
    for (std::size_t d = 0; d < shape.head_size; ++d)
        for (std::size_t j = 0; j < tokens; ++j) weights[j] += query[d] * keys[d * tokens + j];
    const float root = std::sqrt(static_cast<float>(shape.head_size));
    float most = weights[0];
    for (std::size_t j = 1; j < tokens; ++j) most = weights[j] > most ? weights[j] : most;
    for (std::size_t j = 0; j < tokens; ++j) weights[j] = power_of_e((weights[j] - most) / root);
    const float all = sum_of(weights, tokens);
    for (std::size_t d = 0; d < shape.head_size; ++d) out[d] = 0;
    for (std::size_t j = 0; j < tokens; ++j)
        for (std::size_t d = 0; d < shape.head_size; ++d)
            out[d] += weights[j] * value[j * width + d];
    for (std::size_t d = 0; d < shape.head_size; ++d) out[d] /= all;
}

PAL_INLINE void attend_body(const AttentionShape& shape, const float* query, const float* key,
                            const float* value, float* out) {
    const std::size_t tokens = shape.tokens, width = shape.heads * shape.head_size;
    std::vector<float> keys(shape.head_size * tokens), weights(tokens);
    for (std::size_t head = 0; head < shape.heads; ++head) {
        const std::size_t from = head * shape.head_size;
        for (std::size_t j = 0; j < tokens; ++j)
            for (std::size_t d = 0; d < shape.head_size; ++d)
                keys[d * tokens + j] = key[j * width + from + d];
        for (std::size_t i = 0; i < tokens; ++i)
            attend_token(shape, query + i * width + from, keys.data(), value + from, weights.data(),
                         out + i * width + from);
    }
}

// ---- the product --------------------------------------------------------------------------------

void multiply_row(const std::int16_t* row, const std::int16_t* panel, std::size_t inputs,
                  std::int32_t* sums) {
    std::fill_n(sums, panel_columns, 0);
    for (std::size_t k = 0; k < inputs; k += 2, panel += 2 * panel_columns)
        for (std::size_t c = 0; c < panel_columns; ++c)
            sums[c] += row[k] * panel[2 * c] + row[k + 1] * panel[2 * c + 1];
}

void multiply_portable(const QuantizedRows& rows, const Linear& linear, std::span<float> out) {
    std::int32_t sums[panel_columns];
    for (std::size_t column = 0; column < linear.outputs; column += panel_columns) {
        const std::int16_t* const panel = linear.panels.data() + column * linear.inputs;
        for (std::size_t r = 0; r < rows.scales.size(); ++r) {
            multiply_row(rows.numbers.data() + r * linear.inputs, panel, linear.inputs, sums);
            float* const to = out.data() + r * linear.outputs + column;
            for (std::size_t c = 0; c < panel_columns; ++c)
                to[c] = static_cast<float>(sums[c]) * (rows.scales[r] * linear.scales[column + c]) +
                        linear.bias[column + c];
        }
    }
}

void quantize_portable(std::span<const float> values, const Linear& linear, QuantizedRows& out) {
    quantize_body(values, linear, out);
}
void gelu_portable(std::span<float> values) {
    gelu_body(values);
}
void norm_portable(std::span<float> rows, std::span<const float> added,
                   std::span<const float> scale, std::span<const float> bias) {
    norm_body(rows, added, scale, bias);
}
void attend_portable(const AttentionShape& shape, const float* query, const float* key,
                     const float* value, float* out) {
    attend_body(shape, query, key, value, out);
}
constexpr EncoderKernels portable = {quantize_portable, multiply_portable, attend_portable,
                                     norm_portable, gelu_portable};

#if defined(__x86_64__)

template <std::size_t Rows>
PAL_AVX2 void multiply_block(const QuantizedRows& rows, std::size_t first, const Linear& linear,
                             std::size_t column, float* out) {
    __m256i sums[Rows][2];
    for (auto& pair : sums) pair[0] = pair[1] = _mm256_setzero_si256();
    const std::int16_t* const numbers = rows.numbers.data() + first * linear.inputs;
    const std::int16_t* panel = linear.panels.data() + column * linear.inputs;
    for (std::size_t k = 0; k < linear.inputs; k += 2, panel += 2 * panel_columns) {
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel));
        const __m256i high =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel + panel_columns));
        for (std::size_t r = 0; r < Rows; ++r) {
            std::int32_t two = 0;
            std::memcpy(&two, numbers + r * linear.inputs + k, sizeof two);
            const __m256i pair = _mm256_set1_epi32(two);
            sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(pair, low));
            sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(pair, high));
        }
    }
    for (std::size_t half = 0; half < 2; ++half) {
        const std::size_t at = column + half * 8;
        const __m256 scales = _mm256_loadu_ps(linear.scales.data() + at);
        const __m256 bias = _mm256_loadu_ps(linear.bias.data() + at);
        for (std::size_t r = 0; r < Rows; ++r) {
            const __m256 factor = _mm256_mul_ps(_mm256_set1_ps(rows.scales[first + r]), scales);
            _mm256_storeu_ps(out + (first + r) * linear.outputs + at,
                             _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r][half]), factor, bias));
        }
    }
}

PAL_AVX2 void multiply_avx2(const QuantizedRows& rows, const Linear& linear, std::span<float> out) {
    constexpr std::size_t block = 6;  // Sums of so many rows fit into the registers.
    const std::size_t count = rows.scales.size();
    for (std::size_t column = 0; column < linear.outputs; column += panel_columns) {
        std::size_t r = 0;
        for (; r + block <= count; r += block)
            multiply_block<block>(rows, r, linear, column, out.data());
        for (; r + 2 <= count; r += 2) multiply_block<2>(rows, r, linear, column, out.data());
        if (r < count) multiply_block<1>(rows, r, linear, column, out.data());
    }
}

PAL_AVX2 void quantize_avx2(std::span<const float> values, const Linear& linear,
                            QuantizedRows& out) {
    quantize_body(values, linear, out);
}
PAL_AVX2 void gelu_avx2(std::span<float> values) {
    gelu_body(values);
}
PAL_AVX2 void norm_avx2(std::span<float> rows, std::span<const float> added,
                        std::span<const float> scale, std::span<const float> bias) {
    norm_body(rows, added, scale, bias);
}
PAL_AVX2 void attend_avx2(const AttentionShape& shape, const float* query, const float* key,
                          const float* value, float* out) {
    attend_body(shape, query, key, value, out);
}
constexpr EncoderKernels avx2 = {quantize_avx2, multiply_avx2, attend_avx2, norm_avx2, gelu_avx2};

#endif

}  // namespace

Linear pack_linear(std::span<const float> weights, std::vector<float> bias) {
    constexpr float weight_max = 1023;
    Linear linear;
    linear.outputs = bias.size();
    linear.inputs = weights.size() / linear.outputs;
    linear.bias = std::move(bias);
    linear.scales.assign(linear.outputs, 0);
    linear.panels.resize(weights.size());
    const std::size_t outputs = linear.outputs;
    for (std::size_t k = 0; k < linear.inputs; ++k)
        for (std::size_t n = 0; n < outputs; ++n)
            linear.scales[n] = std::max(linear.scales[n], std::abs(weights[k * outputs + n]));
    for (float& scale : linear.scales) scale = scale > 0 ? scale / weight_max : 1.0f;
    std::vector<std::int64_t> reach(outputs);  // What a column's sum can come to, by 1 in each row.
    for (std::size_t k = 0; k < linear.inputs; ++k)
        for (std::size_t n = 0; n < outputs; ++n) {
            const auto number =
                static_cast<std::int16_t>(std::lround(weights[k * outputs + n] / linear.scales[n]));
            const std::size_t column = n % panel_columns;
            linear.panels[(n - column) * linear.inputs + k / 2 * 2 * panel_columns + 2 * column +
                          k % 2] = number;
            reach[n] += std::abs(number);
        }
    const std::int64_t most = std::max<std::int64_t>(*std::ranges::max_element(reach), 1);
    linear.row_max = static_cast<float>(std::min<std::int64_t>(INT32_MAX / most - 1, INT16_MAX));
    return linear;
}

const EncoderKernels& portable_kernels() {
    return portable;
}

const EncoderKernels& best_kernels() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2;
#endif
    return portable;
}

}  // namespace palimpsest
