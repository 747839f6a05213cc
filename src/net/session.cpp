#include "net/session.h"

#include <algorithm>
#include <new>
#include <utility>

#include "net/body.h"
#include "net/session_list.h"
#include "net/wire.h"

namespace palimpsest {
namespace {

constexpr std::size_t max_read_ahead_bytes = 64 * 1024;
constexpr int max_writes_in_a_row = 64;
// A body must grow by this much per time-out, so that single bytes do not keep it alive.
constexpr std::size_t body_progress_bytes = 1024;

// A target that is too long is a bad id, whatever its status.
ErrorCode code_of(int status) {
    if (status == 413 || status == 431) return ErrorCode::too_large;
    if (status == 500) return ErrorCode::internal;
    return status == 503 ? ErrorCode::unavailable : ErrorCode::invalid_request;
}

}  // namespace

Session::Session(SessionList& list, std::unique_ptr<Transport> transport, std::string peer)
    : list_(list),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      errand_(list.loop, *list.shared.slow, list.shared.fibers) {
    watch_ = std::make_unique<Watch>(list_.loop, transport_->descriptor());
}

Task<void> Session::live(std::shared_ptr<Session> self) {
    bool more = true;
    bool out_of_memory = false;
    bool secured = false;
    while (more) {
        try {
            if (!secured) secured = co_await self->secure();
            more = secured;
            if (secured) more = co_await self->serve_one();
        } catch (...) {
            out_of_memory = true;
            more = false;
        }
    }
    // Behind the first bytes of an answer a second one would be read as part of it.
    if (out_of_memory && !self->answering_) {
        const HttpFault fault = {503, "out of memory: try again later"};
        co_await self->turn_away(fault);
    }
    self->end();
}

Task<void> Session::reject(std::shared_ptr<Session> self) {
    const HttpFault fault = {503, "there are too many connections: try again later"};
    bool secured = false;
    try {
        secured = co_await self->secure();
    } catch (...) {
        self->broken_ = true;
    }
    if (secured) co_await self->turn_away(fault);
    self->end();
}

Task<void> Session::turn_away(const HttpFault& fault) {
    try {
        co_await refuse(fault);
    } catch (...) {
        broken_ = true;  // Not even memory for a refusal.
    }
}

void Session::end() {
    watch_.reset();
    transport_.reset();
    list_.remove(*this);
}

// One request from its first byte to its answer. False: the connection is over.
Task<bool> Session::serve_one() {
    std::optional<HttpFault> fault;
    head_ = RequestHead();
    answering_ = false;
    const std::size_t head_bytes = co_await read_head(fault);
    bool complete = head_bytes > 0;
    if (complete) {
        const std::string_view head = std::string_view(in_).substr(0, head_bytes);
        auto parsed = parse_request_head(head);
        if (parsed) {
            head_ = *std::move(parsed);
        } else {
            fault = std::move(parsed).error();
            head_.request.path = requested_path(head);
        }
        in_.erase(0, head_bytes);
        head_.request.peer = peer_;
    }
    if (complete && !fault && list_.shared.options.screen) {
        if (auto refused = list_.shared.options.screen(head_.request)) {
            // What is left of the request is not read, unless there is nothing left.
            head_.keep_alive = head_.keep_alive && head_.framing == BodyFraming::none;
            co_return co_await send_response(*std::move(refused));
        }
    }
    if (complete && !fault) complete = co_await read_body(fault);
    if (fault) {
        co_await refuse(*fault);
        co_return false;
    }
    if (!complete) co_return false;
    co_await call_service();
    if (started_) co_return co_await finish_stream();
    if (answered_) co_return co_await finish_answer();
    if (!response_) response_ = refusal({500, "the service gave no answer"});
    co_return co_await send_response(*std::move(response_));
}

// Bytes of the next head in in_; 0 with a fault, or without one if the connection is over.
Task<std::size_t> Session::read_head(std::optional<HttpFault>& fault) {
    const HttpLimits& options = list_.limits;
    const HeadLimits limits{options.max_head_bytes, options.max_target_bytes, options.max_headers};
    HeadScan scan(limits);
    if (in_.empty()) {
        std::string().swap(in_);
        begin_wait(Wait::idle, options.idle_timeout_ms);
        list_.mark_idle(*this);
        const bool received = co_await receive();
        if (!received) co_return 0;
    }
    list_.mark_busy(*this);
    begin_wait(Wait::head, options.head_timeout_ms);
    while (true) {
        auto end = scan.scan(in_);
        if (!end) {
            fault = std::move(end).error();
            co_return 0;
        }
        if (*end > 0) {
            end_wait();
            co_return *end;
        }
        const bool received = co_await receive();
        if (received) continue;
        if (timed_out_) fault = timeout_fault();
        co_return 0;
    }
}

Task<bool> Session::read_body(std::optional<HttpFault>& fault) {
    const HttpLimits& options = list_.limits;
    BodyReader reader(head_.framing, head_.body_bytes, options.max_body_bytes);
    std::string& body = head_.request.body;
    std::size_t progress = 0;
    bool invited = !head_.expects_continue;
    begin_wait(Wait::body, options.body_timeout_ms);
    while (true) {
        auto taken = reader.take(in_, body);
        if (!taken) {
            fault = std::move(taken).error();
            co_return false;
        }
        if (reader.done()) break;
        if (!invited) {
            invited = true;
            const bool sent = co_await transmit("HTTP/1.1 100 Continue\r\n\r\n");
            if (!sent) co_return false;
        }
        if (body.size() >= progress + body_progress_bytes || wait_ != Wait::body) {
            progress = body.size();
            begin_wait(Wait::body, options.body_timeout_ms);
        }
        const bool received = co_await receive();
        if (received) continue;
        if (timed_out_) fault = timeout_fault();
        co_return false;
    }
    end_wait();
    co_return true;
}

Task<void> Session::call_service() {
    response_.reset();
    started_ = false;
    failed_ = false;
    serving_ = true;
    out_closed_ = false;
    answered_ = false;
    if (const int limit = list_.limits.request_timeout_ms; limit > 0)
        service_deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit);
    read_ahead();
    try {
        co_await list_.shared.service(*this);
    } catch (const std::bad_alloc&) {
        failed_ = true;
        response_ = refusal({503, "out of memory: try a smaller request"});
    } catch (...) {
        failed_ = true;
        response_ = refusal({500, "the request failed by a fault of this server"});
    }
    co_await flush();
    serving_ = false;
    service_deadline_ = SteadyTime::max();
    const std::scoped_lock lock(stop_mutex_);
    stop_ = {.source = {}, .wanted = gone()};
    halt_ = {};
}

