// task: a lazy coroutine (Task<T>), a one-thread wake-up (Signal), and spawn.
//
// Invariants: a Task starts when it is awaited and runs on the thread that awaits it; whoever wakes
// it later does so on that same thread, so nothing here is atomic. A child that finishes without
// suspending hands control back by returning, never by a nested resume: loops of any length run in
// constant stack, with optimisation or without.
//
// g++ 12 rules for users: no lambda literal and no braced temporary inside a co_await expression
// (name it first); structs passed by value to coroutines have a constructor.
#pragma once
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "net/frame_pool.h"

namespace palimpsest {

template <class T>
class Task;

namespace detail {

struct TaskState {
    std::coroutine_handle<> waiter;
    bool waiter_suspended = false;
    std::exception_ptr error;

    struct Finish {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
            TaskState& state = self.promise();
            if (state.waiter_suspended) state.waiter.resume();
        }
        void await_resume() const noexcept {}
    };
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Finish final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { error = std::current_exception(); }

    static void* operator new(std::size_t bytes) { return take_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept {
        give_frame(frame, bytes);
    }
};

template <class T>
struct TaskPromise : TaskState {
    std::optional<T> value;
    Task<T> get_return_object();
    template <class U>
    void return_value(U&& result) {
        value.emplace(std::forward<U>(result));
    }
    T take() {
        if (error) std::rethrow_exception(error);
        return std::move(*value);
    }
};

template <>
struct TaskPromise<void> : TaskState {
    Task<void> get_return_object();
    void return_void() const noexcept {}
    void take() const {
        if (error) std::rethrow_exception(error);
    }
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
public:
    using promise_type = detail::TaskPromise<T>;
    using Frame = std::coroutine_handle<promise_type>;

    explicit Task(Frame frame) noexcept : frame_(frame) {}
    Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(frame_, other.frame_);
        return *this;
    }
    ~Task() {
        if (frame_) frame_.destroy();
    }

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) const {
        frame_.promise().waiter = waiter;
        frame_.resume();
        if (frame_.done()) return false;
        frame_.promise().waiter_suspended = true;
        return true;
    }
    // Rethrows what the coroutine threw.
    T await_resume() const { return frame_.promise().take(); }

private:
    Frame frame_;
};

template <class T>
Task<T> detail::TaskPromise<T>::get_return_object() {
    return Task<T>(Task<T>::Frame::from_promise(*this));
}
inline Task<void> detail::TaskPromise<void>::get_return_object() {
    return Task<void>(Task<void>::Frame::from_promise(*this));
}

// Lets one coroutine wait for one other party on the same thread. A fire without a waiter is
// remembered, once.
class Signal {
public:
    bool await_ready() noexcept { return std::exchange(fired_, false); }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
    void await_resume() const noexcept {}

    // Runs the waiter before it returns; the owner of this object may be gone afterwards.
    void fire() {
        if (const auto waiter = std::exchange(waiter_, {}))
            waiter.resume();
        else
            fired_ = true;
    }
    void reset() noexcept { fired_ = false; }

private:
    std::coroutine_handle<> waiter_;
    bool fired_ = false;
};

struct Detached {
    struct promise_type {
        Detached get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
    };
};

// Starts `task` at once and lets it run to its end by itself. It must not throw.
inline Detached spawn(Task<void> task) {
    co_await std::move(task);
}

}  // namespace palimpsest
