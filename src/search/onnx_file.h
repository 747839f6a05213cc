// What an ONNX file holds, as far as an encoder's weights need it: named tensors and the nodes that
// use them. Nothing is copied: the views point into the bytes, which must outlive them.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest {

enum class OnnxType : std::uint8_t { other = 0, f32 = 1 };

struct OnnxTensor {
    OnnxType type = OnnxType::other;
    std::vector<std::size_t> shape = {};
    std::string_view bytes = {};  // little endian, not aligned
    std::size_t count() const;    // of elements
};
struct OnnxNode {
    std::string_view name = {}, operation = {};
    std::vector<std::string_view> inputs = {};
};
struct OnnxGraph {
    std::map<std::string_view, OnnxTensor> tensors = {};
    std::vector<OnnxNode> nodes = {};

    const OnnxTensor* find(std::string_view name) const;
};

// invalid_request for bytes that are no model, or whose tensors lie in another file.
Result<OnnxGraph> read_onnx(std::string_view bytes);

}  // namespace palimpsest
