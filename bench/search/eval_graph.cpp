// The graph of near neighbours held against looking at all, on real vectors: the passages of the
// conversations in PAL_DATA in one graph, and their questions. What is found of the ten nearest.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "cached_vectors.h"
#include "cases.h"
#include "search/tenant_graph.h"

using namespace palimpsest;

namespace {

constexpr std::size_t wanted = 10;
constexpr double share_least = 0.95;

struct AllVectors {
    std::vector<float> passages = {}, questions = {};
};

AllVectors vectors_of(const std::vector<Case>& cases, CachedVectors& vectors) {
    AllVectors all;
    const auto append = [](std::vector<float>& to, const std::vector<float>& rows) {
        to.insert(to.end(), rows.begin(), rows.end());
    };
    for (const Case& one : cases) {
        PassageVectors passages;
        std::vector<std::string> asked;
        for (std::size_t u = 0; u < one.units.size(); ++u) passages.add(u, one.units[u].text);
        for (const Question& question : one.questions) asked.push_back(question.text);
        append(all.passages, vectors.of(passages.texts, false));
        append(all.questions, vectors.of(asked, true));
    }
    return all;
}

// What the graph proposes is compared exactly, as a search does it.
double share_found(const TenantGraph& graph, std::span<const float> rows,
                   std::span<const float> asked) {
    const std::size_t dimension = asked.size();
    std::vector<float> cosines(rows.size() / dimension);
    dot_products(rows, asked, cosines);
    std::vector<std::uint32_t> order(cosines.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::partial_sort(order, order.begin() + wanted, std::greater{},
                              [&](std::uint32_t row) { return cosines[row]; });
    const float least = cosines[order[wanted - 1]];
    const GraphSource source;
    double found = 0;
    for (const TenantGraph::Found& one : graph.nearest({&source, 1}, asked, wanted).rows)
        found += cosines[one.row] >= least;
    return std::min(found / wanted, 1.0);
}

}  // namespace

int main(int, char** argv) {
    const char* data = std::getenv("PAL_DATA");
    if (!data) return std::puts("skipped: PAL_DATA names no folder"), 0;
    const auto vectors = open_cached_vectors(argv[0]);
    if (!vectors) return 0;
    const std::string folder = data;
    std::vector<Case> cases = read_locomo(folder);
    for (Case& one : read_messages_file(folder + "/beam_dev.jsonl.gz"))
        cases.push_back(std::move(one));
    const AllVectors all = vectors_of(cases, *vectors);
    const std::size_t dimension = vectors->dimension();
    TenantGraph graph(dimension);
    graph.add({}, all.passages);
    graph.measure();
    double sum = 0, worst = 1, count = 0;
    for (std::size_t at = 0; at < all.questions.size(); at += dimension, ++count) {
        const double share =
            share_found(graph, all.passages, std::span(all.questions).subspan(at, dimension));
        sum += share;
        worst = std::min(worst, share);
    }
    const bool good = graph.is_ready() && sum >= share_least * count;
    std::printf(
        "%zu passages of LoCoMo and BEAM, %.0f questions: %.2f %% of the ten nearest were "
        "found, of the worst question %.0f %%%s\n%s\n",
        graph.rows(), count, 100 * sum / count, 100 * worst,
        graph.is_ready() ? "" : " (it would not be used)", good ? "ok" : "FAILED");
    return good ? 0 : 1;
}
