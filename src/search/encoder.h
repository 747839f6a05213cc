// A sentence encoder of BERT's family: token ids to one vector of unit length.
//
// The weights are those of an ONNX file with floats; its matrices are packed for our arithmetic
// (encoder_kernels.h), its tables of words stay where they are in the bytes, which must outlive the
// encoder. A vector depends on its text alone. Any thread may encode.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "search/encoder_kernels.h"

namespace palimpsest {

enum class Pooling : std::uint8_t { mean, first };  // of all tokens; the first one's

class Encoder {
public:
    // invalid_request names what is missing.
    static Result<Encoder> open(std::string_view onnx, Pooling pooling);

    std::size_t dimension() const { return norm_.scale.size(); }
    std::size_t tokens_max() const { return positions_.rows; }
    // Ids outside of the vocabulary count as 0; at most tokens_max() of them.
    std::vector<float> encode(std::span<const std::uint32_t> ids,
                              const EncoderKernels& kernels = best_kernels()) const;

private:
    struct Norm {
        std::vector<float> scale = {}, bias = {};
    };
    struct Table {
        const char* bytes = nullptr;  // of floats, not aligned
        std::size_t rows = 0;
    };
    struct Layer {
        Linear query = {}, key = {}, value = {}, mixed = {}, wide = {}, narrow = {};
        Norm after_attention = {}, after_narrow = {};
    };
    struct Rows;
    class Reader;
    std::vector<float> first_rows(std::span<const std::uint32_t> ids) const;
    void run(const Layer& layer, const EncoderKernels& kernels, Rows& rows) const;

    Pooling pooling_ = Pooling::mean;
    Table words_, types_, positions_;
    Norm norm_;
    std::vector<Layer> layers_;
};

}  // namespace palimpsest
