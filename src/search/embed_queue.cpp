#include "search/embed_queue.h"

#include <algorithm>

namespace palimpsest {

EmbedQueue::~EmbedQueue() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void EmbedQueue::add(const Header& header) {
    const std::lock_guard lock(mutex_);
    // The one in front was handed out already: what is new since then comes after it.
    const auto is_same = [&](const Header& one) { return one.log == header.log; };
    const auto later = waiting_.empty() ? waiting_.end() : waiting_.begin() + 1;
    const auto known = std::find_if(later, waiting_.end(), is_same);
    if (known != waiting_.end()) {
        *known = header;
        return;
    }
    if (!waiting_.empty() && is_same(waiting_.front()) && waiting_.front().end >= header.end)
        return;
    waiting_.push_back(header);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_all();
}

std::size_t EmbedQueue::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
}

void EmbedQueue::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        const Header header = waiting_.front();
        lock.unlock();
        const bool more = work_(header);
        lock.lock();
        if (!more) waiting_.pop_front();
    }
}

}  // namespace palimpsest
