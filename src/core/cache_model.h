// What a request costs with the provider's prompt cache: the longest prefix that an earlier request
// had is read from the cache, the rest is read anew (and written to it).
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "palimpsest/compaction.h"

namespace palimpsest {

// Prices relative to one token read without a cache.
struct PriceList {
    std::string_view name;
    double cached = 0.1;  // a token read from the cache
    double fresh = 1.25;  // a token read anew, with what writing it to the cache costs
    double output = 5;    // a token of the answer
    std::uint32_t least_tokens = 1024;  // shorter prefixes are neither cached nor written
    std::uint32_t step_tokens = 1;      // a hit is a multiple of this
    std::uint32_t lifetime_s = 300;
};
std::span<const PriceList> price_lists();  // "anthropic", "openai"
const PriceList* find_prices(std::string_view name);
// Of a model with known prices; null-named when they are not known. One whose service has no cache,
// or no price for it, pays the same for every token: what is removed saves its price at once.
PriceList prices_of(const ModelFacts& model);

// One request as the cache sees it: blocks, each with an identity of its bytes.
struct CacheBlock {
    std::uint64_t identity = 0;
    std::uint32_t tokens = 0;
};

struct CallCost {
    std::uint64_t tokens = 0, cached = 0;
    std::uint64_t written = 0;  // to the cache, whether or not that costs more
    double cost = 0;
    std::uint64_t fresh() const { return tokens - cached; }
};

// The cache of one conversation.
class PromptCache {
public:
    explicit PromptCache(const PriceList& prices) : prices_(prices) {}
    // `idle_s`: since the last call.
    CallCost call(std::span<const CacheBlock> request, double idle_s = 0);

private:
    PriceList prices_;
    std::vector<CacheBlock> last_ = {};
};

// What an edit costs and brings. `kept_prefix` is what is before the first byte changed, `after`
// the whole request then; both in tokens.
struct EditPrice {
    std::uint64_t before = 0, after = 0, kept_prefix = 0;
};
// How many calls it takes until the smaller request has paid for reading the rest anew; a huge
// number when it never does.
double calls_to_pay(const PriceList& prices, const EditPrice& edit);
// What so many calls cost less for it, in tokens read without a cache; below 0: more.
double gain_in(const PriceList& prices, const EditPrice& edit, double calls);

}  // namespace palimpsest
