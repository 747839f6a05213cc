// A graph of near neighbours: finds the vectors nearest to one without looking at all of them.
//
// HNSW (Malkov and Yashunin, 2016): every vector is a node linked with near ones that lie in
// different directions; a few nodes are on upper levels too, whose links are the long ways. A
// search walks from the top towards the query and keeps the best `width` it has seen. Vectors are
// kept in 8 bits a number, so what is found is compared again, exactly, by whoever has the floats.
//
// The same vectors added in the same order give the same graph: levels come from a node's number.
// What is removed is unlinked and overwritten, and never found. Readers may share it; `add` and
// `remove` must be alone.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/code_product.h"

namespace palimpsest {

class VectorGraph {
public:
    using Node = std::uint32_t;
    struct Near {
        float cosine = 0;
        Node node = 0;
    };
    // Where a new vector belongs: found while others read, taken when nobody does.
    struct Place {
        std::vector<std::int8_t> code = {};
        float scale = 0;
        std::vector<std::vector<Near>> links = {};  // by level, from the lowest on
    };

    explicit VectorGraph(std::size_t dimension) : dimension_(dimension) {}

    Place place_of(std::span<const float> vector) const;
    // Nothing may have been added or removed since the place was found.
    Node add(const Place& place);
    void remove(std::span<const Node> nodes);

    // At most `width` of them, best first; wider finds more of the nearest and takes longer.
    std::vector<Near> nearest(std::span<const float> query, std::size_t width) const;
    // The same by looking at all: what a search is held against.
    std::vector<Near> nearest_of_all(std::span<const float> query, std::size_t count) const;
    // A vector as it is kept, for a question that is like what is there.
    std::vector<float> vector_of(Node node) const;

    std::size_t dimension() const { return dimension_; }
    std::size_t size() const { return size_; }  // with those that were removed
    std::size_t removed() const { return removed_; }
    bool is_removed(Node node) const { return at(node).scales[node % block_nodes] == 0; }
    std::size_t bytes() const;
    static std::size_t bytes_of(std::size_t nodes, std::size_t dimension);

private:
    static constexpr std::size_t links_max = 16;         // of a node on an upper level
    static constexpr std::size_t ground_links_max = 32;  // on the lowest, where all are
    static constexpr std::size_t building_width = 100;
    static constexpr std::size_t block_nodes = 4096;
    static constexpr std::size_t levels_max = 8;

    // The first is how many there are.
    using GroundLinks = std::array<Node, ground_links_max + 1>;
    using UpperLinks = std::array<Node, links_max + 1>;
    struct Block {  // Nodes never move: growing copies nothing.
        std::vector<std::int8_t> codes = {};
        std::vector<float> scales = {};  // 0: removed
        std::vector<GroundLinks> ground = {};
        std::vector<std::vector<UpperLinks>> upper = {};
    };
    struct Query {
        std::vector<std::int8_t> code = {};
        float scale = 0;
    };

    const Block& at(Node node) const { return *blocks_[node / block_nodes]; }
    Block& at(Node node) { return *blocks_[node / block_nodes]; }
    const std::int8_t* code_of(Node node) const {
        return at(node).codes.data() + node % block_nodes * dimension_;
    }
    Query quantized(std::span<const float> vector) const;
    float compare(const Query& query, Node node) const;
    float compare(Node a, Node b) const;
    static std::size_t level_of(Node node);
    std::size_t levels_of(Node node) const { return at(node).upper[node % block_nodes].size() + 1; }
    std::span<const Node> links_of(Node node, std::size_t level) const;
    void set_links(Node node, std::size_t level, std::span<const Near> links);
    std::vector<Near> spread_out(std::span<const Near> candidates, std::size_t count) const;
    void link_back(Node from, Node to, std::size_t level, float cosine);
    void unlink_removed(Node node, std::size_t level);
    Near descend(const Query& query, std::size_t to_level) const;
    std::vector<Near> walk(const Query& query, Near from, std::size_t level,
                           std::size_t width) const;
    void choose_top();

    CodeProduct product_ = best_code_product();
    std::size_t dimension_ = 0, size_ = 0, removed_ = 0;
    Node top_ = 0;                // where searches begin
    std::size_t top_levels_ = 0;  // 0: there is nothing
    std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace palimpsest