Task<bool> Session::finish_stream() {
    // Cut off without its end, so that the client can tell a failed stream from a complete one.
    if (failed_ || broken_) co_return false;
    if (head_.request.minor_version == 0) {
        co_await linger();
        co_return false;
    }
    bool sent = true;
    if (head_.request.method != "HEAD") sent = co_await transmit(last_chunk);
    if (sent && head_.keep_alive && !draining()) co_return true;
    co_await linger();
    co_return false;
}

Task<bool> Session::send_response(HttpResponse response) {
    if (response.status < 200 || response.status > 599)
        response = refusal({500, "the service gave an invalid status"});
    head_.keep_alive = head_.keep_alive && !(eof_ && in_.empty());
    std::string bytes = answer_head(response);
    // A large body is not copied behind the head.
    const bool with_body = has_body(response);
    const bool large = response.body.size() > max_read_ahead_bytes;
    if (with_body && !large) bytes += response.body;
    bool sent = co_await transmit(bytes);
    if (sent && with_body && large) sent = co_await transmit(response.body);
    if (!sent) co_return false;
    co_return co_await finish_answer();
}

// The answer is out. False: the connection is over.
Task<bool> Session::finish_answer() {
    if (broken_) co_return false;
    if (head_.keep_alive) co_return true;
    co_await linger();
    co_return false;
}

bool Session::has_body(const HttpResponse& response) const {
    return head_.request.method != "HEAD" && !is_bodiless(response.status);
}

// Settles whether the connection is kept.
std::string Session::answer_head(const HttpResponse& response) {
    head_.keep_alive = head_.keep_alive && !draining();
    ResponseFraming framing;
    framing.keep_alive = head_.keep_alive;
    framing.old_client = head_.request.minor_version == 0;
    framing.content_bytes = response.body.size();
    return write_response_head(response, framing);
}

Task<void> Session::refuse(const HttpFault& fault) {
    head_.keep_alive = false;
    HttpResponse response = refusal(fault);
    co_await send_response(std::move(response));
}

HttpResponse Session::refusal(const HttpFault& fault) const {
    Error error;
    error.code = code_of(fault.status);
    error.message = fault.message;
    const auto& made = list_.shared.options.refusal;
    return made ? made(fault.status, error, head_.request) : error_response(fault.status, error);
}

// Closing a socket with unread input resets the connection, and the client may lose the answer. So
// end our side first and give the client a moment to read.
Task<void> Session::linger() {
    if (broken_ || eof_) co_return;
    transport_->end_writing();
    list_.mark_idle(*this);
    begin_wait(Wait::linger, list_.limits.linger_timeout_ms);
    bool received = true;
    while (received) {
        in_.clear();
        received = co_await receive();
    }
}

