#include "engine/pooled_tokenizer.h"

#include <functional>
#include <thread>

namespace palimpsest {
namespace {

// Where a thread looks first: most often it finds the counter that it used before.
std::size_t own_place(std::size_t places) {
    return std::hash<std::thread::id>{}(std::this_thread::get_id()) % places;
}

}  // namespace

PooledTokenizer::~PooledTokenizer() {
    for (std::atomic<TokenCounter*>& place : idle_) delete place.load();
}

std::uint64_t PooledTokenizer::count(std::string_view text) const {
    if (text.empty()) return inner_->count(text);
    std::unique_ptr<TokenCounter> counter = take();
    const std::uint64_t tokens = counter->count(text);
    give_back(std::move(counter));
    return tokens;
}

std::unique_ptr<TokenCounter> PooledTokenizer::take() const {
    const std::size_t first = own_place(idle_max);
    for (std::size_t i = 0; i < idle_max; ++i) {
        std::atomic<TokenCounter*>& place = idle_[(first + i) % idle_max];
        if (place.load(std::memory_order_relaxed) == nullptr) continue;
        if (TokenCounter* found = place.exchange(nullptr, std::memory_order_acquire))
            return std::unique_ptr<TokenCounter>(found);
    }
    return inner_->counter();
}

void PooledTokenizer::give_back(std::unique_ptr<TokenCounter> counter) const {
    const std::size_t first = own_place(idle_max);
    for (std::size_t i = 0; i < idle_max && counter; ++i) {
        std::atomic<TokenCounter*>& place = idle_[(first + i) % idle_max];
        TokenCounter* none = nullptr;
        if (place.compare_exchange_strong(none, counter.get(), std::memory_order_release,
                                          std::memory_order_relaxed))
            (void)counter.release();
    }
}

}  // namespace palimpsest
