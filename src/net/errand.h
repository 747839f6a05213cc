// errand: work for one request that changes threads on its way: it waits for the network on the
// loop's thread, where waiting costs nobody a thread, and does on workers what may block.
//
// The work is a plain function. What waits (Patience in stream.h, a stream whose client reads
// slowly) parks it; its thread goes on with others meanwhile. So one code serves both kinds of
// callers: who is in no errand waits with its thread.
//
// Invariants: between two of its calls the work may find itself on another thread, so it holds no
// lock across them. On the loop's thread it never blocks. wake() may come without a reason: whoever
// parks looks again.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "net/fiber.h"
#include "net/loop.h"

namespace palimpsest {

class Workers;

class Errand {
public:
    enum class Place : std::uint8_t { network, workers };
    using Time = std::chrono::steady_clock::time_point;
    // For callbacks that may come when the errand is over: null then. Of the loop's thread.
    using Bell = std::shared_ptr<Errand*>;

    Errand(Loop& loop, Workers& workers, FiberPool& fibers);
    ~Errand();  // not while it is under way
    Errand(const Errand&) = delete;
    Errand& operator=(const Errand&) = delete;

    // Of the work that calls; null: it is in no errand.
    static Errand* current();

    // On the loop's thread. Begins at home; `done` is called on the loop's thread, not before
    // begin() has returned. Throws std::bad_alloc or std::system_error: nothing was begun.
    void begin(Fiber::Function work, Place home, Loop::Callback done);
    // On the loop's thread, now and then: ends a park_until() whose time is over.
    void expire(Time now);
    void wake();

    // ---- for the work itself ----
    bool on_network() const { return place_ == Place::network; }
    Place home() const { return home_; }
    void go_to(Place place);
    void go_home() { go_to(home_); }
    // Its home from now on, and goes there.
    void settle(Place home);
    // On a worker: `aside` runs on this thread in place of the work, which goes on on another one
    // as soon as `aside` calls what it is given (from any thread), or else here when it returns.
    using GoOn = std::function<void()>;
    using Aside = std::move_only_function<void(const GoOn& go_on)>;
    void do_aside(Aside aside);
    // Until what `keep` is given is called: once, by any thread, perhaps before keep() returns.
    // Work on a worker goes on in that call, on the thread that makes it.
    void wait_for(std::move_only_function<void(GoOn go_on)> keep);
    // On the loop's thread: until wake(), or about until then.
    void park_until(Time until = Time::max());
    // On the loop's thread: lets those go first who are ready now. What several errands send behind
    // it goes out in a row, which wakes whoever receives it once.
    void give_way();
    const Bell& bell() const { return bell_; }
    Loop& loop() const { return loop_; }

private:
    void step();
    void leave(Loop::Callback then);
    void add_to_workers();

    Loop& loop_;
    Workers& workers_;
    FiberPool& fibers_;
    Bell bell_;
    std::unique_ptr<Fiber> fiber_;  // null: none is under way
    Loop::Callback then_;           // what brings it on, once it has stopped
    Loop::Callback done_;
    Place home_ = Place::workers;
    Place place_ = Place::network;
    bool beginning_ = false;  // of the loop's thread, as are those below
    bool parked_ = false;
    Time until_ = Time::max();
};

// Whether this is work of an errand on the network thread, which must not block.
bool on_network();
// What follows may block: an errand goes to the workers for good. Others stay where they are.
void leave_network();

}  // namespace palimpsest
