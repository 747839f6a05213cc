// What vectors say of the messages of a search: exactly, by looking at every vector of the scope,
// or, where the scope is large, by a graph that names the nearest.
//
// A graph only proposes: every cosine is made of the log's own vectors, what the graph does not
// have yet is looked at one by one, and a scope that is a small part of the graph is scanned.
#pragma once
#include <span>
#include <vector>

#include "core/rank.h"
#include "search/log_vectors.h"
#include "search/tenant_graph.h"

namespace palimpsest {

// Fewer vectors than that are looked at one by one: a graph would not be faster.
constexpr std::size_t graph_rows_min = 20'000;

struct VectorScope {
    const WordIndex* words = nullptr;
    const LogVectors* vectors = nullptr;
    LogId log = {};
    Seq upto = seq_max;
};
std::size_t rows_of(std::span<const VectorScope> scopes);

struct NearRows {
    std::vector<std::vector<VectorRow>> rows = {};  // by scope and place of the message, or empty
    std::vector<VectorSpread> spreads = {};         // by scope; empty ones: all messages are there
};
NearRows scan_all(std::span<const VectorScope> scopes, std::span<const float> query);

// Collects the messages that a search by graph looks at.
class GraphSearch {
public:
    // `reach`: so many neighbours of each message are looked at as well.
    GraphSearch(std::span<const VectorScope> scopes, std::span<const float> query,
                std::size_t reach);

    // False when looking at all is better.
    bool ask(const TenantGraph& graph, std::size_t count);
    std::size_t missing() const { return missing_; }  // rows that the graph did not have
    void look_at(std::size_t scope, std::size_t message);
    // How near all messages are, by some of them.
    void measure_spread();
    NearRows take() { return std::move(near_); }

private:
    void look_at_rows_from(std::size_t scope, std::size_t row);
    VectorRow& row_of(std::size_t scope, std::size_t message);

    std::span<const VectorScope> scopes_;
    std::span<const float> query_;
    std::size_t reach_ = 0, missing_ = 0;
    NearRows near_;
};

}  // namespace palimpsest
