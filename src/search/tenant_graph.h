// A graph (vector_graph.h) over the vectors of a tenant's logs, for scopes too large to look at
// every vector.
//
// A row of a log is a node; rows are added in their order, so that what the graph has of a log is
// its first so many rows. Vectors of another epoch replace those of the log that are there. Before
// it is used it is held against looking at all, with questions made of its own vectors: it answers
// with the least width that finds enough, and not at all when none does.
//
// From any thread; searches wait for a writer only while a node is linked.
#pragma once
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "search/log_hash.h"
#include "search/vector_graph.h"

namespace palimpsest {

// A log's vectors in one state: the rows of one never change, they only become more.
struct GraphSource {
    LogId log = {};
    std::uint64_t epoch = 0;
};

class TenantGraph {
public:
    // `share_wanted`: of the ten nearest to a question, what must be found on average.
    explicit TenantGraph(std::size_t dimension, double share_wanted = 0.98)
        : share_wanted_(share_wanted), graph_(dimension) {}

    std::size_t rows_of(const GraphSource& source) const;
    // Rows that follow on those that are there.
    void add(const GraphSource& source, std::span<const float> vectors);
    void remove(const LogId& log);
    // Finds the width to search with, when much has changed since it was found last. Only the one
    // who adds asks for it.
    void measure();

    struct Found {
        std::size_t source = 0;  // its place among those that were asked
        std::uint32_t row = 0;
    };
    struct Answer {
        std::vector<Found> rows = {};           // of the sources, nearest first
        std::vector<std::size_t> covered = {};  // rows of each source that were searched
    };
    Answer nearest(std::span<const GraphSource> sources, std::span<const float> query,
                   std::size_t count) const;

    bool is_ready() const { return width_ > 0; }
    std::size_t dimension() const { return graph_.dimension(); }
    std::size_t rows() const { return rows_; }  // that can be found
    std::size_t bytes() const { return bytes_; }
    bool is_worn() const;  // so much was removed that it should be made anew

private:
    static constexpr std::uint32_t no_source = UINT32_MAX;
    struct Owned {
        std::uint64_t epoch = 0;
        std::uint32_t number = 0;
        std::vector<VectorGraph::Node> nodes = {};  // by row
    };
    struct Origin {
        std::uint32_t number = no_source, row = 0;
    };
    double share_found(std::size_t width) const;
    void forget(const LogId& log);
    void count();

    const double share_wanted_;
    std::mutex writing_;               // Held by the one who adds or removes, before `mutex_`.
    std::size_t measured_rows_ = 0;    // measure() alone uses it.
    mutable std::shared_mutex mutex_;  // Guards all below.
    VectorGraph graph_;
    std::unordered_map<LogId, Owned, LogHash> logs_;
    std::vector<Origin> origins_;  // by node
    std::uint32_t next_number_ = 0;
    std::atomic<std::size_t> width_ = 0;
    std::atomic<std::size_t> rows_ = 0, bytes_ = 0;  // as the graph has them
};

}  // namespace palimpsest
