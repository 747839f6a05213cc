#include "search/vector_graph.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace palimpsest {
namespace {

using Near = VectorGraph::Near;

// Best first; of equals the older.
bool is_nearer(const Near& a, const Near& b) {
    return a.cosine != b.cosine ? a.cosine > b.cosine : a.node < b.node;
}

std::uint64_t scrambled(std::uint64_t number) {  // splitmix64
    number += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

struct NearestOnTop {
    bool operator()(const Near& a, const Near& b) const { return is_nearer(b, a); }
};
struct FarthestOnTop {
    bool operator()(const Near& a, const Near& b) const { return is_nearer(a, b); }
};

// The best `width` of what it is shown.
class Best {
public:
    explicit Best(std::size_t width) : width_(width) {}
    bool wants(float cosine) const { return heap_.size() < width_ || cosine > heap_.top().cosine; }
    bool is_full_of_nearer(float cosine) const {
        return heap_.size() == width_ && cosine < heap_.top().cosine;
    }
    void add(const Near& one) {
        heap_.push(one);
        if (heap_.size() > width_) heap_.pop();
    }
    std::vector<Near> take() {
        std::vector<Near> all(heap_.size());
        for (std::size_t i = all.size(); i > 0; --i, heap_.pop()) all[i - 1] = heap_.top();
        return all;
    }

private:
    std::size_t width_;
    std::priority_queue<Near, std::vector<Near>, FarthestOnTop> heap_;
};

}  // namespace

VectorGraph::Query VectorGraph::quantized(std::span<const float> vector) const {
    Query query;
    query.code.resize(dimension_);
    float most = 0;
    for (const float value : vector) most = std::max(most, std::abs(value));
    // A vector of zeros is a node as well, and as far from everything as can be.
    query.scale = most > 0 ? most / 127 : 1;
    for (std::size_t i = 0; i < std::min(dimension_, vector.size()); ++i)
        query.code[i] = static_cast<std::int8_t>(std::lround(vector[i] / query.scale));
    return query;
}

float VectorGraph::compare(const Query& query, Node node) const {
    return static_cast<float>(product_(query.code.data(), code_of(node), dimension_)) *
           query.scale * at(node).scales[node % block_nodes];
}

float VectorGraph::compare(Node a, Node b) const {
    return static_cast<float>(product_(code_of(a), code_of(b), dimension_)) *
           at(a).scales[a % block_nodes] * at(b).scales[b % block_nodes];
}

// Each level has about a 16th of the nodes of the one below.
std::size_t VectorGraph::level_of(Node node) {
    std::size_t level = 0;
    for (std::uint64_t bits = scrambled(node); bits % links_max == 0 && level + 1 < levels_max;
         bits /= links_max)
        ++level;
    return level;
}

std::span<const VectorGraph::Node> VectorGraph::links_of(Node node, std::size_t level) const {
    const Block& block = at(node);
    const std::size_t place = node % block_nodes;
    const Node* const links =
        level == 0 ? block.ground[place].data() : block.upper[place][level - 1].data();
    return {links + 1, links[0]};
}

void VectorGraph::set_links(Node node, std::size_t level, std::span<const Near> links) {
    Block& block = at(node);
    const std::size_t place = node % block_nodes;
    Node* const to = level == 0 ? block.ground[place].data() : block.upper[place][level - 1].data();
    to[0] = static_cast<Node>(links.size());
    for (std::size_t i = 0; i < links.size(); ++i) to[i + 1] = links[i].node;
}

// The nearest ones that are not nearer to one of those already taken: links in all directions keep
// clusters in reach of each other. What room is left the nearest of the others get.
std::vector<Near> VectorGraph::spread_out(std::span<const Near> candidates,
                                          std::size_t count) const {
    std::vector<Near> chosen, passed;
    for (const Near& one : candidates) {
        if (chosen.size() == count) break;
        const bool is_behind = std::ranges::any_of(
            chosen, [&](const Near& other) { return compare(one.node, other.node) > one.cosine; });
        (is_behind ? passed : chosen).push_back(one);
    }
    for (std::size_t i = 0; i < passed.size() && chosen.size() < count; ++i)
        chosen.push_back(passed[i]);
    return chosen;
}

VectorGraph::Near VectorGraph::descend(const Query& query, std::size_t to_level) const {
    Near best{compare(query, top_), top_};
    for (std::size_t level = top_levels_; level-- > to_level;)
        for (bool moved = true; moved;) {
            moved = false;
            for (const Node next : links_of(best.node, level))
                if (const Near one{compare(query, next), next}; is_nearer(one, best)) {
                    best = one;
                    moved = true;
                }
        }
    return best;
}

std::vector<Near> VectorGraph::walk(const Query& query, Near from, std::size_t level,
                                    std::size_t width) const {
    std::vector<bool> seen(size_);
    std::priority_queue<Near, std::vector<Near>, NearestOnTop> open;
    Best best(width);
    seen[from.node] = true;
    open.push(from);
    best.add(from);
    while (!open.empty()) {
        const Near here = open.top();
        open.pop();
        if (best.is_full_of_nearer(here.cosine)) break;
        for (const Node next : links_of(here.node, level)) {
            if (seen[next]) continue;
            seen[next] = true;
            const Near one{compare(query, next), next};
            if (!best.wants(one.cosine)) continue;
            open.push(one);
            best.add(one);
        }
    }
    return best.take();
}

VectorGraph::Place VectorGraph::place_of(std::span<const float> vector) const {
    const auto node = static_cast<Node>(size_);
    Query query = quantized(vector);
    Place place;
    place.links.resize(level_of(node) + 1);
    if (top_levels_ > 0) {
        const std::size_t shared = std::min(place.links.size(), top_levels_);
        Near from = descend(query, shared);
        for (std::size_t level = shared; level-- > 0;) {
            const std::vector<Near> found = walk(query, from, level, building_width);
            from = found.front();
            place.links[level] = spread_out(found, links_max);
        }
    }
    place.code = std::move(query.code);
    place.scale = query.scale;
    return place;
}

VectorGraph::Node VectorGraph::add(const Place& place) {
    const auto node = static_cast<Node>(size_);
    if (size_ % block_nodes == 0) {
        auto block = std::make_unique<Block>();
        block->codes.resize(block_nodes * dimension_);
        block->scales.resize(block_nodes);
        block->ground.resize(block_nodes);
        block->upper.resize(block_nodes);
        blocks_.push_back(std::move(block));
    }
    ++size_;
    Block& block = at(node);
    const std::size_t at_block = node % block_nodes;
    std::ranges::copy(place.code,
                      block.codes.begin() + static_cast<std::ptrdiff_t>(at_block * dimension_));
    block.scales[at_block] = place.scale;
    block.upper[at_block].resize(place.links.size() - 1);
    for (std::size_t level = 0; level < place.links.size(); ++level) {
        set_links(node, level, place.links[level]);
        for (const Near& one : place.links[level]) link_back(one.node, node, level, one.cosine);
    }
    if (place.links.size() > top_levels_) {
        top_ = node;
        top_levels_ = place.links.size();
    }
    return node;
}

void VectorGraph::link_back(Node from, Node to, std::size_t level, float cosine) {
    const std::size_t room = level == 0 ? ground_links_max : links_max;
    std::vector<Near> links;
    for (const Node next : links_of(from, level)) links.push_back({0, next});
    if (links.size() < room) {
        links.push_back({cosine, to});
        return set_links(from, level, links);
    }
    for (Near& one : links) one.cosine = compare(from, one.node);
    links.push_back({cosine, to});
    std::ranges::sort(links, is_nearer);
    set_links(from, level, spread_out(links, room));
}

// A way that led through a removed node leads to what comes behind it.
void VectorGraph::unlink_removed(Node node, std::size_t level) {
    const auto has = [](const std::vector<Near>& links, Node other) {
        return std::ranges::find(links, other, &Near::node) != links.end();
    };
    std::vector<Near> kept;
    for (const Node next : links_of(node, level))
        if (!is_removed(next)) kept.push_back({0, next});
    if (kept.size() == links_of(node, level).size()) return;
    for (const Node gone : links_of(node, level)) {
        if (!is_removed(gone)) continue;
        for (const Node behind : links_of(gone, level))
            if (!is_removed(behind) && behind != node && !has(kept, behind)) {
                kept.push_back({0, behind});
                break;
            }
    }
    set_links(node, level, kept);
}

void VectorGraph::remove(std::span<const Node> nodes) {
    for (const Node node : nodes) {
        if (is_removed(node)) continue;
        ++removed_;
        Block& block = at(node);
        const std::size_t place = node % block_nodes;
        std::fill_n(block.codes.begin() + static_cast<std::ptrdiff_t>(place * dimension_),
                    dimension_, std::int8_t{0});
        block.scales[place] = 0;
    }
    for (Node node = 0; node < size_; ++node)
        for (std::size_t level = 0; !is_removed(node) && level < levels_of(node); ++level)
            unlink_removed(node, level);
    for (const Node node : nodes)
        for (std::size_t level = 0; level < levels_of(node); ++level) set_links(node, level, {});
    if (top_levels_ > 0 && is_removed(top_)) choose_top();
}

void VectorGraph::choose_top() {
    top_levels_ = 0;
    for (Node node = 0; node < size_; ++node)
        if (!is_removed(node) && levels_of(node) > top_levels_) {
            top_ = node;
            top_levels_ = levels_of(node);
        }
}

std::vector<Near> VectorGraph::nearest(std::span<const float> query, std::size_t width) const {
    if (top_levels_ == 0 || width == 0 || query.size() != dimension_) return {};
    const Query asked = quantized(query);
    return walk(asked, descend(asked, 0), 0, width);
}

std::vector<Near> VectorGraph::nearest_of_all(std::span<const float> query,
                                              std::size_t count) const {
    const Query asked = quantized(query);
    Best best(count);
    for (Node node = 0; node < size_ && count > 0; ++node)
        if (!is_removed(node))
            if (const float cosine = compare(asked, node); best.wants(cosine))
                best.add({cosine, node});
    return best.take();
}

std::vector<float> VectorGraph::vector_of(Node node) const {
    std::vector<float> vector(dimension_);
    for (std::size_t i = 0; i < dimension_; ++i)
        vector[i] = code_of(node)[i] * at(node).scales[node % block_nodes];
    return vector;
}

std::size_t VectorGraph::bytes_of(std::size_t nodes, std::size_t dimension) {
    const std::size_t blocks = (nodes + block_nodes - 1) / block_nodes;
    return blocks * block_nodes *
           (dimension + sizeof(float) + sizeof(GroundLinks) + sizeof(std::vector<UpperLinks>) +
            sizeof(UpperLinks) / (links_max - 1));
}

std::size_t VectorGraph::bytes() const {
    return bytes_of(size_, dimension_);
}

}  // namespace palimpsest
