// Replaceable: a value that many threads read and that is replaced now and then.
//
// Invariant: a reader sees the old value or the new one, whole. What was replaced lives as long as
// this does, so references into it stay good; so replace what has changed, not what has not.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace palimpsest {

template <class T>
class Replaceable {
public:
    Replaceable() = default;  // to be replaced before it is read

    const T& operator*() const { return *now_.load(std::memory_order_acquire); }
    const T* operator->() const { return now_.load(std::memory_order_acquire); }

    void replace(std::unique_ptr<const T> next) {
        const std::scoped_lock lock(mutex_);
        kept_.push_back(std::move(next));
        now_.store(kept_.back().get(), std::memory_order_release);
    }

private:
    std::atomic<const T*> now_ = nullptr;
    std::mutex mutex_;
    std::vector<std::unique_ptr<const T>> kept_;
};

}  // namespace palimpsest
