// From chosen items to ranges of seqs.
#include <algorithm>

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

// One span over everything chosen, then the kept ones cut out.
std::vector<Range> ranges_between(std::vector<Range> wanted, std::vector<Range> kept) {
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

}  // namespace

std::vector<Range> ranges_of(std::span<const Item> items, std::span<const ItemRun> runs,
                             bool in_order) {
    std::vector<Range> wanted, kept;
    if (in_order) {
        for (const ItemRun& run : runs)
            wanted.push_back({items[run.first].range.from, items[run.last].range.to});
        return wanted;
    }
    std::size_t next = 0;
    for (const ItemRun& run : runs) {
        for (; next < run.first; ++next) kept.push_back(items[next].range);
        for (; next <= run.last; ++next) wanted.push_back(items[next].range);
    }
    for (; next < items.size(); ++next) kept.push_back(items[next].range);
    return wanted.empty() ? wanted : ranges_between(std::move(wanted), std::move(kept));
}

}  // namespace palimpsest
