#include "net/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace palimpsest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t events_at_once = 256;

int checked(int descriptor) {
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "event loop");
    return descriptor;
}

struct Descriptor {
    explicit Descriptor(int opened) : number(checked(opened)) {}
    ~Descriptor() { ::close(number); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    const int number;
};

void call(Loop::Callback callback) {
    try {
        callback();
    } catch (...) {
        // Only a lack of memory gets here. The one callback is lost (time-outs end its
        // connection), the loop goes on.
    }
}

}  // namespace

// A watched descriptor. The kernel tells of it as long as there is something to tell, so a wait
// costs no call of the kernel while the one before it is still registered; what nobody waits for is
// taken back when it comes.
struct Loop::Place {
    explicit Place(int watched) : descriptor(watched) {}
    const int descriptor;
    std::uint32_t registered = 0;          // guarded by the engine's lock
    bool gone = false;                     // the same
    std::array<Callback, 2> waiting = {};  // the same; by Readiness

    Callback& waiter(Readiness readiness) { return waiting[static_cast<std::size_t>(readiness)]; }
    void add(Readiness readiness, Callback callback) {
        Callback& all = waiter(readiness);
        if (all)
            callback = [first = std::move(all), then = std::move(callback)]() mutable {
                first();
                then();
            };
        all = std::move(callback);
    }
    std::uint32_t wanted() const {
        return (waiting[0] ? EPOLLIN : 0U) | (waiting[1] ? EPOLLOUT : 0U);
    }
};

struct Loop::Engine {
    const Descriptor epoll{::epoll_create1(EPOLL_CLOEXEC)};
    // Watched by its edge: it is never read, and each write to it wakes the loop.
    const Descriptor alarm{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::atomic<bool> stopped = false;
    std::atomic<bool> asleep = false;
    std::atomic<std::thread::id> thread = {};  // that runs it; none: nobody does
    // Of that thread: when what, and what it posted itself.
    std::multimap<Clock::time_point, Callback> timers;
    std::vector<Callback> later;
    std::vector<Callback> last;

    std::mutex mutex;  // guards all below
    bool closed = false;
    std::vector<Callback> posted;  // by other threads
    std::set<Place*> places;
    std::vector<std::unique_ptr<Place>> left;  // which the loop's thread may still look at

    Engine();
    void post(Callback callback);
    void wake();
    void run_timers();
    int sleep_ms(bool idle);
    void run_posted();
    void turn();
    void dispatch(Place& place, std::uint32_t events);
    bool register_for(Place& place, std::uint32_t events);
    void take_back(Place& place, std::uint32_t events);
    void leave(std::unique_ptr<Place> place);
    void close();
};

Loop::Engine::Engine() {
    epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.ptr = nullptr}};
    checked(::epoll_ctl(epoll.number, EPOLL_CTL_ADD, alarm.number, &event));
}

void Loop::Engine::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(alarm.number, &one, sizeof one);
}

void Loop::Engine::post(Callback callback) {
    if (thread.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
        later.push_back(std::move(callback));
        return;
    }
    {
        const std::scoped_lock lock(mutex);
        if (closed) return;
        posted.push_back(std::move(callback));
    }
    if (asleep.exchange(false)) wake();
}

void Loop::Engine::run_timers() {
    if (timers.empty()) return;
    const Clock::time_point now = Clock::now();
    while (!timers.empty() && timers.begin()->first <= now) {
        Callback due = std::move(timers.begin()->second);
        timers.erase(timers.begin());
        call(std::move(due));
    }
}

// How long nothing is to be done. Whoever posts from now on wakes the loop.
int Loop::Engine::sleep_ms(bool idle) {
    int longest = idle ? -1 : 0;
    if (idle && !timers.empty()) {
        const auto left_ms =
            std::chrono::ceil<std::chrono::milliseconds>(timers.begin()->first - Clock::now());
        longest = static_cast<int>(
            std::clamp<std::int64_t>(left_ms.count(), 0, std::numeric_limits<int>::max()));
    }
    std::vector<std::unique_ptr<Place>> forgotten;
    const std::scoped_lock lock(mutex);
    forgotten.swap(left);
    if (!posted.empty() || stopped) return 0;
    asleep = longest != 0;
    return longest;
}

void Loop::Engine::run_posted() {
    std::vector<Callback> batch;
    {
        const std::scoped_lock lock(mutex);
        batch.swap(posted);
    }
    for (Callback& callback : batch) call(std::move(callback));
}

// What others have posted comes before what got ready: it may be what a client that comes then was
// promised. What this thread has posted comes behind it: so it gives way. What is posted while the
// last ones are called has the next turn, or they could keep it for themselves.
void Loop::Engine::turn() {
    std::array<epoll_event, events_at_once> events;
    std::vector<Callback> own = std::exchange(later, {});
    const int longest = sleep_ms(own.empty() && last.empty());
    const int count = ::epoll_wait(epoll.number, events.data(), events.size(), longest);
    asleep = false;
    run_posted();
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.ptr != nullptr) dispatch(*static_cast<Place*>(event.data.ptr), event.events);
    }
    for (Callback& callback : own) call(std::move(callback));
    std::vector<Callback> ending = std::exchange(last, {});
    for (Callback& callback : ending) call(std::move(callback));
    run_timers();
}