// Whoever holds a token of it is told without the lock: callbacks may ask for more.
void Session::ask_to_stop(Stopping& stopping) {
    std::optional<std::stop_source> source;
    {
        const std::scoped_lock lock(stop_mutex_);
        stopping.wanted = true;
        source = stopping.source;
    }
    if (source) source->request_stop();
}

// Whoever works for this request should end.
void Session::stop_service() {
    ask_to_stop(stop_);
}

// Also who would go on without a client.
void Session::halt_service() {
    ask_to_stop(halt_);
    ask_to_stop(stop_);
}

// The client is gone, for reading or for good.
void Session::tell_gone() {
    stop_service();
    if (sleeping_) slept_.fire();
}

void Session::expire(SteadyTime now) {
    if (now >= service_deadline_) {
        service_deadline_ = SteadyTime::max();
        halt_service();
    }
    errand_.expire(now);
    if (now < deadline_) return;
    deadline_ = SteadyTime::max();
    timed_out_ = true;
    wake();
}

void Session::drain() {
    if (wait_ == Wait::idle) {
        pull();  // A request that has arrived is still served.
        wake();
    } else if (wait_ == Wait::handshake) {
        abort();
    } else if (sleeping_) {
        slept_.fire();
    }
}

void Session::halt() {
    halt_service();
}

void Session::abort() {
    broken_ = true;
    halt_service();
    tell_gone();
    wake();
}

// True when in_ has grown. False: end of input, broken, timed out, or idle while draining.
Task<bool> Session::receive() {
    const std::size_t before = in_.size();
    while (in_.size() == before) {
        const bool over = eof_ || broken_ || timed_out_ || (wait_ == Wait::idle && draining());
        if (over) co_return false;
        watch_input();
        co_await readable_;
    }
    co_return true;
}

// True when the kernel has taken all bytes.
Task<bool> Session::transmit(std::string_view bytes) {
    while (!bytes.empty() && !broken_) {
        const IoResult result = transport_->write_some(bytes);
        bytes.remove_prefix(result.bytes);
        if (result.state == IoState::done) {
            answering_ = true;
            if (++writes_ == max_writes_in_a_row) co_await give_way();
            continue;
        }
        if (result.state == IoState::failed) {
            broken_ = true;
            tell_gone();
            break;
        }
        writes_ = 0;
        begin_wait(Wait::write, list_.limits.write_timeout_ms);
        const auto readiness =
            result.state == IoState::want_read ? Readiness::read : Readiness::write;
        watch_->wait(readiness, [self = shared_from_this()] { self->writable_.fire(); });
        co_await writable_;
        if (timed_out_) {
            broken_ = true;
            tell_gone();
        }
        end_wait();
    }
    co_return !broken_;
}

// A client that reads as fast as we write must not keep the thread from all others.
Task<void> Session::give_way() {
    writes_ = 0;
    list_.loop.post([self = shared_from_this()] { self->yielded_.fire(); });
    co_await yielded_;
}

void Session::begin_wait(Wait wait, int timeout_ms) {
    wait_ = wait;
    timed_out_ = false;
    deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
}

void Session::end_wait() {
    wait_ = Wait::nothing;
    timed_out_ = false;
    deadline_ = SteadyTime::max();
}

void Session::wake() {
    if (wait_ == Wait::write || wait_ == Wait::handshake)
        writable_.fire();
    else if (wait_ != Wait::nothing)
        readable_.fire();
}

void Session::read_ahead() {
    if (in_.size() < max_read_ahead_bytes) watch_input();
}

void Session::watch_input() {
    if (input_watched_ || eof_ || broken_) return;
    input_watched_ = true;
    watch_->wait(Readiness::read, [self = shared_from_this()] {
        self->input_watched_ = false;
        self->pull();
        if (self->serving_)
            self->read_ahead();
        else
            self->readable_.fire();
    });
}

void Session::pull() {
    if (!transport_) return;  // The session has ended; a cancelled wait still calls back.
    const IoResult result = transport_->read_some(list_.scratch);
    if (result.state == IoState::done) in_.append(list_.scratch.data(), result.bytes);
    if (result.state == IoState::closed) eof_ = true;
    if (result.state == IoState::failed) broken_ = true;
    if (gone()) tell_gone();
}

HttpFault Session::timeout_fault() const {
    if (wait_ == Wait::head) return {408, "the head of the request took too long"};
    return {408, "the body of the request took too long"};
}

}  // namespace palimpsest
