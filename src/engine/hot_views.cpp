#include "engine/hot_views.h"

#include <algorithm>
#include <functional>

namespace palimpsest {
namespace {

constexpr std::size_t view_overhead = 512;  // of the lists and maps around one view
constexpr std::size_t item_overhead = 96;   // of what an item points to

std::size_t bytes_of(std::span<const Item> items) {
    std::size_t bytes = 0;
    for (const Item& item : items)
        bytes += sizeof(Item) + item_overhead + view_of(item.message.raw).size();
    return bytes;
}

bool by_seq(const Item& a, const Item& b) {
    return a.range.from < b.range.from;
}

bool contains(const std::vector<std::string>& ids, const std::string& id) {
    return std::ranges::find(ids, id) != ids.end();
}

// The newest item before `i` that makes the first of its calls that is known; `i` when none does.
std::size_t call_of(std::span<const Item> items, std::size_t i) {
    for (const std::string& id : items[i].message.shape.results)
        for (std::size_t j = i; j-- > 0;)
            if (contains(items[j].message.shape.calls, id)) return j;
    return i;
}

// Whether item `i`, behind others that are in the order of their seqs, is in its place there: its
// call is in the group that ends before it. Never wrongly true.
bool stands_well(std::span<const Item> items, std::size_t i, bool in_order) {
    if (items[i].message.shape.results.empty()) return true;
    if (!in_order) return false;
    const std::size_t call = call_of(items, i);
    if (call == i) return true;
    for (std::size_t k = call + 1; k < i; ++k) {
        const Shape& between = items[k].message.shape;
        if (!between.calls.empty() || between.results.empty()) return false;
        if (!contains(items[call].message.shape.calls, between.results.front())) return false;
    }
    return true;
}

}  // namespace

View HotView::view() const {
    View out;
    out.header = header;
    out.items = items;
    out.totals = totals;
    out.tokens = totals.tokens;
    out.seq = header.end;
    out.basis = header.basis;
    return out;
}

HotView make_hot(const View& view) {
    HotView hot;
    hot.header = view.header;
    hot.items = view.items;
    hot.totals = view.totals;
    hot.in_order = std::ranges::is_sorted(view.items, by_seq);
    hot.bytes = view_overhead + bytes_of(view.items);
    return hot;
}

HotView extended(const HotView& old, const Header& header, std::vector<Item> more) {
    HotView hot{.header = header,
                .totals = old.totals,
                .in_order = old.in_order,
                .calls = old.calls,
                .bytes = old.bytes + bytes_of(more)};
    hot.items = old.items.with(std::move(more));
    bool well = true;
    for (std::size_t i = old.items.size(); well && i < hot.items.size(); ++i)
        well = stands_well(hot.items, i, old.in_order);
    if (well) {
        for (std::size_t i = old.items.size(); i < hot.items.size(); ++i)
            add_item(hot.totals, hot.items[i]);
        return hot;
    }
    std::vector<Item> all = hot.items.copy();
    std::ranges::stable_sort(all, by_seq);
    hot.items = arrange(std::move(all));
    hot.in_order = std::ranges::is_sorted(hot.items, by_seq);
    hot.totals = totals_of(hot.items);
    return hot;
}

std::size_t HotViews::Hash::operator()(const ConversationId& name) const {
    const std::hash<std::string> hash;
    return hash(name.id) * 31 + hash(name.tenant);
}

HotViewPtr HotViews::find(const ConversationId& name) {
    Shard& shard = shard_of(name);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.by_name.find(name);
    if (found == shard.by_name.end()) return nullptr;
    shard.order.splice(shard.order.begin(), shard.order, found->second);
    return *found->second;
}

void HotViews::put(HotViewPtr view) {
    const Header& header = view->header;
    if (view->bytes > bytes_max_ || header.log.empty() || header.name.id.empty()) return;
    HotViewPtr replaced;  // goes without the lock
    {
        Shard& shard = shard_of(header.name);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.by_name.find(header.name);
        if (found == shard.by_name.end()) {
            shard.order.push_front(view);
            shard.by_name.emplace(header.name, shard.order.begin());
        } else {
            const Header& old = (*found->second)->header;
            if (old.log == header.log && old.epoch == header.epoch && old.end > header.end) return;
            replaced = std::exchange(*found->second, view);
            shard.order.splice(shard.order.begin(), shard.order, found->second);
            bytes_ -= replaced->bytes;
        }
        bytes_ += view->bytes;
    }
    if (bytes_ > bytes_max_) make_room(header.name);
}

void HotViews::drop(const ConversationId& name) {
    Shard& shard = shard_of(name);
    const std::lock_guard lock(shard.mutex);
    if (const auto found = shard.by_name.find(name); found != shard.by_name.end())
        remove(shard, found->second);
}

void HotViews::remove(Shard& shard, Order::iterator at) {
    bytes_ -= (*at)->bytes;
    shard.by_name.erase((*at)->header.name);
    shard.order.erase(at);
}

// The oldest of each shard in turn, so that the shards stay of about the same age.
void HotViews::make_room(const ConversationId& keep) {
    std::size_t s = Hash()(keep) % shard_count;
    for (std::size_t empty = 0; empty < shard_count; s = (s + 1) % shard_count) {
        if (bytes_ <= bytes_max_) return;
        const std::lock_guard lock(shards_[s].mutex);
        Order& order = shards_[s].order;
        if (order.empty() || order.back()->header.name == keep) {
            ++empty;
            continue;
        }
        empty = 0;
        remove(shards_[s], std::prev(order.end()));
    }
}

}  // namespace palimpsest
