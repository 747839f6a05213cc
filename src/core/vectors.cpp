#include "core/vectors.h"

#include <cmath>

namespace palimpsest {
namespace {

constexpr std::size_t lanes = 16;  // Sums side by side, so that a compiler can use wide registers.

float dot(const float* a, const float* b, std::size_t size) {
    float sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    float sum = 0;
    for (; i < size; ++i) sum += a[i] * b[i];
    for (const float part : sums) sum += part;
    return sum;
}

}  // namespace

void normalize(std::span<float> vector) {
    double length = 0;
    for (const float value : vector) length += double{value} * double{value};
    if (length <= 0) return;
    const auto scale = static_cast<float>(1 / std::sqrt(length));
    for (float& value : vector) value *= scale;
}

bool has_direction(std::span<const float> vector) {
    constexpr double least = 1e-30;  // Below it the numbers of the direction would not be finite.
    double length = 0;
    for (const float value : vector) length += double{value} * double{value};
    return std::isfinite(length) && length > least;
}

void dot_products(std::span<const float> rows, std::span<const float> query, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = dot(rows.data() + i * query.size(), query.data(), query.size());
}

}  // namespace palimpsest
