#include "net/errand.h"

#include <algorithm>
#include <utility>

#include "net/workers.h"

namespace palimpsest {
namespace {

// Shorter waits have a timer of their own; longer ones are seen to by expire(), because a timer
// outlives a wait that ends early, and there are many of those.
constexpr auto timer_below = std::chrono::seconds(1);

thread_local Errand* current_errand = nullptr;

}  // namespace

// Not inlined: a function that changes threads must not keep the address of the old one's variable.
[[gnu::noinline]] Errand* Errand::current() {
    return current_errand;
}

Errand::Errand(Loop& loop, Workers& workers, FiberPool& fibers)
    : loop_(loop), workers_(workers), fibers_(fibers), bell_(std::make_shared<Errand*>(this)) {}

Errand::~Errand() {
    *bell_ = nullptr;
}

void Errand::begin(Fiber::Function work, Place home, Loop::Callback done) {
    fiber_ = fibers_.take();
    fiber_->load(std::move(work));
    done_ = std::move(done);
    home_ = place_ = home;
    if (home == Place::network) {
        beginning_ = true;
        step();
        beginning_ = false;
        return;
    }
    try {
        workers_.add([this] { step(); });
    } catch (...) {
        fiber_.reset();
        throw;
    }
}

// Runs the work on this thread until it leaves it. Behind the calls of then and done nothing is
// touched: the work may be on another thread already, or over and this gone.
void Errand::step() {
    Errand* const outer = std::exchange(current_errand, this);
    fiber_->resume();
    current_errand = outer;
    if (!fiber_->ended()) {
        Loop::Callback then = std::exchange(then_, nullptr);
        if (then) then();
        return;
    }
    fibers_.give(std::move(fiber_));
    Loop::Callback done = std::move(done_);
    if (place_ == Place::network && !beginning_)
        done();
    else
        loop_.post(std::move(done));
}

void Errand::leave(Loop::Callback then) {
    then_ = std::move(then);
    fiber_->stop();
}

void Errand::go_to(Place place) {
    if (place_ == place) return;
    place_ = place;
    if (place == Place::workers)
        leave([this] { add_to_workers(); });
    else
        leave([this] { loop_.post([this] { step(); }); });
}

// Where no thread can be had it goes on where it is: late is better than never.
void Errand::add_to_workers() {
    try {
        workers_.add([this] { step(); });
    } catch (...) {
        loop_.post([this] { step(); });
    }
}

void Errand::settle(Place home) {
    home_ = home;
    go_home();
}

void Errand::do_aside(Aside aside) {
    leave([this, aside = std::move(aside)]() mutable {
        bool gone = false;
        aside([&] {
            gone = true;
            add_to_workers();
        });
        // Where it has gone on, this may be over by now.
        if (!gone) step();
    });
}

void Errand::wait_for(std::move_only_function<void(GoOn)> keep) {
    leave([this, keep = std::move(keep)]() mutable {
        keep([this] {
            if (place_ == Place::workers)
                step();
            else
                loop_.post([this] { step(); });
        });
    });
}

void Errand::park_until(Time until) {
    until_ = until;
    const Time now = until == Time::max() ? until : std::chrono::steady_clock::now();
    if (until != Time::max() && until - now < timer_below) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        loop_.after_ms(static_cast<int>(std::max<std::int64_t>(left.count(), 0)), [bell = bell_] {
            if (*bell) (*bell)->wake();
        });
    }
    parked_ = true;
    leave(nullptr);
}

void Errand::give_way() {
    loop_.post_last([bell = bell_] {
        if (*bell) (*bell)->wake();
    });
    park_until();
}

void Errand::wake() {
    if (!std::exchange(parked_, false)) return;
    step();
}

void Errand::expire(Time now) {
    if (parked_ && now >= until_) wake();
}

bool on_network() {
    const Errand* const errand = Errand::current();
    return errand && errand->on_network();
}

void leave_network() {
    if (Errand* const errand = Errand::current()) errand->settle(Errand::Place::workers);
}

}  // namespace palimpsest
