// The list of a view's items.
//
// Storage only ever grows, and only behind what any list that shares it can see. Who wants to add
// behind the end of a list claims the place: the first gets it, any other makes storage of its own.
#include <algorithm>
#include <atomic>

#include "palimpsest/view.h"

namespace palimpsest {

struct Items::Storage {
    std::vector<Item> items = {};     // written by the holder of the newest claim alone
    std::atomic<std::size_t> end{0};  // how much of it is claimed
};

Items::Items(std::vector<Item> items)
    : storage_(std::make_shared<Storage>()), data_(items.data()), size_(items.size()) {
    storage_->end = items.size();
    storage_->items = std::move(items);
}

Items Items::with(std::vector<Item> more) const {
    if (more.empty()) return *this;
    std::size_t expected = size_;
    const std::size_t size = size_ + more.size();
    const bool fits = storage_ && size <= storage_->items.capacity() &&
                      storage_->end.compare_exchange_strong(expected, size);
    if (fits) {
        for (Item& item : more) storage_->items.push_back(std::move(item));
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
