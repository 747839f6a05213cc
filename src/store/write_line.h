// write_line: the line in front of the one place where a store writes: group commit without a
// thread.
//
// A caller takes its place. Whoever is at the front leads: it does the work of those who wait, and
// they are woken when it is done.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace palimpsest {

// Of a group, so that nobody waits long for others' work.
inline constexpr std::size_t write_group_count = 256;
inline constexpr std::size_t write_group_bytes = 8 << 20;

template <class Work>
class WriteLine {
public:
    // Returns when `work` is done. At the front of the line `lead` is called with those who wait,
    // this one first, and gives how many of them, from the front, it has done: at least one. Behind
    // it, when these are told and while nobody else leads, `tidy` is called.
    template <class Lead, class Tidy>
    void pass(Work& work, const Lead& lead, const Tidy& tidy) {
        Place me{&work};
        std::unique_lock lock(mutex_);
        line_.push_back(&me);
        me.bell->wait(lock, [&] { return me.done || line_.front() == &me; });
        if (me.done) return;
        std::vector<Work*> waiting;
        for (std::size_t i = 0; i < std::min(line_.size(), write_group_count); ++i)
            waiting.push_back(line_[i]->work);
        lock.unlock();
        tell_behind_front(lead(std::span<Work* const>(waiting)));
        tidy();
        lock.lock();
        line_.pop_front();
        const Bell next = line_.empty() ? nullptr : line_.front()->bell;
        lock.unlock();
        if (next) next->notify_one();
    }

private:
    // Shared, so that it can be rung without the lock: its owner may be gone by then, and with the
    // lock held everybody would wake only to wait for the lock.
    using Bell = std::shared_ptr<std::condition_variable>;
    struct Place {
        Work* work = nullptr;
        bool done = false;
        Bell bell = std::make_shared<std::condition_variable>();
    };
    // The place at the front is kept.
    void tell_behind_front(std::size_t count) {
        std::vector<Bell> bells;
        {
            const std::scoped_lock lock(mutex_);
            for (std::size_t i = 1; i < count; ++i) {
                line_[i]->done = true;
                bells.push_back(line_[i]->bell);
            }
            line_.erase(line_.begin() + 1, line_.begin() + static_cast<std::ptrdiff_t>(count));
        }
        for (const Bell& bell : bells) bell->notify_one();
    }

    std::mutex mutex_;
    std::deque<Place*> line_;
};

}  // namespace palimpsest
