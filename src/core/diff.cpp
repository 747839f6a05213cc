// Two views beside each other: what only one of them sends. Items are the same when their bytes
// are; the longest run of items in the same order is taken as common.
#include <algorithm>
#include <map>

#include "base/hash.h"
#include "palimpsest/view.h"

namespace palimpsest {
namespace {

using Key = Fingerprint;

std::vector<Key> keys_of(const View& view) {
    std::vector<Key> keys;
    for (const Item& item : view.items) keys.push_back(hash_bytes(view_of(item.message.raw)));
    return keys;
}

using Pair = std::pair<std::size_t, std::size_t>;  // places in a and in b

// Pairs each item of `a` with the first free equal one of `b`, then keeps the longest run of pairs
// that ascends on both sides.
std::vector<Pair> common(const std::vector<Key>& a, const std::vector<Key>& b) {
    std::map<Key, std::vector<std::size_t>> places;  // descending, so that the last is the first
    for (std::size_t i = b.size(); i-- > 0;) places[b[i]].push_back(i);
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto at = places.find(a[i]);
        if (at == places.end() || at->second.empty()) continue;
        pairs.emplace_back(i, at->second.back());
        at->second.pop_back();
    }
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> tails, before(pairs.size(), none);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto at = std::ranges::lower_bound(tails, pairs[i].second, {},
                                                 [&](std::size_t t) { return pairs[t].second; });
        if (at != tails.begin()) before[i] = *std::prev(at);
        if (at == tails.end())
            tails.push_back(i);
        else
            *at = i;
    }
    std::vector<Pair> run;
    for (std::size_t i = tails.empty() ? none : tails.back(); i != none; i = before[i])
        run.push_back(pairs[i]);
    std::ranges::reverse(run);
    return run;
}

}  // namespace

ViewDiff diff_views(const View& a, const View& b) {
    ViewDiff diff;
    diff.tokens_a = a.tokens;
    diff.tokens_b = b.tokens;
    std::size_t i = 0, j = 0;
    const auto upto = [&](std::size_t to_a, std::size_t to_b) {
        for (; i < to_a; ++i) diff.rows.push_back({'-', a.items[i]});
        for (; j < to_b; ++j) diff.rows.push_back({'+', b.items[j]});
    };
    for (const auto& [in_a, in_b] : common(keys_of(a), keys_of(b))) {
        upto(in_a, in_b);
        diff.rows.push_back({'=', b.items[j]});
        if (diff.rows.size() == diff.same_items + 1) {
            ++diff.same_items;
            diff.same_tokens += b.items[j].tokens;
        }
        ++i;
        ++j;
    }
    upto(a.items.size(), b.items.size());
    return diff;
}

}  // namespace palimpsest
