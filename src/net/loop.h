// loop: one event loop of one thread, and the readiness of sockets on it. Hides Asio, which only
// loop.cpp includes.
//
// Invariants: callbacks run on the thread that is inside run(), one at a time; post is the only
// call that other threads may make. Sockets are read and written without blocking by their owner
// (transport.h), so no buffer is ever lent to the loop.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

namespace palimpsest {

class Loop {
public:
    using Callback = std::move_only_function<void()>;

    Loop();
    ~Loop();  // pending callbacks are destroyed, not called
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void run();  // until stop
    void stop();
    void post(Callback callback);
    void after_ms(int delay, Callback callback);

private:
    friend class Watch;
    struct Engine;
    std::unique_ptr<Engine> engine_;
};

enum class Readiness : std::uint8_t { read, write };

// Tells when a descriptor can be read or written. Does not own the descriptor, which must outlive
// it.
class Watch {
public:
    Watch(Loop& loop, int descriptor);
    ~Watch();  // pending callbacks are called later, as after cancel
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Calls back once, later, also when the watch is cancelled meanwhile. At most one wait per
    // direction at a time.
    void wait(Readiness readiness, Loop::Callback callback);
    void cancel();

private:
    struct Descriptor;
    std::unique_ptr<Descriptor> descriptor_;
};

}  // namespace palimpsest
