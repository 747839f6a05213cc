#include "net/session_list.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace palimpsest {
namespace {

constexpr std::size_t scratch_bytes = 64 * 1024;

// Time-outs are kept to within a quarter of the shortest, at most 250 ms.
int tick_of(const HttpLimits& options) {
    const int shortest =
        std::min({options.head_timeout_ms, options.body_timeout_ms, options.idle_timeout_ms,
                  options.write_timeout_ms, options.linger_timeout_ms});
    return std::clamp(shortest / 4, 5, 250);
}

}  // namespace

SessionList::SessionList(ServerShared& server) : shared(server), scratch(scratch_bytes) {
    set_limits(server.options);
}

// The connections are shared out among the threads.
void SessionList::set_limits(const HttpLimits& given) {
    const int threads = std::max(1, shared.options.network_threads);
    limits = given;
    max_sessions_ =
        std::max<std::size_t>(1, given.max_connections / static_cast<std::size_t>(threads));
    tick_ms_ = tick_of(given);
}

void SessionList::adopt(std::unique_ptr<Transport> transport, std::string peer) {
    std::shared_ptr<Session> session;
    try {
        make_room();
        const bool room = idle_.size() + busy_.size() < max_sessions_;
        start_ticking();
        session = std::make_shared<Session>(*this, std::move(transport), std::move(peer));
        session->place_ = busy_.insert(busy_.end(), session);
        session->listed_ = true;
        ++shared.sessions;
        spawn(room ? Session::live(session) : Session::reject(session));
    } catch (...) {
        // No memory. A session whose coroutine has started does not throw, so it has not.
        if (session && session->listed_) session->end();
    }
}

void SessionList::make_room() {
    while (idle_.size() + busy_.size() >= max_sessions_)
        if (!drop_oldest_idle()) return;
}

void SessionList::start_ticking() {
    if (ticking_) return;
    loop.after_ms(tick_ms_, [this] { tick(); });
    ticking_ = true;
}

bool SessionList::drop_oldest_idle() {
    if (idle_.empty()) return false;
    const std::shared_ptr<Session> oldest = idle_.front();
    oldest->abort();
    return true;
}

void SessionList::drain() {
    draining_ = true;
    for (const auto& session : all()) session->drain();
    const std::scoped_lock lock(shared.mutex);
    ++shared.draining_threads;
    shared.emptied.notify_all();
}

void SessionList::halt() {
    for (const auto& session : all()) session->halt();
}

void SessionList::abort() {
    draining_ = true;
    for (const auto& session : all()) session->abort();
}

void SessionList::mark_idle(Session& session) {
    Sessions& from = session.listed_idle_ ? idle_ : busy_;
    idle_.splice(idle_.end(), from, session.place_);
    session.listed_idle_ = true;
}

void SessionList::mark_busy(Session& session) {
    if (!session.listed_idle_) return;
    busy_.splice(busy_.end(), idle_, session.place_);
    session.listed_idle_ = false;
}

void SessionList::remove(Session& session) {
    (session.listed_idle_ ? idle_ : busy_).erase(session.place_);
    --shared.sessions;
    if (!draining_) return;
    const std::scoped_lock lock(shared.mutex);
    shared.emptied.notify_all();
}

void SessionList::tick() {
    const SteadyTime now = std::chrono::steady_clock::now();
    for (const auto& session : all()) session->expire(now);
    shared.slow->relieve(now, std::chrono::milliseconds(tick_ms_ - tick_ms_ / 8));
    ticking_ = false;
    if (!idle_.empty() || !busy_.empty()) start_ticking();
}

// A copy, because a session may leave its list while it is visited.
std::vector<std::shared_ptr<Session>> SessionList::all() const {
    std::vector<std::shared_ptr<Session>> sessions(idle_.begin(), idle_.end());
    sessions.insert(sessions.end(), busy_.begin(), busy_.end());
    return sessions;
}

}  // namespace palimpsest
