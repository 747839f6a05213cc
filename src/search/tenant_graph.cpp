#include "search/tenant_graph.h"

#include <algorithm>

namespace palimpsest {
namespace {

constexpr std::size_t widths[] = {64, 128, 256, 512};
constexpr std::size_t asked_vectors = 48, asked_count = 10;

}  // namespace

std::size_t TenantGraph::rows_of(const GraphSource& source) const {
    const std::shared_lock lock(mutex_);
    const auto known = logs_.find(source.log);
    return known == logs_.end() || known->second.epoch != source.epoch ? 0
                                                                       : known->second.nodes.size();
}

void TenantGraph::add(const GraphSource& source, std::span<const float> vectors) {
    const std::lock_guard one_at_a_time(writing_);
    {
        const std::unique_lock lock(mutex_);
        const auto known = logs_.find(source.log);
        if (known != logs_.end() && known->second.epoch != source.epoch) forget(source.log);
        if (const auto [at, is_new] = logs_.try_emplace(source.log); is_new)
            at->second = {source.epoch, next_number_++, {}};
    }
    for (std::size_t at = 0; at + dimension() <= vectors.size(); at += dimension()) {
        VectorGraph::Place place;
        {
            const std::shared_lock lock(mutex_);
            place = graph_.place_of(vectors.subspan(at, dimension()));
        }
        const std::unique_lock lock(mutex_);
        Owned& owned = logs_[source.log];
        const VectorGraph::Node node = graph_.add(place);
        origins_.push_back({owned.number, static_cast<std::uint32_t>(owned.nodes.size())});
        owned.nodes.push_back(node);
        count();
    }
}

void TenantGraph::forget(const LogId& log) {
    const auto known = logs_.find(log);
    if (known == logs_.end()) return;
    graph_.remove(known->second.nodes);
    for (const VectorGraph::Node node : known->second.nodes) origins_[node] = {};
    logs_.erase(known);
    count();
}

void TenantGraph::remove(const LogId& log) {
    const std::lock_guard one_at_a_time(writing_);
    const std::unique_lock lock(mutex_);
    forget(log);
}

// What part of the ten nearest a search of that width finds, asked with two parts of a vector and
// one of another: one that is in the graph is found too easily, and one in the middle between two
// is harder than questions are. Held against real ones it asks for the same width (eval_graph).
double TenantGraph::share_found(std::size_t width) const {
    std::size_t found = 0, all = 0;
    for (std::size_t q = 0; q < asked_vectors; ++q) {
        const std::shared_lock lock(mutex_);
        if (graph_.size() == 0) return 0;
        const std::size_t node = graph_.size() * q / asked_vectors;
        std::vector<float> asked = graph_.vector_of(static_cast<VectorGraph::Node>(node));
        const std::size_t other = (node + graph_.size() / 2 + q) % graph_.size();
        const std::vector<float> towards = graph_.vector_of(static_cast<VectorGraph::Node>(other));
        for (std::size_t i = 0; i < asked.size(); ++i) asked[i] += towards[i] / 2;
        const auto wanted = graph_.nearest_of_all(asked, asked_count);
        auto near = graph_.nearest(asked, width);
        near.resize(std::min(near.size(), wanted.size()));
        found += static_cast<std::size_t>(std::ranges::count_if(
            near, [&](const auto& one) { return one.cosine >= wanted.back().cosine; }));
        all += wanted.size();
    }
    return all == 0 ? 0 : static_cast<double>(found) / static_cast<double>(all);
}

void TenantGraph::measure() {
    const std::size_t now = rows();
    if (now >= measured_rows_ / 2 && now <= measured_rows_ + measured_rows_ / 2) return;
    measured_rows_ = now;
    for (const std::size_t width : widths)
        if (share_found(width) >= share_wanted_) {
            width_ = width;
            return;
        }
    width_ = 0;
}

TenantGraph::Answer TenantGraph::nearest(std::span<const GraphSource> sources,
                                         std::span<const float> query, std::size_t count) const {
    Answer answer;
    answer.covered.resize(sources.size());
    const std::shared_lock lock(mutex_);
    std::unordered_map<std::uint32_t, std::size_t> places;
    for (std::size_t s = 0; s < sources.size(); ++s) {
        const auto known = logs_.find(sources[s].log);
        if (known == logs_.end() || known->second.epoch != sources[s].epoch) continue;
        answer.covered[s] = known->second.nodes.size();
        places.emplace(known->second.number, s);
    }
    for (const VectorGraph::Near& one : graph_.nearest(query, std::max<std::size_t>(count, width_)))
        if (const auto place = places.find(origins_[one.node].number); place != places.end())
            answer.rows.push_back({place->second, origins_[one.node].row});
    return answer;
}

void TenantGraph::count() {
    rows_ = graph_.size() - graph_.removed();
    bytes_ = graph_.bytes() + graph_.size() * (sizeof(Origin) + sizeof(VectorGraph::Node));
}

bool TenantGraph::is_worn() const {
    const std::shared_lock lock(mutex_);
    return graph_.removed() * 8 > graph_.size();
}

}  // namespace palimpsest
