// Vectors of unit length, compared exactly: one pass over all of them, as fast as memory is read.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest {

// To length 1; a vector of zeros stays one.
void normalize(std::span<float> vector);
// Whether it has a direction: all of its numbers are finite, and not all of them are 0.
bool has_direction(std::span<const float> vector);

// out[i] = rows[i] * query. `rows` holds out.size() vectors of the query's size.
void dot_products(std::span<const float> rows, std::span<const float> query, std::span<float> out);

}  // namespace palimpsest
