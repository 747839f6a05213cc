// loop: one event loop of one thread, and the readiness of sockets on it. Hides epoll, which only
// loop.cpp includes.
//
// Invariants: callbacks run on the thread that is inside run(), one at a time; post is the only
// call that other threads may make. Sockets are read and written without blocking by their owner
// (transport.h), so no buffer is ever lent to the loop. A socket that is waited for again and again
// is told to the kernel once.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

namespace palimpsest {

class Loop {
public:
    using Callback = std::move_only_function<void()>;

    Loop();   // std::system_error when the kernel has no descriptor left
    ~Loop();  // pending callbacks are destroyed, not called
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void run();  // until stop
    void stop();
    // Later: what other threads post comes before what gets ready from then on, what the loop's own
    // thread posts comes behind what is ready now.
    void post(Callback callback);
    // On the loop's thread: behind all that was ready when this turn of the loop began.
    void post_last(Callback callback);
    void after_ms(int delay, Callback callback);

private:
    friend class Watch;
    struct Engine;
    struct Place;
    std::shared_ptr<Engine> engine_;  // watches may outlive the loop
};

enum class Readiness : std::uint8_t { read, write };

// Tells when a descriptor can be read or written. Does not own the descriptor, which must outlive
// it. One for which nobody waits may be destroyed on any thread.
class Watch {
public:
    Watch(Loop& loop, int descriptor);
    ~Watch();  // pending callbacks are called later, as after cancel
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Calls back once, later, also when the watch is cancelled meanwhile. Throws std::system_error
    // when the kernel cannot watch it: all who wait for this direction are forgotten then.
    void wait(Readiness readiness, Loop::Callback callback);
    void cancel();
    bool is_on(const Loop& loop) const { return engine_ == loop.engine_; }

private:
    std::shared_ptr<Loop::Engine> engine_;
    std::unique_ptr<Loop::Place> place_;
};

}  // namespace palimpsest
