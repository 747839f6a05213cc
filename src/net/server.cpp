// The server's threads: one accepts (and serves), the others serve. See http.h.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "net/http.h"
#include "net/listen.h"
#include "net/loop.h"
#include "net/session_list.h"
#include "net/transport.h"

namespace palimpsest {
namespace {

constexpr int accept_pause_ms = 100;
// Per wake-up, so that a flood of connections does not starve those that are open.
constexpr int accept_burst = 64;

// For the last words of services whose grace is over.
constexpr std::chrono::seconds farewell{1};

struct NetThread {
    explicit NetThread(ServerShared& shared) : sessions(shared) {}
    SessionList sessions;
    std::thread thread;
};

}  // namespace

struct HttpServer::Running {
    ServerShared shared;
    std::vector<std::unique_ptr<NetThread>> threads;
    int listener = -1;
    std::unique_ptr<Watch> watch;  // of the listener, on the first thread's loop
    std::size_t next_thread = 0;
    std::mutex stop_mutex;
    bool stopped = false;
    SteadyTime deadline = SteadyTime::max();  // of stop, guarded by shared.mutex

    Loop& accept_loop() { return threads.front()->sessions.loop; }
    void start_threads();
    void join_threads();
    void wait_for_clients();
    void accept_some();
    bool accept_one();
    void close_listener();
    void stop(int grace_ms);
    void say_farewell();
    void wait_until_empty(bool give_up);
};

void HttpServer::Running::start_threads() {
    const auto count = static_cast<std::size_t>(std::max(1, shared.options.network_threads));
    shared.quick = std::make_unique<Workers>(shared.options.quick_threads);
    shared.slow =
        std::make_unique<Workers>(shared.options.slow_threads, shared.options.usual_slow_threads);
    shared.turnstile =
        std::make_unique<Turnstile>(std::max<std::size_t>(1, shared.options.errands_max));
    for (std::size_t i = 0; i < count; ++i) threads.push_back(std::make_unique<NetThread>(shared));
    watch = std::make_unique<Watch>(accept_loop(), listener);
    wait_for_clients();
    for (const auto& thread : threads)
        thread->thread = std::thread([&loop = thread->sessions.loop] { loop.run(); });
}

void HttpServer::Running::wait_for_clients() {
    watch->wait(Readiness::read, [this] { accept_some(); });
}

void HttpServer::Running::accept_some() {
    for (int i = 0; i < accept_burst; ++i) {
        if (!watch) return;
        if (!accept_one()) return;
    }
    wait_for_clients();
}

// False: the next attempt has been arranged.
bool HttpServer::Running::accept_one() {
    Accepted client = accept_from(listener);
    if (client.state == AcceptState::lost) return true;
    if (client.state == AcceptState::none_waiting) {
        wait_for_clients();
        return false;
    }
    if (client.state == AcceptState::out_of_files) {
        // The listener stays readable, so waiting for it would spin.
        threads.front()->sessions.drop_oldest_idle();
        accept_loop().after_ms(accept_pause_ms, [this] { accept_some(); });
        return false;
    }
    auto transport = tcp_transport(client.descriptor);
    SessionList& sessions = threads[next_thread++ % threads.size()]->sessions;
    if (&sessions.loop == &accept_loop())
        sessions.adopt(std::move(transport), std::move(client.peer));
    else
        sessions.loop.post(
            [&sessions, owned = std::move(transport), peer = std::move(client.peer)]() mutable {
                sessions.adopt(std::move(owned), std::move(peer));
            });
    return true;
}

// On the accepting thread. Clients that wait to be accepted have been promised service.
void HttpServer::Running::close_listener() {
    while (true) {
        Accepted client = accept_from(listener);
        if (client.state == AcceptState::lost) continue;
        if (client.state != AcceptState::accepted) break;
        threads.front()->sessions.adopt(tcp_transport(client.descriptor), std::move(client.peer));
    }
    watch.reset();
    ::close(listener);
    for (const auto& thread : threads)
        thread->sessions.loop.post([&sessions = thread->sessions] { sessions.drain(); });
}

void HttpServer::Running::stop(int grace_ms) {
    const auto now = std::chrono::steady_clock::now();
    {
        // A second, less patient call shortens the grace of the first.
        const std::scoped_lock lock(shared.mutex);
        deadline = std::min(deadline, now + std::chrono::milliseconds(grace_ms));
        shared.emptied.notify_all();
    }
    const std::scoped_lock stop_lock(stop_mutex);
    if (stopped || threads.empty()) return;
    stopped = true;
    accept_loop().post([this] { close_listener(); });
    wait_until_empty(true);
    say_farewell();
    for (const auto& thread : threads)
        thread->sessions.loop.post([&sessions = thread->sessions] { sessions.abort(); });
    wait_until_empty(false);
    join_threads();
}

// Services are told to end before their clients are cut off, so that a stream can say why it ends.
void HttpServer::Running::say_farewell() {
    {
        const std::scoped_lock lock(shared.mutex);
        if (shared.sessions == 0) return;
        deadline = std::chrono::steady_clock::now() + farewell;
    }
    for (const auto& thread : threads)
        thread->sessions.loop.post([&sessions = thread->sessions] { sessions.halt(); });
    wait_until_empty(true);
}

void HttpServer::Running::wait_until_empty(bool give_up) {
    std::unique_lock lock(shared.mutex);
    while (shared.draining_threads < threads.size() || shared.sessions > 0) {
        if (!give_up) {
            shared.emptied.wait(lock);
            continue;
        }
        if (std::chrono::steady_clock::now() >= deadline) return;
        shared.emptied.wait_until(lock, deadline);
    }
}

void HttpServer::Running::join_threads() {
    for (const auto& thread : threads) thread->sessions.loop.stop();
    for (const auto& thread : threads)
        if (thread->thread.joinable()) thread->thread.join();
    shared.quick.reset();
    shared.slow.reset();
}

HttpServer::HttpServer(HttpServerOptions options, HttpService service)
    : running_(std::make_unique<Running>()) {
    running_->shared.options = std::move(options);
    running_->shared.service = std::move(service);
}

HttpServer::~HttpServer() {
    stop(0);
}

Result<std::uint16_t> HttpServer::start() {
    const std::scoped_lock lock(running_->stop_mutex);
    if (running_->listener >= 0)
        return fail(ErrorCode::invalid_request, "the server was started before");
    PAL_TRY(listener, listen_on(running_->shared.options.host, running_->shared.options.port));
    running_->listener = listener.descriptor;
    try {
        running_->start_threads();
    } catch (const std::exception& error) {
        running_->join_threads();
        running_->watch.reset();
        running_->threads.clear();
        ::close(running_->listener);
        return fail(ErrorCode::unavailable, std::string("cannot start threads: ") + error.what());
    }
    return listener.port;
}

void HttpServer::stop(int grace_ms) {
    running_->stop(grace_ms);
}

std::size_t HttpServer::connections() const {
    return running_->shared.sessions;
}

void HttpServer::set_limits(const HttpLimits& limits) {
    const std::scoped_lock lock(running_->stop_mutex);
    if (running_->stopped) return;
    for (const auto& thread : running_->threads)
        thread->sessions.loop.post(
            [&sessions = thread->sessions, limits] { sessions.set_limits(limits); });
}

WorkerLoad HttpServer::load(Lane lane) const {
    if (lane == Lane::quick) return running_->shared.quick->load();
    WorkerLoad load = running_->shared.slow->load();
    load.waiting += running_->shared.turnstile->waiting();
    return load;
}

std::size_t HttpServer::errands() const {
    return running_->shared.turnstile->inside();
}

Task<bool> Exchange::send(ServerEvent event) {
    const std::string bytes = write_event(event);
    co_return co_await write(bytes);
}

HttpService on_workers(HttpFunction function, Lane lane) {
    return [function = std::move(function), lane](Exchange& exchange) -> Task<void> {
        auto work = [&] { return function(exchange.request()); };
        HttpResponse response = co_await exchange.run(work, lane);
        exchange.answer(std::move(response));
    };
}

}  // namespace palimpsest
