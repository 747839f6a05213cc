#include "server/keeper.h"

#include <chrono>

namespace palimpsest {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(50);

}  // namespace

// Who comes while the thread sleeps between two looks does not wake it: requests come often.
void Keeper::add(Task task) {
    {
        const std::lock_guard lock(mutex_);
        if (!stopped_) {
            fresh_.push_back(std::move(task));
            if (!thread_.joinable())
                thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
            if (idle_) woken_.notify_all();
            return;
        }
    }
    (void)task(true);
}

void Keeper::put_later(Store& store, RecordWrite write) {
    add([&store, write = std::move(write)](bool) {
        (void)store.put_record(write);
        return false;
    });
}

void Keeper::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void Keeper::run(const std::stop_token& stop) {
    std::vector<Task> tasks;
    for (bool last = false; !last;) {
        {
            std::unique_lock lock(mutex_);
            if (tasks.empty()) {
                idle_ = true;
                woken_.wait(lock, stop, [this] { return !fresh_.empty(); });
                idle_ = false;
            } else {
                woken_.wait_for(lock, stop, between_looks, [] { return false; });
            }
            last = stop.stop_requested();
            for (Task& task : fresh_) tasks.push_back(std::move(task));
            fresh_.clear();
        }
        std::erase_if(tasks, [last](Task& task) { return !task(last); });
    }
}

}  // namespace palimpsest
