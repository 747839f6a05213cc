// http: the HTTP server as the rest of the product sees it. No third-party header.
//
// A service is one coroutine per request. It runs on a network thread and must never block there:
// blocking work goes to the workers through Exchange::run, and work that waits for other servers is
// an errand (errand.h), which holds no thread while it waits. A plain function of a request becomes
// a service through on_workers, and then runs wholly on a worker.
//
//     Task<void> list(Exchange& exchange) {
//         auto work = [&] { return store.list(); };       // named first: g++ 12
//         const auto names = co_await exchange.run(work);
//         exchange.answer(json_response(200, to_json(names)));
//     }
//
// Invariants: every request that was read completely is given to the service exactly once and is
// answered exactly once; requests of one connection are served in order, one at a time; what is not
// valid HTTP/1.x is answered 4xx and the connection is closed without reading on.
#pragma once
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>

#include "net/message.h"
#include "net/task.h"
#include "palimpsest/error.h"

namespace palimpsest {

// One server-sent event. Not an aggregate, see message.h.
struct ServerEvent {
    explicit ServerEvent(std::string data_text, std::string event_name = {},
                         std::string id_text = {})
        : data(std::move(data_text)), event(std::move(event_name)), id(std::move(id_text)) {}
    std::string data;   // may hold newlines: one data line each
    std::string event;  // empty: no such line
    std::string id;     // empty: no such line
};

// The bytes of an event. CR cannot end a line early: "\r\n" and "\r" become "\n".
std::string write_event(const ServerEvent& event);
// ": text" — keeps a quiet stream alive; clients ignore it.
std::string write_event_comment(std::string_view text);
// The head of an event stream: 200, text/event-stream, no-cache.
HttpResponse event_stream();

// Quick work (store calls) and slow work (model calls, streams) have their own threads, so that
// waiting for a model never delays a store call. Slow work is an errand. One on the lane `network`
// begins on the network thread: what may block there calls leave_network() first.
enum class Lane : std::uint8_t { quick, slow, network };

template <class F>
class [[nodiscard]] WorkerRun;
class TlsIdentity;  // tls.h

// One request and its answer. All of it belongs to the network thread that runs the service, except
// write_from_worker, stop_token and halt_token. It lives until the service's coroutine has ended.
class Exchange {
public:
    virtual const HttpRequest& request() const = 0;
    // Moves the body out of the request, which may be large.
    virtual std::string take_body() = 0;

    // The answer, sent when the service returns. The last one counts; after start() it is ignored.
    virtual void answer(HttpResponse response) = 0;

    // Begins a streamed answer: `head` without a length, its body (if any) as the first bytes. The
    // stream ends well when the service returns, and is cut when the service throws (which a client
    // of HTTP/1.0 cannot tell from an end).
    virtual Task<bool> start(HttpResponse head) = 0;
    // Completes when the kernel has taken all bytes: a slow reader slows the caller down. False:
    // the client has gone or reads too slowly, nothing more can be sent. `bytes` must live until
    // then.
    virtual Task<bool> write(std::string_view bytes) = 0;
    Task<bool> send(ServerEvent event);
    // The same for a worker, only from inside run(). What the kernel takes at once is sent from
    // there, the rest is queued: the worker waits only while `stream_buffer_bytes` are unsent, so
    // slow readers hold up no one else; an errand on the network thread parks meanwhile. Whether
    // the client has gone may show in a later call only.
    virtual bool write_from_worker(std::string_view bytes) = 0;
    // start() for a worker, only from inside run() and before it writes: so a service can wait for
    // the first bytes before it decides between a stream and a plain answer.
    virtual void start_from_worker(const HttpResponse& head) = 0;
    // answer() for a worker, as the last thing inside run(): it saves the way through the network
    // thread. What answer() says later is ignored.
    virtual void answer_from_worker(const HttpResponse& response) = 0;

    // Waits; false (early) when the client has gone or the server is draining.
    virtual Task<bool> sleep_ms(int duration) = 0;
    // The client has closed its side or the connection is broken. A plain answer is tried still.
    virtual bool gone() const = 0;
    // The server is stopping: endless streams should end now.
    virtual bool draining() const = 0;
    // All threads of a lane work, or all errands that may are under way, and too many wait for
    // them: better refuse than queue.
    virtual bool busy(Lane lane) const = 0;
    // Stops when the client has gone, the time for the request is over, or the grace of stop() has
    // run out. From any thread; callbacks run on the network thread and must be short.
    virtual std::stop_token stop_token() const = 0;
    // The same, but for the client: whoever goes on without one ends by this.
    virtual std::stop_token halt_token() const = 0;

    // co_await run(fn): fn() on a worker, its result (or exception) here. `fn` is a named object
    // that lives until then; a temporary does not compile (g++ 12 would destroy its captures
    // twice).
    template <class F>
    WorkerRun<F> run(F& fn, Lane lane = Lane::quick) {
        return WorkerRun<F>(*this, fn, lane);
    }
    template <class F>
    void run(const F&& fn, Lane lane = Lane::quick) = delete;

protected:
    ~Exchange() = default;

private:
    template <class F>
    friend class WorkerRun;
    // Runs work(state) on a worker, then resumes `then` on the network thread.
    virtual void offload(Lane lane, void (*work)(void*), void* state,
                         std::coroutine_handle<> then) = 0;
};

template <class F>
class [[nodiscard]] WorkerRun {
public:
    using T = std::invoke_result_t<F&>;

