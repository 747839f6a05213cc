// From chosen items to ranges of seqs.
#include <algorithm>

#include "core/plan.h"
#include "core/scan.h"

namespace palimpsest {
namespace {

// Takes the parts of `kept` out of the ascending, disjoint `ranges`.
std::vector<Range> without(const std::vector<Range>& ranges, std::vector<Range> kept) {
    if (!std::ranges::is_sorted(kept)) std::ranges::sort(kept);
    std::vector<Range> out;
    for (Range range : ranges) {
        for (const Range& hole : kept) {
            if (hole.to < range.from) continue;
            if (hole.from > range.to) break;
            if (hole.from > range.from) out.push_back({range.from, hole.from - 1});
            range.from = hole.to + 1;
        }
        if (!range.empty()) out.push_back(range);
    }
    return out;
}

// Nearly always: items stand in the order of their seqs.
bool in_order(std::span<const Item> items) {
    for (std::size_t i = 1; i < items.size(); ++i)
        if (items[i].range.from <= items[i - 1].range.to) return false;
    return true;
}

}  // namespace

std::vector<Range> runs_of(std::span<const Item> items, std::span<const std::size_t> chosen) {
    std::vector<Range> out;
    for (std::size_t first = 0, n = 0; n < chosen.size(); ++n) {
        if (n + 1 < chosen.size() && chosen[n + 1] == chosen[n] + 1) continue;
        out.push_back({items[chosen[first]].range.from, items[chosen[n]].range.to});
        first = n + 1;
    }
    return out;
}

std::vector<Range> ranges_of(std::span<const Item> items, std::span<const std::size_t> chosen) {
    if (std::ranges::is_sorted(chosen) && in_order(items)) return runs_of(items, chosen);
    std::vector<bool> is_chosen(items.size());
    for (const std::size_t i : chosen) is_chosen[i] = true;
    std::vector<Range> wanted, kept;
    for (std::size_t i = 0; i < items.size(); ++i)
        (is_chosen[i] ? wanted : kept).push_back(items[i].range);
    if (wanted.empty()) return {};
    // One span over everything chosen, then the kept ones cut out: gaps between chosen items hold
    // nothing that is shown, so they may go along.
    if (!std::ranges::is_sorted(wanted)) std::ranges::sort(wanted);
    Range span = wanted.front();
    std::vector<Seq> reach;  // the last seq of any of the first i + 1 wanted ranges
    for (const Range& range : wanted) reach.push_back(span.to = std::max(span.to, range.to));
    std::vector<Range> out;
    for (const Range& range : without({span}, std::move(kept))) {
        const auto after = std::upper_bound(wanted.begin(), wanted.end(), range.to,
                                            [](Seq to, const Range& w) { return to < w.from; });
        if (after == wanted.begin()) continue;
        if (reach[static_cast<std::size_t>(after - wanted.begin()) - 1] >= range.from)
            out.push_back(range);
    }
    return out;
}

}  // namespace palimpsest
