// The arithmetic of an encoder: matrices and rows as whole numbers of up to 16 bits, summed
// exactly, and the parts that stay floats.
//
// Weights have 11 bits; rows as many as leave no sum of a product above 31, so that what is lost is
// a thousandth, and an instruction does twice the work that it would do with floats. Two sets of
// the same functions, one for AVX2 with FMA, one for any processor. Whole numbers give the same
// sums in both; floats differ in their last bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest {

// out = rows * weights + bias.
struct Linear {
    std::size_t inputs = 0, outputs = 0;  // inputs even, outputs by 16
    // By 16 outputs, then by two inputs: what one instruction wants.
    std::vector<std::int16_t> panels = {};
    std::vector<float> scales = {}, bias = {};  // of each output
    float row_max = 0;                          // what the numbers of a row may be
};
// The weights with a row for each input.
Linear pack_linear(std::span<const float> weights, std::vector<float> bias);

// Rows of floats as whole numbers: value = number * scale of its row.
struct QuantizedRows {
    std::vector<std::int16_t> numbers = {};
    std::vector<float> scales = {};
};

struct AttentionShape {
    std::size_t tokens = 0, heads = 0, head_size = 0;  // a head's size by 8
};

struct EncoderKernels {
    // Rows as wide as the inputs of the product that they are for.
    void (*quantize)(std::span<const float> values, const Linear& linear, QuantizedRows& out);
    void (*multiply)(const QuantizedRows& rows, const Linear& linear, std::span<float> out);
    // Rows of query, key and value to rows of the mixed values.
    void (*attend)(const AttentionShape& shape, const float* query, const float* key,
                   const float* value, float* out);
    // rows += added; each row to mean 0 and variance 1, then times scale plus bias.
    void (*add_and_norm)(std::span<float> rows, std::span<const float> added,
                         std::span<const float> scale, std::span<const float> bias);
    void (*gelu)(std::span<float> values);
};

const EncoderKernels& portable_kernels();
// Those for AVX2 where the processor has it.
const EncoderKernels& best_kernels();

}  // namespace palimpsest
