// Jobs that wait, and the one thread that does them.
//
// A job waits at most once. The thread starts with the first of them; the queue's end stops it
// between two pieces of work and waits for it. A job says which others are the same (is_same) and,
// of those, which need not be done after it (covers).
#pragma once
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace palimpsest {

template <class Job>
class WorkQueue {
public:
    // Does a piece of the work. True: there is more to do.
    using Work = std::function<bool(const Job& job)>;
    explicit WorkQueue(Work work) : work_(std::move(work)) {}
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;
    ~WorkQueue() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        if (thread_.joinable()) thread_.join();
    }

    void add(const Job& job) {
        const std::lock_guard lock(mutex_);
        // The one in front was handed out already: what is new since then comes after it.
        const auto later = waiting_.empty() ? waiting_.end() : waiting_.begin() + 1;
        const auto known =
            std::find_if(later, waiting_.end(), [&](const Job& one) { return one.is_same(job); });
        if (known != waiting_.end()) {
            *known = job;
            return;
        }
        if (!waiting_.empty() && waiting_.front().is_same(job) && waiting_.front().covers(job))
            return;
        waiting_.push_back(job);
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
        changed_.notify_all();
    }

    std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return waiting_.size();
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
            if (stopping_) return;
            const Job job = waiting_.front();
            lock.unlock();
            const bool more = work_(job);
            lock.lock();
            if (!more) waiting_.pop_front();
        }
    }

    Work work_;
    mutable std::mutex mutex_;  // Guards all below.
    std::condition_variable changed_;
    std::deque<Job> waiting_;  // the first of them is being worked on
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace palimpsest
