// session: one connection of the server, from its first byte to its close, as one coroutine.
//
// Invariants: a session lives on one thread and is touched by no other, except through
// write_from_worker and stop_token. At most one request is in progress. While a service runs, the
// session keeps reading ahead, up to a limit, which is how it learns that the client has gone.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "net/errand.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/parse.h"
#include "net/task.h"
#include "net/transport.h"

namespace palimpsest {

using SteadyTime = std::chrono::steady_clock::time_point;
class SessionList;

class Session final : public Exchange, public std::enable_shared_from_this<Session> {
public:
    Session(SessionList& list, std::unique_ptr<Transport> transport, std::string peer);
    // Serves requests until the connection is over.
    static Task<void> live(std::shared_ptr<Session> self);
    // Answers 503 and ends. Both begin with the handshake, where the server has a certificate.
    static Task<void> reject(std::shared_ptr<Session> self);

    // Called by the list. Each may end the session before it returns.
    void expire(SteadyTime now);
    void drain();
    void halt();  // The service should end; what it still says is sent.
    void abort();

    const HttpRequest& request() const override { return head_.request; }
    std::string take_body() override { return std::move(head_.request.body); }
    void answer(HttpResponse response) override { response_ = std::move(response); }
    Task<bool> start(HttpResponse head) override;
    Task<bool> write(std::string_view bytes) override;
    bool write_from_worker(std::string_view bytes) override;
    void start_from_worker(const HttpResponse& head) override;
    void answer_from_worker(const HttpResponse& response) override;
    Task<bool> sleep_ms(int duration) override;
    bool gone() const override { return eof_ || broken_; }
    bool draining() const override;
    bool busy(Lane lane) const override;
    std::stop_token stop_token() const override;
    std::stop_token halt_token() const override;

private:
    friend class SessionList;
    enum class Wait : std::uint8_t { nothing, handshake, idle, head, body, write, linger };

    void offload(Lane lane, void (*work)(void*), void* state,
                 std::coroutine_handle<> then) override;
    void run_errand(Lane lane, void (*work)(void*), void* state, std::coroutine_handle<> then);
    void retry_errand(Lane lane, void (*work)(void*), void* state, std::coroutine_handle<> then);
    void begin_errand(Lane lane, void (*work)(void*), void* state, std::coroutine_handle<> then);
    bool on_network() const;
    void await_room(std::unique_lock<std::mutex>& lock);

    Task<bool> secure();
    Task<bool> shake_hands();
    Task<bool> ready(Readiness readiness);
    Task<bool> serve_one();
    Task<std::size_t> read_head(std::optional<HttpFault>& fault);
    Task<bool> read_body(std::optional<HttpFault>& fault);
    Task<void> call_service();
    Task<bool> finish_stream();
    Task<bool> send_response(HttpResponse response);
    Task<bool> finish_answer();
    std::string stream_head(const HttpResponse& head);
    std::string answer_head(const HttpResponse& response);
    bool has_body(const HttpResponse& response) const;
    bool push_out(std::string_view bytes);
    Task<void> refuse(const HttpFault& fault);
    Task<void> turn_away(const HttpFault& fault);
    Task<void> linger();
    Task<bool> receive();
    Task<bool> transmit(std::string_view bytes);
    Task<bool> send_piece(std::string_view bytes);
    Task<void> pump();
    Task<void> flush();
    HttpResponse refusal(const HttpFault& fault) const;
    Task<void> give_way();

    void begin_wait(Wait wait, int timeout_ms);
    void end_wait();
    void wake();
    void read_ahead();
    void watch_input();
    void pull();
    struct Stopping {
        std::optional<std::stop_source> source;  // made when asked for
        bool wanted = false;

        std::stop_token token();
    };
    void ask_to_stop(Stopping& stopping);
    void stop_service();
    void halt_service();
    void tell_gone();
    void end();
    HttpFault timeout_fault() const;

    SessionList& list_;
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<Watch> watch_;
    std::string peer_;
    Errand errand_;  // of the request in progress
    std::list<std::shared_ptr<Session>>::iterator place_;
    bool listed_ = false;
    bool listed_idle_ = false;

    std::string in_;  // received and not used yet
    Signal readable_;
    Signal writable_;
    Signal slept_;
    Signal yielded_;
    bool input_watched_ = false;
    std::atomic<bool> eof_ = false;  // these two are read by workers
    std::atomic<bool> broken_ = false;
    Wait wait_ = Wait::nothing;
    bool timed_out_ = false;
    SteadyTime deadline_ = SteadyTime::max();
    SteadyTime service_deadline_ = SteadyTime::max();  // of the request in progress

    RequestHead head_;  // of the request in progress
    std::optional<HttpResponse> response_;
    bool serving_ = false;
    bool answering_ = false;  // the first bytes of an answer are out
    bool started_ = false;
    bool failed_ = false;
    int writes_ = 0;  // since the thread last served others
    bool sleeping_ = false;
    std::uint64_t sleeps_ = 0;
    // What workers have written and the network thread has to send, as it goes over the wire.
    std::mutex out_mutex_;
    std::condition_variable out_changed_;
    std::string out_;
    bool out_closed_ = false;  // nothing more can be sent
    bool pumping_ = false;     // the network thread is at it; while not, the worker may write
    bool answered_ = false;    // by a worker, wholly
    Signal pumped_;
    mutable std::mutex stop_mutex_;  // Guards both.
    mutable Stopping stop_, halt_;
};

}  // namespace palimpsest
