#include "core/cache_model.h"

#include <algorithm>
#include <limits>

namespace palimpsest {
namespace {

constexpr PriceList table[] = {
    {"anthropic", 0.1, 1.25, 5, 1024, 1, 300},
    {"openai", 0.25, 1.0, 4, 1024, 128, 300},
};

}  // namespace

std::span<const PriceList> price_lists() {
    return table;
}

const PriceList* find_prices(std::string_view name) {
    const auto at = std::ranges::find(table, name, &PriceList::name);
    return at == std::end(table) ? nullptr : at;
}

PriceList prices_of(const ModelFacts& model) {
    PriceList prices;
    if (model.input_price <= 0) return prices;
    prices.name = "model";
    prices.output = model.output_price > 0 ? model.output_price / model.input_price : 0;
    if (model.cached_price < 0 || model.cache_least_tokens == 0) {
        prices.cached = prices.fresh = 1;
        prices.least_tokens = UINT32_MAX;
        return prices;
    }
    prices.cached = model.cached_price / model.input_price;
    prices.fresh = model.cache_write_price > 0 ? model.cache_write_price / model.input_price : 1;
    prices.least_tokens = model.cache_least_tokens;
    prices.step_tokens = std::max<std::uint32_t>(model.cache_step_tokens, 1);
    prices.lifetime_s = model.cache_lifetime_s;
    return prices;
}

CallCost PromptCache::call(std::span<const CacheBlock> request, double idle_s) {
    CallCost out;
    bool same = idle_s < prices_.lifetime_s;
    for (std::size_t i = 0; i < request.size(); ++i) {
        same = same && i < last_.size() && last_[i].identity == request[i].identity;
        out.tokens += request[i].tokens;
        if (same) out.cached += request[i].tokens;
    }
    if (out.cached < prices_.least_tokens) out.cached = 0;
    out.cached -= out.cached % prices_.step_tokens;
    if (out.tokens >= prices_.least_tokens) out.written = out.fresh();
    out.cost = static_cast<double>(out.cached) * prices_.cached +
               static_cast<double>(out.written) * prices_.fresh +
               static_cast<double>(out.fresh() - out.written);
    last_.assign(request.begin(), request.end());
    return out;
}

namespace {

// Once: the rest is read anew instead of from the cache. Then each call reads less.
struct EditFlow {
    double once = 0, each = 0;
};
// A call whose first `known` tokens the cache may have.
double price_of(const PriceList& prices, std::uint64_t tokens, std::uint64_t known) {
    if (tokens < prices.least_tokens) return static_cast<double>(tokens);
    const std::uint64_t cached = known < prices.least_tokens ? 0 : std::min(known, tokens);
    return static_cast<double>(cached) * prices.cached +
           static_cast<double>(tokens - cached) * prices.fresh;
}
EditFlow flow_of(const PriceList& prices, const EditPrice& edit) {
    const double later = price_of(prices, edit.after, edit.after);
    return {price_of(prices, edit.after, edit.kept_prefix) - later,
            price_of(prices, edit.before, edit.before) - later};
}

}  // namespace

double calls_to_pay(const PriceList& prices, const EditPrice& edit) {
    const EditFlow flow = flow_of(prices, edit);
    return flow.each > 0 ? flow.once / flow.each : std::numeric_limits<double>::infinity();
}

double gain_in(const PriceList& prices, const EditPrice& edit, double calls) {
    const EditFlow flow = flow_of(prices, edit);
    return calls * flow.each - flow.once;
}

}  // namespace palimpsest
