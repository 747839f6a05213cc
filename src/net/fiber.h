// fiber: a function on a stack of its own, which can stop in the middle and go on later, on any
// thread. Errands (errand.h) are made of it; nobody else needs it.
//
// Invariants: one thread at a time is inside a fiber; it is resumed only when it has stopped
// wholly. Nothing that belongs to a thread (a lock that is held, an exception that is being
// handled) lives across a stop. Its stack has a page below it that nobody may touch, so what is too
// deep ends the program instead of overwriting others.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace palimpsest {

class Fiber {
public:
    // Must not throw.
    using Function = std::move_only_function<void()>;

    Fiber();   // std::bad_alloc when there is no room for a stack
    ~Fiber();  // not while a function is inside
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // What resume() will run. One that has ended can be given the next.
    void load(Function function);
    // Runs the function until it stops or ends.
    void resume();
    // By the function: back to whoever resumed it.
    void stop();
    bool ended() const { return ended_; }

private:
    struct Machine;
    static void enter(void* self);
    void run();

    std::unique_ptr<Machine> machine_;
    Function function_;
    bool ended_ = true;
};

// Fibers that have ended, for the next ones. From any thread.
class FiberPool {
public:
    std::unique_ptr<Fiber> take();
    void give(std::unique_ptr<Fiber> fiber);

private:
    static constexpr std::size_t kept_max = 64;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Fiber>> idle_;
};

}  // namespace palimpsest
