// Logs whose passages wait to be embedded, and the one thread that does it.
//
// A log waits at most once. The thread starts with the first of them; the queue's end stops it
// between two pieces of work and waits for it.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "palimpsest/store.h"

namespace palimpsest {

class EmbedQueue {
public:
    // Does a piece of the work on a log. True: there is more to do.
    using Work = std::function<bool(const Header& header)>;
    explicit EmbedQueue(Work work) : work_(std::move(work)) {}
    ~EmbedQueue();

    void add(const Header& header);
    std::size_t waiting() const;

private:
    void run();

    Work work_;
    mutable std::mutex mutex_;  // Guards all below.
    std::condition_variable changed_;
    std::deque<Header> waiting_;  // the first of them is being worked on
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace palimpsest
