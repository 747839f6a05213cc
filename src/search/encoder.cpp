#include "search/encoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/vectors.h"
#include "search/onnx_file.h"

namespace palimpsest {
namespace {

constexpr std::size_t head_size = 32;  // of the small models: 384 = 12 * 32
constexpr std::size_t layers_max = 48;

}  // namespace

// Takes the weights out of a graph; the first thing that is missing is remembered.
class Encoder::Reader {
public:
    explicit Reader(const OnnxGraph& graph) : graph_(graph) {
        for (const OnnxNode& node : graph.nodes)
            if (node.operation == "MatMul" && node.inputs.size() > 1)
                matrices_.emplace(node.name, node.inputs[1]);
    }

    const std::string& missing() const { return missing_; }

    Table table(const std::string& name, std::size_t width) {
        const std::string base = "embeddings." + name + ".weight";
        const OnnxTensor* const found = graph_.find(base);
        Table table;
        if (!found || found->type != OnnxType::f32 || found->shape.size() != 2 ||
            found->shape[1] != width || found->bytes.size() != found->count() * sizeof(float))
            return lack(base), table;
        table.bytes = found->bytes.data();
        table.rows = found->shape[0];
        return table;
    }

    Norm norm(const std::string& name, std::size_t width) {
        return {floats(name + ".LayerNorm.weight", width), floats(name + ".LayerNorm.bias", width)};
    }

    Linear linear(const std::string& name, std::size_t inputs, std::size_t outputs) {
        std::string node = "/" + name + "/MatMul";
        // Only the dots between names are slashes there: "encoder/layer.0/output".
        for (std::size_t at = node.find('.'); at != node.npos; at = node.find('.', at + 1))
            if (node[at + 1] < '0' || node[at + 1] > '9') node[at] = '/';
        const auto named = matrices_.find(node);
        if (named == matrices_.end()) return lack(node), Linear();
        const std::vector<float> weights = floats(std::string(named->second), inputs * outputs);
        std::vector<float> bias = floats(name + ".bias", outputs);
        if (weights.empty() || bias.empty()) return {};
        return pack_linear(weights, std::move(bias));
    }

    Layer layer(const std::string& base, std::size_t width, std::size_t wide) {
        Layer layer;
        const std::string self = base + ".attention.self.";
        layer.query = linear(self + "query", width, width);
        layer.key = linear(self + "key", width, width);
        layer.value = linear(self + "value", width, width);
        layer.mixed = linear(base + ".attention.output.dense", width, width);
        layer.after_attention = norm(base + ".attention.output", width);
        layer.wide = linear(base + ".intermediate.dense", width, wide);
        layer.narrow = linear(base + ".output.dense", wide, width);
        layer.after_narrow = norm(base + ".output", width);
        return layer;
    }