void Loop::Engine::dispatch(Place& place, std::uint32_t events) {
    const bool broken = (events & (EPOLLHUP | EPOLLERR)) != 0;
    const bool readable = broken || (events & EPOLLIN) != 0;
    const bool writable = broken || (events & EPOLLOUT) != 0;
    Callback read, write;
    {
        const std::scoped_lock lock(mutex);
        if (place.gone) return;
        if (readable) read = std::exchange(place.waiter(Readiness::read), nullptr);
        if (writable) write = std::exchange(place.waiter(Readiness::write), nullptr);
        std::uint32_t unwanted = 0;
        if (!read) unwanted |= events & EPOLLIN;
        if (!write) unwanted |= events & EPOLLOUT;
        // A broken one is told of whatever is registered.
        if (broken && !read && !write) unwanted |= EPOLLIN | EPOLLOUT;
        if (unwanted != 0) take_back(place, unwanted);
    }
    if (read) call(std::move(read));
    if (write) call(std::move(write));
}

// With the lock held. False: see errno.
bool Loop::Engine::register_for(Place& place, std::uint32_t events) {
    if (events == place.registered) return true;
    epoll_event event = {.events = events, .data = {.ptr = &place}};
    int verb = place.registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (events == 0) verb = EPOLL_CTL_DEL;
    if (::epoll_ctl(epoll.number, verb, place.descriptor, &event) != 0 && events != 0) return false;
    place.registered = events;
    return true;
}

// With the lock held.
void Loop::Engine::take_back(Place& place, std::uint32_t events) {
    if (!register_for(place, place.registered & ~events)) register_for(place, 0);
}

// From any thread, where nobody waits for it.
void Loop::Engine::leave(std::unique_ptr<Place> place) {
    const std::scoped_lock lock(mutex);
    register_for(*place, 0);
    place->gone = true;
    places.erase(place.get());
    if (!closed) left.push_back(std::move(place));
}

// The callbacks may hold watches, or each other's, so they go last and without the lock.
void Loop::Engine::close() {
    std::vector<Callback> dropped;
    std::multimap<Clock::time_point, Callback> due;
    std::vector<std::unique_ptr<Place>> forgotten;
    const std::scoped_lock lock(mutex);
    closed = true;
    dropped.swap(posted);
    for (std::vector<Callback>* const own : {&later, &last})
        for (Callback& callback : std::exchange(*own, {})) dropped.push_back(std::move(callback));
    due.swap(timers);
    forgotten.swap(left);
    for (Place* const place : places)
        for (Callback& callback : place->waiting)
            if (callback) dropped.push_back(std::exchange(callback, nullptr));
}

Loop::Loop() : engine_(std::make_shared<Engine>()) {}

Loop::~Loop() {
    engine_->close();
}

void Loop::run() {
    engine_->thread = std::this_thread::get_id();
    while (!engine_->stopped) engine_->turn();
    engine_->thread = std::thread::id();
}

void Loop::stop() {
    engine_->stopped = true;
    engine_->wake();
}

void Loop::post(Callback callback) {
    engine_->post(std::move(callback));
}

void Loop::post_last(Callback callback) {
    engine_->last.push_back(std::move(callback));
}

void Loop::after_ms(int delay, Callback callback) {
    engine_->timers.emplace(Clock::now() + std::chrono::milliseconds(delay), std::move(callback));
}

Watch::Watch(Loop& loop, int descriptor)
    : engine_(loop.engine_), place_(std::make_unique<Loop::Place>(descriptor)) {
    const std::scoped_lock lock(engine_->mutex);
    engine_->places.insert(place_.get());
}

Watch::~Watch() {
    cancel();
    engine_->leave(std::move(place_));
}

void Watch::wait(Readiness readiness, Loop::Callback callback) {
    const std::scoped_lock lock(engine_->mutex);
    Loop::Place& place = *place_;
    place.add(readiness, std::move(callback));
    const std::uint32_t wanted = place.wanted();
    // Reading is likely to be waited for again; a socket can nearly always be written.
    const std::uint32_t kept = wanted | (place.registered & EPOLLIN);
    if ((wanted & ~place.registered) == 0 || engine_->register_for(place, kept)) return;
    const int error = errno;
    place.waiter(readiness) = nullptr;
    throw std::system_error(error, std::generic_category(), "cannot watch a socket");
}

void Watch::cancel() {
    std::array<Loop::Callback, 2> cancelled;
    {
        const std::scoped_lock lock(engine_->mutex);
        cancelled.swap(place_->waiting);
    }
    for (Loop::Callback& waiting : cancelled)
        if (waiting) engine_->post(std::move(waiting));
}

}  // namespace palimpsest
