// workers: threads for work that blocks. Started one by one as work waits, up to a limit.
//
// Invariant: every job that was given is run, also during shutdown. The queue has no limit of its
// own (each connection has at most one job in it); who gives asks first whether there is room.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "net/http.h"

namespace palimpsest {

class Workers {
public:
    // Must not throw.
    using Job = std::move_only_function<void()>;

    explicit Workers(int max_threads);
    ~Workers();  // runs what is queued, then joins
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    // From any thread. Throws std::bad_alloc or std::system_error if not even one thread can be
    // had; the job was not taken then.
    void add(Job job);

    // A job that is added now would wait, and `waiting` others wait already.
    bool full(std::size_t waiting) const;
    WorkerLoad load() const;

private:
    void work();
    void start_thread();

    const std::size_t max_threads_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> queue_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    bool ending_ = false;
};

}  // namespace palimpsest
