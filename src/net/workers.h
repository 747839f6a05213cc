// workers: threads for work that blocks. Started one by one as work waits, up to a usual number;
// more only where all of them are stuck, so that jobs which wait for one another come to an end.
//
// Invariant: every job that was given is run, also during shutdown. The queue has no limit of its
// own (each connection has at most one job in it); who gives asks first whether there is room.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
    using Time = std::chrono::steady_clock::time_point;

    explicit Workers(int max_threads) : Workers(max_threads, max_threads) {}
    Workers(int max_threads, int usual_threads);
    ~Workers();  // runs what is queued, then joins
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    // From any thread. Throws std::bad_alloc or std::system_error if not even one thread can be
    // had; the job was not taken then.
    void add(Job job);

    // To be called now and then, by one or more: when jobs wait and none was begun since the last
    // time, `least` ago or longer, they get threads beyond the usual number.
    void relieve(Time now, std::chrono::milliseconds least);

    // A job that is added now would wait, and `waiting` others wait already.
    bool full(std::size_t waiting) const;
    WorkerLoad load() const;

private:
    void work();
    void start_thread();

    const std::size_t max_threads_, usual_threads_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> queue_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    std::uint64_t begun_ = 0;     // jobs
    std::uint64_t relieved_ = 0;  // `begun_` at the last relieve()
    Time relieved_at_ = {};       // when that was
    bool ending_ = false;
};

}  // namespace palimpsest
