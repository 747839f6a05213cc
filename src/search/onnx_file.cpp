// The wire form of protocol buffers: a key (field * 8 + kind), then a number (kind 0), 8 bytes (1),
// a length and bytes (2) or 4 bytes (5).
#include "search/onnx_file.h"

#include <optional>

namespace palimpsest {
namespace {

struct Field {
    std::uint64_t number = 0, value = 0;
    std::string_view bytes = {};
};

class Fields {
public:
    explicit Fields(std::string_view bytes) : rest_(bytes) {}

    // None at the end, and when it is broken.
    std::optional<Field> next() {
        if (rest_.empty() || broken_) return std::nullopt;
        const std::uint64_t key = number();
        Field field{key / 8, 0, {}};
        switch (key % 8) {
            case 0:
                field.value = number();
                break;
            case 1:
                field.bytes = take(8);
                break;
            case 2:
                field.bytes = take(number());
                break;
            case 5:
                field.bytes = take(4);
                break;
            default:
                broken_ = true;
        }
        return broken_ ? std::nullopt : std::optional(field);
    }
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (rest_.empty()) break;
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return value;
        }
        broken_ = true;
        return 0;
    }
    bool broken() const { return broken_; }
    bool empty() const { return rest_.empty() || broken_; }

private:
    std::string_view take(std::uint64_t count) {
        if (count > rest_.size()) {
            broken_ = true;
            return {};
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    std::string_view rest_;
    bool broken_ = false;
};

// Numbers of a repeated field: one, or many in a row.
template <class Use>
bool numbers_of(const Field& field, Use use) {
    if (field.bytes.empty()) return use(field.value), true;
    Fields packed(field.bytes);
    while (!packed.empty()) use(packed.number());
    return !packed.broken();
}

OnnxType type_of(std::uint64_t number) {
    return number == 1 ? OnnxType::f32 : OnnxType::other;
}

bool read_tensor(std::string_view bytes, OnnxGraph& graph) {
    OnnxTensor tensor;
    std::string_view name;
    Fields fields(bytes);
    bool good = true;
    while (const auto field = fields.next()) {
        if (field->number == 1)
            good &= numbers_of(*field, [&](std::uint64_t n) { tensor.shape.push_back(n); });
        if (field->number == 2) tensor.type = type_of(field->value);
        if (field->number == 4 || field->number == 9) tensor.bytes = field->bytes;
        if (field->number == 8) name = field->bytes;
        if (field->number == 13) good = false;  // Its bytes are elsewhere.
    }
    if (!good || fields.broken()) return false;
    graph.tensors.emplace(name, std::move(tensor));
    return true;
}

bool read_node(std::string_view bytes, OnnxGraph& graph) {
    OnnxNode node;
    Fields fields(bytes);
    while (const auto field = fields.next()) {
        if (field->number == 1) node.inputs.push_back(field->bytes);
        if (field->number == 3) node.name = field->bytes;
        if (field->number == 4) node.operation = field->bytes;
    }
    graph.nodes.push_back(std::move(node));
    return !fields.broken();
}

}  // namespace

std::size_t OnnxTensor::count() const {
    std::size_t all = 1;
    for (const std::size_t size : shape) {
        if (size != 0 && all > (std::size_t{1} << 40) / size) return 0;
        all *= size;
    }
    return all;
}

const OnnxTensor* OnnxGraph::find(std::string_view name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
}

Result<OnnxGraph> read_onnx(std::string_view bytes) {
    OnnxGraph graph;
    Fields model(bytes);
    bool good = true;
    while (const auto part = model.next()) {
        if (part->number != 7) continue;
        Fields fields(part->bytes);
        while (const auto field = fields.next()) {
            if (field->number == 1) good &= read_node(field->bytes, graph);
            if (field->number == 5) good &= read_tensor(field->bytes, graph);
        }
        good &= !fields.broken();
    }
    if (!good || model.broken() || graph.tensors.empty())
        return fail(ErrorCode::invalid_request, "it is no ONNX model with its weights inside");
    return graph;
}

}  // namespace palimpsest
