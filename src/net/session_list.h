// session_list: the sessions of one network thread, its loop, its limits and its clock.
//
// Invariants: all of it belongs to that thread, except loop.post and the atomic counters. Sessions
// are in one of two lists, idle ones ordered by the time since when, so that making room and
// finding what is due never needs a timer per connection.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/http.h"
#include "net/loop.h"
#include "net/session.h"
#include "net/transport.h"
#include "net/turnstile.h"
#include "net/workers.h"

namespace palimpsest {

// What a server's threads share: set before they start, or atomic.
struct ServerShared {
    HttpServerOptions options;
    HttpService service;
    std::unique_ptr<Workers> quick;
    std::unique_ptr<Workers> slow;
    std::unique_ptr<Turnstile> turnstile;  // of errands
    FiberPool fibers;
    std::atomic<std::size_t> sessions = 0;
    // For stop(), which waits until every thread drains and no session is left.
    std::mutex mutex;
    std::condition_variable emptied;
    std::size_t draining_threads = 0;
};

// One network thread's loop and sessions. All but `loop.post` belongs to that thread.
class SessionList {
public:
    explicit SessionList(ServerShared& shared);

    // Serves a new connection. Does not throw: what cannot be served is closed.
    void adopt(std::unique_ptr<Transport> transport, std::string peer);
    // Closes the session that has been idle for longest, if there is one.
    bool drop_oldest_idle();
    void drain();
    void halt();
    void abort();
    bool draining() const { return draining_; }  // from any thread

    void mark_idle(Session& session);
    void mark_busy(Session& session);
    void remove(Session& session);

    void set_limits(const HttpLimits& given);

    ServerShared& shared;
    HttpLimits limits;  // of the server; read and replaced on this thread
    Loop loop;
    std::vector<char> scratch;  // what one read can take; shared because reads do not overlap

private:
    using Sessions = std::list<std::shared_ptr<Session>>;
    void make_room();
    void start_ticking();
    void tick();
    std::vector<std::shared_ptr<Session>> all() const;

    std::size_t max_sessions_ = 1;
    int tick_ms_ = 1;
    bool ticking_ = false;
    std::atomic<bool> draining_ = false;
    Sessions idle_;  // oldest first
    Sessions busy_;
};

}  // namespace palimpsest
