// The graph of near neighbours: held against looking at all, removal, determinism.
#include "search/vector_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "search/tenant_graph.h"
#include "some_vectors.h"

namespace palimpsest {
namespace {

using testing_support::SomeVectors;
using Node = VectorGraph::Node;

VectorGraph graph_of(const std::vector<float>& rows, std::size_t dimension) {
    VectorGraph graph(dimension);
    for (std::size_t at = 0; at < rows.size(); at += dimension)
        graph.add(graph.place_of(std::span(rows).subspan(at, dimension)));
    return graph;
}

std::set<Node> first_ten(const std::vector<VectorGraph::Near>& near) {
    std::set<Node> nodes;
    for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 10); ++i)
        nodes.insert(near[i].node);
    return nodes;
}

// Of the ten nearest, how many a search of that width finds.
double share_found(const VectorGraph& graph, SomeVectors& vectors, std::size_t width) {
    double found = 0;
    constexpr int questions = 50;
    for (int q = 0; q < questions; ++q) {
        const std::vector<float> asked = vectors.next();
        const std::set<Node> wanted = first_ten(graph.nearest_of_all(asked, 10));
        for (const Node node : first_ten(graph.nearest(asked, width)))
            found += wanted.contains(node);
    }
    return found / (10 * questions);
}

TEST(vector_graph, finds_nearly_all_of_the_nearest_among_random_vectors) {
    SomeVectors vectors(1, 24, 0);
    const VectorGraph graph = graph_of(vectors.rows(3000), 24);
    EXPECT_GE(share_found(graph, vectors, 128), 0.95);
}

TEST(vector_graph, finds_nearly_all_of_the_nearest_in_clusters) {
    SomeVectors vectors(2, 96, 40);
    const VectorGraph graph = graph_of(vectors.rows(3000), 96);
    EXPECT_GE(share_found(graph, vectors, 64), 0.95);
}

TEST(vector_graph, finds_far_clusters_that_came_one_after_the_other) {
    constexpr std::size_t dimension = 32;
    VectorGraph graph(dimension);
    std::vector<std::vector<float>> centers;
    for (unsigned c = 0; c < 20; ++c) {
        SomeVectors vectors(100 + c, dimension, 1);
        centers.push_back(vectors.next());
        const std::vector<float> rows = vectors.rows(100);
        for (std::size_t at = 0; at < rows.size(); at += dimension)
            graph.add(graph.place_of(std::span(rows).subspan(at, dimension)));
    }
    double found = 0;
    for (const auto& center : centers) {
        const std::set<Node> wanted = first_ten(graph.nearest_of_all(center, 10));
        for (const Node node : first_ten(graph.nearest(center, 64))) found += wanted.contains(node);
    }
    EXPECT_GE(found / 200, 0.95);
}

TEST(vector_graph, never_finds_what_was_removed_and_still_finds_the_rest) {
    SomeVectors vectors(3, 48, 30);
    VectorGraph graph = graph_of(vectors.rows(2000), 48);
    std::vector<Node> gone;
    for (Node node = 0; node < 2000; node += 9) gone.push_back(node);
    for (Node node = 1000; node < 1050; ++node) gone.push_back(node);
    graph.remove(gone);
    for (int q = 0; q < 100; ++q)
        for (const auto& one : graph.nearest(vectors.next(), 128))
            ASSERT_FALSE(std::ranges::count(gone, one.node)) << one.node;
    EXPECT_GE(share_found(graph, vectors, 128), 0.95);
    for (const float value : graph.vector_of(gone.front())) EXPECT_EQ(value, 0);
}

TEST(vector_graph, removed_to_the_last_one_it_is_empty_and_can_be_filled_again) {
    SomeVectors vectors(4, 16, 0);
    VectorGraph graph = graph_of(vectors.rows(100), 16);
    std::vector<Node> all(100);
    for (Node node = 0; node < 100; ++node) all[node] = node;
    graph.remove(all);
    EXPECT_TRUE(graph.nearest(vectors.next(), 10).empty());
    const std::vector<float> one = vectors.next();
    const Node node = graph.add(graph.place_of(one));
    ASSERT_EQ(graph.nearest(one, 10).size(), 1u);
    EXPECT_EQ(graph.nearest(one, 10)[0].node, node);
}

TEST(vector_graph, is_the_same_for_the_same_vectors_in_the_same_order) {
    SomeVectors vectors(5, 32, 10);
    const std::vector<float> rows = vectors.rows(800);
    const VectorGraph one = graph_of(rows, 32), other = graph_of(rows, 32);
    for (int q = 0; q < 20; ++q) {
        const std::vector<float> asked = vectors.next();
        const auto a = one.nearest(asked, 40), b = other.nearest(asked, 40);
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].node, b[i].node);
    }
}