    std::size_t count(const std::string& name) const {
        const OnnxTensor* const found = graph_.find(name);
        return found ? found->count() : 0;
    }

private:
    void lack(const std::string& what) {
        if (missing_.empty()) missing_ = what;
    }
    std::vector<float> floats(const std::string& name, std::size_t count) {
        const OnnxTensor* const found = graph_.find(name);
        std::vector<float> values;
        if (!found || found->type != OnnxType::f32 || found->bytes.size() != count * sizeof(float))
            return lack(name), values;
        values.resize(count);
        std::memcpy(values.data(), found->bytes.data(), found->bytes.size());
        return values;
    }
    const OnnxGraph& graph_;
    std::map<std::string_view, std::string_view> matrices_;  // by the node that uses them
    std::string missing_;
};

Result<Encoder> Encoder::open(std::string_view onnx, Pooling pooling) {
    PAL_TRY(graph, read_onnx(onnx));
    Reader reader(graph);
    Encoder made;
    made.pooling_ = pooling;
    const std::size_t width = reader.count("embeddings.LayerNorm.weight");
    const std::size_t wide = reader.count("encoder.layer.0.intermediate.dense.bias");
    if (width == 0 || width % head_size != 0 || wide == 0 || wide % 16 != 0)
        return fail(ErrorCode::invalid_request, "the model is no encoder of BERT's family");
    made.words_ = reader.table("word_embeddings", width);
    made.types_ = reader.table("token_type_embeddings", width);
    made.positions_ = reader.table("position_embeddings", width);
    made.norm_ = reader.norm("embeddings", width);
    const auto has = [&](std::size_t layer) {
        return reader.count("encoder.layer." + std::to_string(layer) + ".output.dense.bias") > 0;
    };
    for (std::size_t layer = 0; layer < layers_max && has(layer); ++layer)
        made.layers_.push_back(reader.layer("encoder.layer." + std::to_string(layer), width, wide));
    if (!reader.missing().empty())
        return fail(ErrorCode::invalid_request, "the model lacks " + reader.missing() +
                                                    " in 8 bits; see docs/SEARCH.md for "
                                                    "the files that can be read");
    return made;
}

// What one text needs while it is encoded.
struct Encoder::Rows {
    std::vector<float> x, query, key, value, mixed, wide;
    QuantizedRows quantized = {};
};

std::vector<float> Encoder::first_rows(std::span<const std::uint32_t> ids) const {
    const std::size_t width = dimension();
    std::vector<float> rows(ids.size() * width);
    std::vector<float> row(width);
    const auto add = [&](const Table& table, std::size_t number, std::size_t token) {
        std::memcpy(row.data(), table.bytes + number * width * sizeof(float),
                    width * sizeof(float));
        for (std::size_t i = 0; i < width; ++i) rows[token * width + i] += row[i];
    };
    for (std::size_t t = 0; t < ids.size(); ++t) {
        add(words_, ids[t] < words_.rows ? ids[t] : 0, t);
        add(types_, 0, t);
        add(positions_, t, t);
    }
    return rows;
}

void Encoder::run(const Layer& layer, const EncoderKernels& kernels, Rows& rows) const {
    const std::size_t width = dimension();
    kernels.quantize(rows.x, layer.query, rows.quantized);
    kernels.multiply(rows.quantized, layer.query, rows.query);
    kernels.quantize(rows.x, layer.key, rows.quantized);
    kernels.multiply(rows.quantized, layer.key, rows.key);
    kernels.quantize(rows.x, layer.value, rows.quantized);
    kernels.multiply(rows.quantized, layer.value, rows.value);
    kernels.attend({rows.x.size() / width, width / head_size, head_size}, rows.query.data(),
                   rows.key.data(), rows.value.data(), rows.mixed.data());
    kernels.quantize(rows.mixed, layer.mixed, rows.quantized);
    kernels.multiply(rows.quantized, layer.mixed, rows.mixed);
    kernels.add_and_norm(rows.x, rows.mixed, layer.after_attention.scale,
                         layer.after_attention.bias);
    kernels.quantize(rows.x, layer.wide, rows.quantized);
    kernels.multiply(rows.quantized, layer.wide, rows.wide);
    kernels.gelu(rows.wide);
    kernels.quantize(rows.wide, layer.narrow, rows.quantized);
    kernels.multiply(rows.quantized, layer.narrow, rows.mixed);
    kernels.add_and_norm(rows.x, rows.mixed, layer.after_narrow.scale, layer.after_narrow.bias);
}

std::vector<float> Encoder::encode(std::span<const std::uint32_t> ids,
                                   const EncoderKernels& kernels) const {
    const std::size_t width = dimension();
    ids = ids.first(std::min(ids.size(), tokens_max()));
    std::vector<float> vector(width);
    if (ids.empty()) return vector;
    Rows rows;
    rows.x = first_rows(ids);
    kernels.add_and_norm(rows.x, {}, norm_.scale, norm_.bias);
    for (auto* part : {&rows.query, &rows.key, &rows.value, &rows.mixed})
        part->resize(rows.x.size());
    rows.wide.resize(layers_.empty() ? 0 : ids.size() * layers_.front().wide.outputs);
    for (const Layer& layer : layers_) run(layer, kernels, rows);
    const std::size_t pooled = pooling_ == Pooling::mean ? ids.size() : 1;
    for (std::size_t t = 0; t < pooled; ++t)
        for (std::size_t i = 0; i < width; ++i) vector[i] += rows.x[t * width + i];
    normalize(vector);
    return vector;
}

}  // namespace palimpsest
