// The product of two vectors of 8-bit numbers, which is what a walk over a graph is made of. Whole
// numbers: the same on every machine. The processor is asked once whether it has wide registers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace palimpsest {

// Both of `size` numbers from -127 to 127.
using CodeProduct = std::int32_t (*)(const std::int8_t* a, const std::int8_t* b, std::size_t size);
std::int32_t portable_code_product(const std::int8_t* a, const std::int8_t* b, std::size_t size);
CodeProduct best_code_product();

}  // namespace palimpsest
