// The list of a view's items.
//
// Storage only ever grows, and only behind what any list that shares it can see. Who wants to add
// behind the end of a list claims the place: the first gets it, any other makes storage of its own.
#include <algorithm>
#include <atomic>

#include "core/scan.h"
#include "palimpsest/view.h"

namespace palimpsest {

struct Items::Storage {
    // Written by the holder of the newest claim alone, within the capacity that they began with.
    std::vector<Item> items = {};
    std::vector<ItemFacts> facts = {};
    FactTaker taker = {};
    std::atomic<std::size_t> end{0};  // how much of it is claimed
};

Items::Items(std::vector<Item> items)
    : storage_(std::make_shared<Storage>()), data_(items.data()), size_(items.size()) {
    Storage& storage = *storage_;
    storage.end = items.size();
    storage.items = std::move(items);
    storage.facts.reserve(storage.items.capacity());
    for (const Item& item : storage.items) storage.facts.push_back(storage.taker.take(item));
    facts_ = storage.facts.data();
}

std::span<const ItemFacts> Items::facts() const {
    return {facts_, size_};
}

Items Items::with(std::vector<Item> more) const {
    if (more.empty()) return *this;
    std::size_t expected = size_;
    const std::size_t size = size_ + more.size();
    const bool fits = storage_ && size <= storage_->items.capacity() &&
                      storage_->end.compare_exchange_strong(expected, size);
    if (fits) {
        for (Item& item : more) {
            const Item& added = storage_->items.emplace_back(std::move(item));
            storage_->facts.push_back(storage_->taker.take(added));
        }
        Items longer = *this;
        longer.size_ = size;
        return longer;
    }
    std::vector<Item> all;
    all.reserve(size + size / 2 + 8);
    all.insert(all.end(), begin(), end());
    std::ranges::move(more, std::back_inserter(all));
    return Items(std::move(all));
}

}  // namespace palimpsest
