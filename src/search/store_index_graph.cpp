// Which searches a graph answers, and how it is made.
#include "search/store_index.h"

#include <algorithm>

namespace palimpsest {
namespace {

constexpr std::size_t page_rows = 256;          // that are added before others are looked at
constexpr std::size_t graph_results_max = 200;  // more are found by looking at all
constexpr std::size_t near_count = 128;         // messages that are near, where words count as well
constexpr std::size_t worded_count = 1000;      // and those whose words say most
constexpr std::size_t neighbours = 2;           // of each: what rank.h looks at

}  // namespace

NearRows StoreIndex::near_rows(const IndexQuery& query, std::span<const float> asked,
                               const Opened& opened) {
    std::vector<VectorScope> scopes;
    for (std::size_t s = 0; s < opened.logs.size(); ++s)
        scopes.push_back({opened.scopes[s].words, &opened.logs[s]->vectors,
                          query.scopes[s].header.log, opened.scopes[s].upto});
    const bool is_large = rows_of(scopes) >= options_.graph_rows;
    // What passes a filter may be far from the nearest.
    if (!options_.background || !is_large || opened.filter || query.limit > graph_results_max)
        return scan_all(scopes, asked);
    GraphSearch search(scopes, asked, query.mode == SearchMode::hybrid ? neighbours : 0);
    return ask_graph(query, opened, search) ? search.take() : scan_all(scopes, asked);
}

bool StoreIndex::ask_graph(const IndexQuery& query, const Opened& opened, GraphSearch& search) {
    const std::string& tenant = query.scopes.front().header.name.tenant;
    GraphPtr graph;
    bool fits = false;  // Logs that make room for each other have no graph.
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = graphs_.find(tenant); known != graphs_.end()) graph = known->second;
        fits = opened.dropped_before == dropped_;
    }
    const bool hybrid = query.mode == SearchMode::hybrid;
    const bool answered = graph && search.ask(*graph, hybrid ? near_count : query.limit);
    if (fits && (!answered || search.missing() > 0)) graph_queue_.add({tenant});
    if (!answered) return false;
    if (hybrid) {
        for (const Ranked& one : rank(opened.scopes, words_of(query, opened), {}, worded_count))
            search.look_at(one.scope, one.message);
        search.measure_spread();
    }
    const std::lock_guard lock(mutex_);
    ++graph_searches_;
    return true;
}

std::size_t StoreIndex::graph_bytes() const {
    std::size_t bytes = 0;
    for (const auto& [tenant, graph] : graphs_) bytes += graph->bytes();
    return bytes;
}

StoreIndex::GraphPtr StoreIndex::graph_to_grow(const std::string& tenant, std::size_t dimension,
                                               std::size_t rows) {
    const std::lock_guard lock(mutex_);
    GraphPtr& graph = graphs_[tenant];
    if (!graph || graph->dimension() != dimension || graph->is_worn())
        graph = std::make_shared<TenantGraph>(dimension);
    const std::size_t all = bytes_ + graph_bytes() + VectorGraph::bytes_of(rows, dimension);
    return all <= options_.bytes_max ? graph : nullptr;
}

// A page of rows that the graph lacks; empty when it has all of the log.
std::vector<float> StoreIndex::rows_to_add(const TenantGraph& graph, Kept& kept,
                                           GraphSource& source) {
    {
        const std::shared_lock lock(kept.mutex);
        source.epoch = kept.vectors.epoch();
    }
    const std::size_t from = graph.rows_of(source);
    const std::shared_lock lock(kept.mutex);
    if (kept.vectors.epoch() != source.epoch || kept.vectors.dimension() != graph.dimension())
        return {};
    const auto page = kept.vectors.vectors(from, page_rows);
    return {page.begin(), page.end()};
}

// Adds a page of the first log that the graph lacks something of. A log that goes meanwhile takes
// its rows with it: whoever comes later, this or remove(), sees to it.
bool StoreIndex::grow_graph(const std::string& tenant) {
    std::vector<Row> logs;
    {
        const std::lock_guard lock(mutex_);
        for (const Row& row : order_)
            if (row.tenant == tenant) logs.push_back(row);
    }
    std::size_t dimension = 0;
    for (const Row& row : logs) {
        const std::shared_lock lock(row.kept->mutex);
        dimension = std::max(dimension, row.kept->vectors.dimension());
    }
    const GraphPtr graph = dimension == 0 ? nullptr : graph_to_grow(tenant, dimension, page_rows);
    if (!graph) return false;
    for (const Row& row : logs) {
        GraphSource source{row.log, 0};
        const std::vector<float> page = rows_to_add(*graph, *row.kept, source);
        if (page.empty()) continue;
        graph->add(source, page);
        if (!is_kept(row.log, row.kept)) graph->remove(row.log);
        return true;
    }
    graph->measure();
    return false;
}

}  // namespace palimpsest
