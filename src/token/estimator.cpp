#include "token/estimator.h"

#include <algorithm>
#include <cmath>

namespace palimpsest {
namespace {

using Terms = std::array<double, Calibration::terms>;

// What a term is worth at first, how far from that it may be; a hundredth of that is how far it may
// drift per request. The order is that of terms_of().
constexpr Terms doubt = {0.1, 0.2, 0.2, 0.2, 2, 10, 10, 8, 80, 60, 20, 60, 0.3};

Terms first_weights(const Overheads& known) {
    return {1.15,
            1.3,
            1.2,
            1.2,
            static_cast<double>(known.per_message),
            static_cast<double>(known.per_call),
            static_cast<double>(known.per_result),
            15,
            static_cast<double>(known.tools),
            static_cast<double>(known.forced),
            15,
            100,
            1};
}

// Tokens of text, of calls, of declared tools, of the schema of a reply; how many messages (and
// one for the reply), calls, results and tools; whether there are tools, one must be called, the
// model is to think, the reply has a schema; tokens of media.
Terms terms_of(const RequestCount& count) {
    const RequestShape& shape = count.shape;
    const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
    return {number(count.messages - std::min(count.messages, shape.arguments)),
            number(shape.arguments),
            number(count.tools - std::min(count.tools, shape.reply_schema)),
            number(shape.reply_schema),
            number(shape.messages + 1),
            number(shape.calls),
            number(shape.results),
            number(shape.tools),
            number(shape.tools != 0),
            number(shape.forced),
            number(shape.thinking),
            number(shape.reply_schema != 0),
            number(count.media)};
}

double dot(const Terms& left, const Terms& right) {
    double sum = 0;
    for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
    return sum;
}

}  // namespace

std::uint64_t ByteEstimator::count(std::size_t bytes) const {
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) * rate_));
}

void ByteEstimator::learn(std::size_t bytes, std::uint64_t tokens) {
    if (bytes == 0 || tokens == 0) return;
    const double seen = static_cast<double>(tokens) / static_cast<double>(bytes);
    rate_ += weight * (seen - rate_);
}

Calibration::Calibration(const ModelSpec& model) {
    state_.weights = first_weights(model.overheads);
    for (std::size_t i = 0; i < terms; ++i) state_.spread[i][i] = doubt[i] * doubt[i];
}

std::uint64_t Calibration::estimate(const RequestCount& count) const {
    return static_cast<std::uint64_t>(
        std::max(1.0, std::round(dot(state_.weights, terms_of(count)))));
}

void Calibration::learn(const RequestCount& count, std::uint64_t reported) {
    if (reported == 0 || count.server_tools) return;
    const auto truth = static_cast<double>(reported);
    const double miss = truth - static_cast<double>(estimate(count));
    ++state_.samples;
    const double weight = std::max(0.1, 1.0 / static_cast<double>(state_.samples));
    state_.error += weight * (std::abs(miss) / truth - state_.error);
    // Relative errors count alike: a term is measured in shares of the reported total, with a noise
    // of one part in a hundred and of two tokens.
    const Terms input = terms_of(count);
    const double noise = std::pow(0.01 * truth, 2) + 4;
    for (std::size_t i = 0; i < terms; ++i) state_.spread[i][i] += doubt[i] * doubt[i] / 10000;
    Terms gain{};
    for (std::size_t i = 0; i < terms; ++i) gain[i] = dot(state_.spread[i], input);
    const double scale = 1 / (noise + dot(gain, input));
    const double step = scale * (truth - dot(state_.weights, input));
    for (std::size_t i = 0; i < terms; ++i) state_.weights[i] += gain[i] * step;
    for (std::size_t i = 0; i < terms; ++i)
        for (std::size_t j = 0; j < terms; ++j) state_.spread[i][j] -= gain[i] * gain[j] * scale;
}

}  // namespace palimpsest
