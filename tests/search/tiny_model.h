// A model of BERT's family small enough to be written here: 64 wide, two layers, random weights, as
// the bytes of an ONNX file.
#pragma once
#include <random>
#include <string>
#include <vector>

namespace palimpsest::testing_support {

constexpr std::size_t tiny_width = 64, tiny_wide = 128, tiny_words = 50, tiny_positions = 40;

class TinyModel {
public:
    explicit TinyModel(std::size_t layers = 2) {
        table("word_embeddings", tiny_words);
        table("token_type_embeddings", 2);
        table("position_embeddings", tiny_positions);
        norm("embeddings");
        for (std::size_t l = 0; l < layers; ++l) {
            const std::string base = "encoder.layer." + std::to_string(l) + ".";
            const std::string node = "/encoder/layer." + std::to_string(l) + "/";
            for (const std::string part : {"query", "key", "value"})
                linear(base + "attention.self." + part, node + "attention/self/" + part, tiny_width,
                       tiny_width);
            linear(base + "attention.output.dense", node + "attention/output/dense", tiny_width,
                   tiny_width);
            norm(base + "attention.output");
            linear(base + "intermediate.dense", node + "intermediate/dense", tiny_width, tiny_wide);
            linear(base + "output.dense", node + "output/dense", tiny_wide, tiny_width);
            norm(base + "output");
        }
    }

    std::string bytes() const { return field(7, graph_); }

private:
    static std::string number(std::uint64_t value) {
        std::string out;
        for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
        return out + static_cast<char>(value);
    }
    static std::string field(std::uint64_t key, const std::string& bytes) {
        return number(key * 8 + 2) + number(bytes.size()) + bytes;
    }
    void floats(const std::string& name, const std::vector<std::size_t>& shape, float middle,
                float reach) {
        std::size_t count = 1;
        for (const std::size_t size : shape) count *= size;
        std::string raw;
        for (std::size_t i = 0; i < count; ++i) {
            const float value = middle + reach * unit();
            raw.append(reinterpret_cast<const char*>(&value), sizeof value);
        }
        std::string out;
        for (const std::size_t size : shape) out += number(8) + number(size);
        graph_ += field(5, out + number(16) + number(1) + field(8, name) + field(9, raw));
    }
    float unit() { return static_cast<float>(random_() % 2001) / 1000.0f - 1.0f; }
    void table(const std::string& name, std::size_t rows) {
        floats("embeddings." + name + ".weight", {rows, tiny_width}, 0, 1);
    }
    void norm(const std::string& name) {
        floats(name + ".LayerNorm.weight", {tiny_width}, 1, 0.2f);
        floats(name + ".LayerNorm.bias", {tiny_width}, 0, 0.1f);
    }
    void linear(const std::string& name, const std::string& node, std::size_t inputs,
                std::size_t outputs) {
        const std::string matrix = "onnx::MatMul_" + std::to_string(++matrices_);
        floats(matrix, {inputs, outputs}, 0, 0.2f);
        floats(name + ".bias", {outputs}, 0, 0.1f);
        graph_ += field(1, field(1, "rows") + field(1, matrix) + field(3, node + "/MatMul") +
                               field(4, "MatMul"));
    }

    std::mt19937 random_{11};
    std::string graph_;
    int matrices_ = 0;
};

}  // namespace palimpsest::testing_support
