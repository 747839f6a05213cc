#include "net/workers.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace palimpsest {

Workers::Workers(int max_threads, int usual_threads)
    : max_threads_(static_cast<std::size_t>(std::max(1, max_threads))),
      usual_threads_(std::clamp<std::size_t>(static_cast<std::size_t>(std::max(1, usual_threads)),
                                             1, max_threads_)) {
    threads_.reserve(max_threads_);
}

Workers::~Workers() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Workers::add(Job job) {
    {
        const std::scoped_lock lock(mutex_);
        queue_.push_back(std::move(job));
        if (queue_.size() > idle_ && threads_.size() < usual_threads_) start_thread();
    }
    // Without the lock: who wakes up would only wait for it.
    changed_.notify_one();
}

void Workers::relieve(Time now, std::chrono::milliseconds least) {
    const std::scoped_lock lock(mutex_);
    if (now - relieved_at_ < least) return;
    relieved_at_ = now;
    const bool stuck = queue_.size() > idle_ && std::exchange(relieved_, begun_) == begun_;
    if (!stuck) return;
    const std::size_t wanted = std::min(threads_.size() + queue_.size() - idle_, max_threads_);
    try {
        while (threads_.size() < wanted) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        // There are no more to be had.
    }
}

bool Workers::full(std::size_t waiting) const {
    const std::scoped_lock lock(mutex_);
    if (threads_.size() < usual_threads_ || queue_.size() < idle_) return false;
    return queue_.size() - idle_ >= waiting;
}

WorkerLoad Workers::load() const {
    const std::scoped_lock lock(mutex_);
    return {.waiting = queue_.size() - std::min(queue_.size(), idle_),
            .threads = threads_.size(),
            .busy = threads_.size() - idle_};
}

void Workers::start_thread() {
    try {
        threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        if (!threads_.empty()) return;  // The running threads will come to it.
        queue_.pop_back();
        throw;
    }
}

void Workers::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        ++idle_;
        changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        --idle_;
        if (queue_.empty()) return;
        Job job = std::move(queue_.front());
        queue_.pop_front();
        ++begun_;
        lock.unlock();
        job();
        job = nullptr;
        lock.lock();
    }
}

}  // namespace palimpsest