TEST(vector_graph, takes_equal_vectors_and_zeros_and_an_empty_graph) {
    VectorGraph graph(8);
    const std::vector<float> zero(8), one{1, 0, 0, 0, 0, 0, 0, 0};
    EXPECT_TRUE(graph.nearest(one, 5).empty());
    for (int i = 0; i < 200; ++i) graph.add(graph.place_of(i % 2 == 0 ? one : zero));
    const auto near = graph.nearest(one, 20);
    ASSERT_EQ(near.size(), 20u);
    EXPECT_EQ(near[0].node % 2, 0u);
    EXPECT_TRUE(graph.nearest(one, 0).empty());
    EXPECT_TRUE(graph.nearest(std::vector<float>(7), 5).empty());
}

TEST(code_product, is_the_same_with_and_without_wide_registers) {
    SomeVectors vectors(6, 1, 0);
    for (const std::size_t size : {0, 1, 31, 32, 33, 96, 384, 385}) {
        std::vector<std::int8_t> a(size), b(size);
        for (std::size_t i = 0; i < size; ++i) {
            a[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
            b[i] = static_cast<std::int8_t>(i * 101 % 255 - 127);
        }
        EXPECT_EQ(best_code_product()(a.data(), b.data(), size),
                  portable_code_product(a.data(), b.data(), size));
    }
}

GraphSource source_of(std::uint8_t number, std::uint64_t epoch = 0) {
    GraphSource source;
    source.log.bytes[0] = static_cast<decltype(source.log.bytes)::value_type>(number);
    source.epoch = epoch;
    return source;
}

TEST(tenant_graph, answers_for_the_logs_that_are_asked_alone) {
    SomeVectors vectors(7, 32, 20);
    TenantGraph graph(32);
    graph.add(source_of(1), vectors.rows(400));
    graph.add(source_of(2), vectors.rows(400));
    graph.measure();
    ASSERT_TRUE(graph.is_ready());
    const GraphSource asked[] = {source_of(2)};
    const auto answer = graph.nearest(asked, vectors.next(), 100);
    EXPECT_EQ(answer.covered, (std::vector<std::size_t>{400}));
    EXPECT_FALSE(answer.rows.empty());
    for (const auto& row : answer.rows) EXPECT_LT(row.row, 400u);
}

TEST(tenant_graph, is_the_same_in_whatever_pieces_a_log_comes) {
    SomeVectors vectors(8, 32, 20);
    const std::vector<float> rows = vectors.rows(300);
    TenantGraph whole(32), pieces(32);
    whole.add(source_of(1), rows);
    for (std::size_t at = 0; at < rows.size(); at += 32 * 7)
        pieces.add(source_of(1),
                   std::span(rows).subspan(at, std::min<std::size_t>(32 * 7, rows.size() - at)));
    const GraphSource asked[] = {source_of(1)};
    for (int q = 0; q < 20; ++q) {
        const std::vector<float> query = vectors.next();
        const auto a = whole.nearest(asked, query, 20), b = pieces.nearest(asked, query, 20);
        ASSERT_EQ(a.rows.size(), b.rows.size());
        for (std::size_t i = 0; i < a.rows.size(); ++i) EXPECT_EQ(a.rows[i].row, b.rows[i].row);
    }
}

TEST(tenant_graph, another_epoch_replaces_what_was_there) {
    SomeVectors vectors(9, 16, 0);
    TenantGraph graph(16);
    graph.add(source_of(1, 1), vectors.rows(50));
    graph.add(source_of(1, 2), vectors.rows(10));
    EXPECT_EQ(graph.rows_of(source_of(1, 1)), 0u);
    EXPECT_EQ(graph.rows_of(source_of(1, 2)), 10u);
    EXPECT_EQ(graph.rows(), 10u);
    EXPECT_TRUE(graph.is_worn());
    const GraphSource old[] = {source_of(1, 1)};
    EXPECT_TRUE(graph.nearest(old, vectors.next(), 10).rows.empty());
}

TEST(tenant_graph, is_ready_only_when_it_finds_what_it_must) {
    SomeVectors vectors(10, 64, 0);
    TenantGraph graph(64), strict(64, 1.01);
    for (TenantGraph* one : {&graph, &strict}) {
        EXPECT_FALSE(one->is_ready());
        one->add(source_of(1), vectors.rows(300));
        one->measure();
    }
    EXPECT_TRUE(graph.is_ready());
    EXPECT_FALSE(strict.is_ready());
}

}  // namespace
}  // namespace palimpsest
