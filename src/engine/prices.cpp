#include "engine/prices.h"

#include <algorithm>

namespace palimpsest {

double price_of(const ModelSpec& model, const Usage& usage) {
    const auto part = [](std::uint64_t tokens, double price) {
        return price < 0 ? 0.0 : static_cast<double>(tokens) * price / 1e6;
    };
    const auto own = [&](double price) { return price < 0 ? model.prices.input : price; };
    const std::uint64_t known = usage.cached + usage.cache_writes;
    const std::uint64_t plain = usage.input - std::min(usage.input, known);
    return part(plain, model.prices.input) + part(usage.cached, own(model.prices.cached)) +
           part(usage.cache_writes, own(model.prices.cache_write)) +
           part(usage.output, model.prices.output);
}

}  // namespace palimpsest
