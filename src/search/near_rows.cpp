#include "search/near_rows.h"

#include <algorithm>

namespace palimpsest {
namespace {

// Of the rows of a scope the graph may lack an eighth, which is then scanned; and of the graph the
// scope must be a quarter, so that what it finds elsewhere is not most of it.
constexpr std::size_t missing_share = 8, scope_share = 4;
constexpr std::size_t sampled_messages = 1024;

void keep_best(VectorRow& row, const LogVectors::Found& found) {
    if (found.cosine > row.cosine) row = {found.cosine, found.passage};
}

// The place of a message among the words; none when it is not there.
std::optional<std::size_t> place_of(const WordIndex& words, Seq seq) {
    const auto& messages = words.messages();
    const auto at = std::ranges::lower_bound(messages, seq.value, {}, &MessageRow::seq);
    if (at == messages.end() || at->seq != seq.value) return std::nullopt;
    return static_cast<std::size_t>(at - messages.begin());
}

}  // namespace

std::size_t rows_of(std::span<const VectorScope> scopes) {
    std::size_t rows = 0;
    for (const VectorScope& scope : scopes) rows += scope.vectors->rows_upto(scope.upto);
    return rows;
}

NearRows scan_all(std::span<const VectorScope> scopes, std::span<const float> query) {
    NearRows near;
    near.spreads.resize(scopes.size());
    for (const VectorScope& scope : scopes) {
        const auto& messages = scope.words->messages();
        std::vector<VectorRow>& rows = near.rows.emplace_back(messages.size());
        std::size_t m = 0;
        for (const LogVectors::Found& one : scope.vectors->scan(query, scope.upto)) {
            while (m < rows.size() && messages[m].seq < one.seq.value) ++m;
            if (m < rows.size() && messages[m].seq == one.seq.value) keep_best(rows[m], one);
        }
    }
    return near;
}

GraphSearch::GraphSearch(std::span<const VectorScope> scopes, std::span<const float> query,
                         std::size_t reach)
    : scopes_(scopes), query_(query), reach_(reach) {
    near_.rows.resize(scopes.size());
    near_.spreads.resize(scopes.size());
}

VectorRow& GraphSearch::row_of(std::size_t scope, std::size_t message) {
    std::vector<VectorRow>& rows = near_.rows[scope];
    if (rows.empty()) rows.resize(scopes_[scope].words->messages().size());
    return rows[message];
}

void GraphSearch::look_at(std::size_t scope, std::size_t message) {
    const auto& messages = scopes_[scope].words->messages();
    const std::size_t from = message - std::min(message, reach_);
    const std::size_t to = std::min(message + reach_ + 1, messages.size());
    for (std::size_t m = from; m < to && messages[m].seq <= scopes_[scope].upto.value; ++m) {
        VectorRow& row = row_of(scope, m);
        if (row.cosine >= -1) continue;
        if (const auto found = scopes_[scope].vectors->best_of(query_, Seq{messages[m].seq}))
            keep_best(row, *found);
    }
}

void GraphSearch::look_at_rows_from(std::size_t scope, std::size_t row) {
    const LogVectors& vectors = *scopes_[scope].vectors;
    while (row > 0 && vectors.seq_of(row - 1) == vectors.seq_of(row)) --row;  // Whole messages.
    for (const LogVectors::Found& one : vectors.scan(query_, scopes_[scope].upto, row))
        if (const auto place = place_of(*scopes_[scope].words, one.seq))
            keep_best(row_of(scope, *place), one);
}

bool GraphSearch::ask(const TenantGraph& graph, std::size_t count) {
    const std::size_t wanted = rows_of(scopes_), there = graph.rows();
    if (!graph.is_ready() || wanted == 0 || wanted * scope_share < there) return false;
    std::vector<GraphSource> sources;
    for (const VectorScope& scope : scopes_) sources.push_back({scope.log, scope.vectors->epoch()});
    const auto answer = graph.nearest(sources, query_, count * std::max(there, wanted) / wanted);
    const auto lacks = [&](std::size_t s) {
        const std::size_t rows = scopes_[s].vectors->rows_upto(scopes_[s].upto);
        return rows - std::min(rows, answer.covered[s]);
    };
    for (std::size_t s = 0; s < scopes_.size(); ++s) missing_ += lacks(s);
    if (missing_ * missing_share > wanted) return false;
    for (const TenantGraph::Found& one : answer.rows) {
        const VectorScope& scope = scopes_[one.source];
        if (one.row >= scope.vectors->rows()) continue;
        const auto place = place_of(*scope.words, scope.vectors->seq_of(one.row));
        if (place) look_at(one.source, *place);
    }
    for (std::size_t s = 0; s < scopes_.size(); ++s)
        if (lacks(s) > 0) look_at_rows_from(s, answer.covered[s]);
    return true;
}

void GraphSearch::measure_spread() {
    std::size_t all = 0;
    for (const VectorScope& scope : scopes_) all += scope.words->messages().size();
    const std::size_t step = std::max<std::size_t>(all / sampled_messages, 1);
    std::size_t next = 0;  // Counted on over the scopes, so that small ones have their part too.
    for (std::size_t s = 0; s < scopes_.size(); ++s) {
        const auto& messages = scopes_[s].words->messages();
        for (; next < messages.size() && messages[next].seq <= scopes_[s].upto.value; next += step)
            if (const auto found = scopes_[s].vectors->best_of(query_, Seq{messages[next].seq}))
                near_.spreads[s].add(found->cosine, static_cast<double>(step));
        next = next < messages.size() ? 0 : next - messages.size();
    }
}

}  // namespace palimpsest