    WorkerRun(Exchange& exchange, F& fn, Lane lane) : exchange_(exchange), fn_(fn), lane_(lane) {}
    WorkerRun(const WorkerRun&) = delete;
    WorkerRun& operator=(const WorkerRun&) = delete;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
        exchange_.offload(lane_, &WorkerRun::work, this, waiter);
    }
    T await_resume() {
        if (error_) std::rethrow_exception(error_);
        if constexpr (!std::is_void_v<T>) return std::move(*value_);
    }

private:
    static void work(void* state) {
        auto& self = *static_cast<WorkerRun*>(state);
        try {
            if constexpr (std::is_void_v<T>)
                self.fn_();
            else
                self.value_.emplace(self.fn_());
        } catch (...) {
            self.error_ = std::current_exception();
        }
    }
    struct Nothing {};

    Exchange& exchange_;
    F& fn_;
    Lane lane_;
    std::optional<std::conditional_t<std::is_void_v<T>, Nothing, T>> value_;
    std::exception_ptr error_;
};

// What throws becomes 500 `internal`, std::bad_alloc 503 `unavailable`; the server lives on.
using HttpService = std::function<Task<void>(Exchange&)>;
using HttpFunction = std::function<HttpResponse(const HttpRequest&)>;
// `function` is called from many workers at once.
HttpService on_workers(HttpFunction function, Lane lane = Lane::quick);

// What a server takes of its clients; can be replaced while it runs.
struct HttpLimits {
    std::size_t max_head_bytes = 64 * 1024;         // else 431
    std::size_t max_target_bytes = 32 * 1024;       // else 414
    std::size_t max_headers = 100;                  // else 431
    std::size_t max_body_bytes = 64 * 1024 * 1024;  // else 413, before the body is read
    std::size_t max_connections = 10000;            // idle ones make room, else 503
    std::size_t max_waiting = SIZE_MAX;             // jobs of a lane, see Exchange::busy

    int head_timeout_ms = 10'000;   // from the first byte of a request to its empty line
    int body_timeout_ms = 30'000;   // for every further KiB of a body
    int idle_timeout_ms = 75'000;   // between requests
    int write_timeout_ms = 30'000;  // the kernel takes no byte because the client reads none
    int linger_timeout_ms = 1'000;  // for the client to read a refusal before the socket closes
    int request_timeout_ms = 0;     // of a service: then its stop_token stops; 0: no limit
};

struct HttpServerOptions : HttpLimits {
    std::string host = "127.0.0.1";  // an address, not a name
    std::uint16_t port = 0;          // 0: any free port
    int network_threads = 1;
    int quick_threads = 4;                          // workers, started when needed
    int slow_threads = 4096;                        // the same, for Lane::slow
    int usual_slow_threads = 64;                    // more only when all of these are stuck
    std::size_t errands_max = 4096;                 // at once; more wait
    std::size_t stream_buffer_bytes = 1024 * 1024;  // unsent bytes of one stream, see above
    std::shared_ptr<const TlsIdentity> tls = {};    // with it HTTPS is spoken, and nothing else

    // Called on the network thread between head and body (which is empty then), so that a stranger
    // is refused before 64 MiB were read: Host list, key. Must be quick. Nothing: go on.
    std::function<std::optional<HttpResponse>(const HttpRequest&)> screen = {};
    // Makes each answer that the server itself gives (to what is not HTTP, too large, too slow), on
    // any network thread. Of the request is there what was understood. Nothing: error_response.
    std::function<HttpResponse(int status, const Error&, const HttpRequest&)> refusal = {};
};

// What the workers of a lane have to do.
struct WorkerLoad {
    std::size_t waiting = 0;  // jobs without a thread, errands without a place
    std::size_t threads = 0;  // started
    std::size_t busy = 0;     // of them
};

// start once, stop as often as wanted, from any thread (not from a service).
class HttpServer {
public:
    HttpServer(HttpServerOptions options, HttpService service);
    ~HttpServer();  // stop(0)
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // The port. Fails with `unavailable` if the address is taken or not ours.
    Result<std::uint16_t> start();
    // No new connections; running requests finish within the grace. Those that do not are halted,
    // have a second for their last words, and are cut. Returns when no service and no worker runs
    // any more: a worker that blocks holds it up. A second call with less grace hurries the first.
    void stop(int grace_ms);

    // For requests from now on; from any thread.
    void set_limits(const HttpLimits& limits);

    std::size_t connections() const;
    WorkerLoad load(Lane lane) const;
    std::size_t errands() const;  // under way

private:
    struct Running;
    std::unique_ptr<Running> running_;
};

}  // namespace palimpsest
