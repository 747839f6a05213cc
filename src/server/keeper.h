// keeper: one thread for all that a server writes to its store beside its requests: events of
// responses that are being made, signs of life of running turns. No request waits for it.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

// From any thread.
class Keeper {
public:
    // Called on the keeper's thread about every 50 ms until it gives false: it is done. `last`: the
    // server ends, it will not be called again.
    using Task = std::move_only_function<bool(bool last)>;

    Keeper() = default;
    ~Keeper() { stop(); }
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    void add(Task task);
    // Writes a record soon; what is lost in a crash is lost. The store must outlive the keeper.
    void put_later(Store& store, RecordWrite write);
    // Every task is called a last time. What comes later is called once, at once.
    void stop();

private:
    void run(const std::stop_token& stop);

    std::mutex mutex_;  // Guards all below.
    std::condition_variable_any woken_;
    std::vector<Task> fresh_;  // not yet called
    bool idle_ = false, stopped_ = false;
    std::jthread thread_;  // started when there is something to do
};

}  // namespace palimpsest
