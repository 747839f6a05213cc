// The part of a session that services see: streams, sleep, workers. See http.h for the contract.
#include <mutex>
#include <utility>

#include "net/session.h"
#include "net/session_list.h"
#include "net/wire.h"

namespace palimpsest {
namespace {

constexpr std::size_t one_write_bytes = 64 * 1024;
constexpr int errand_pause_ms = 50;

}  // namespace

std::string Session::stream_head(const HttpResponse& head) {
    ResponseFraming framing;
    framing.stream = true;
    framing.chunked = head_.request.minor_version == 1;
    framing.keep_alive = head_.keep_alive && framing.chunked && !draining();
    framing.old_client = !framing.chunked;
    head_.keep_alive = framing.keep_alive;
    std::string bytes = write_response_head(head, framing);
    const bool with_body = head_.request.method != "HEAD";
    if (with_body && framing.chunked)
        append_chunk(bytes, head.body);
    else if (with_body)
        bytes += head.body;
    return bytes;
}

Task<bool> Session::start(HttpResponse head) {
    if (started_) co_return false;
    started_ = true;
    const std::string bytes = stream_head(head);
    const bool sent = co_await transmit(bytes);
    const bool open = sent && head_.request.method != "HEAD";
    co_return open;
}

Task<bool> Session::send_piece(std::string_view bytes) {
    if (!started_ || gone() || head_.request.method == "HEAD") co_return false;
    if (bytes.empty()) co_return true;
    if (head_.request.minor_version == 0) co_return co_await transmit(bytes);
    std::string chunk;
    append_chunk(chunk, bytes);
    co_return co_await transmit(chunk);
}

Task<bool> Session::write(std::string_view bytes) {
    co_await flush();
    co_return co_await send_piece(bytes);
}

// Sends or queues, with the lock held; false: nothing more can be sent.
bool Session::push_out(std::string_view bytes) {
    const bool may_write = transport_->is_duplex() || on_network();
    while (!pumping_ && !out_closed_ && !bytes.empty() && may_write) {
        const IoResult result = transport_->write_some(bytes);
        bytes.remove_prefix(result.bytes);
        answering_ = answering_ || result.bytes > 0;
        if (result.state == IoState::failed) out_closed_ = true;
        if (result.state != IoState::done) break;
    }
    if (out_closed_) return false;
    if (bytes.empty()) return true;
    out_ += bytes;
    if (!pumping_) list_.loop.post([this] { spawn(pump()); });
    pumping_ = true;
    return true;
}

// The errand in progress is the one that calls, and is on the network thread.
bool Session::on_network() const {
    return Errand::current() == &errand_ && errand_.on_network();
}

// Until there is room for more bytes, or none can be sent.
void Session::await_room(std::unique_lock<std::mutex>& lock) {
    const auto room = [&] {
        return out_closed_ || out_.size() < list_.shared.options.stream_buffer_bytes;
    };
    if (!on_network()) return out_changed_.wait(lock, room);
    while (!room()) {
        lock.unlock();
        errand_.park_until();
        lock.lock();
    }
}

bool Session::write_from_worker(std::string_view bytes) {
    std::unique_lock lock(out_mutex_);
    await_room(lock);
    if (!started_ || gone() || head_.request.method == "HEAD") return false;
    if (head_.request.minor_version == 0) return push_out(bytes);
    std::string chunk;
    append_chunk(chunk, bytes);
    return push_out(chunk);
}

void Session::start_from_worker(const HttpResponse& head) {
    const std::scoped_lock lock(out_mutex_);
    if (started_) return;
    started_ = true;
    push_out(stream_head(head));
}

void Session::answer_from_worker(const HttpResponse& response) {
    if (on_network()) errand_.give_way();
    const std::scoped_lock lock(out_mutex_);
    answered_ = true;
    std::string bytes = answer_head(response);
    const bool large = response.body.size() > one_write_bytes;  // not copied behind the head
    if (has_body(response) && !large) bytes += response.body;
    push_out(bytes);
    if (has_body(response) && large) push_out(response.body);
}

// Sends what workers wrote until there is nothing left. The session outlives it: the service's
// coroutine ends only after flush().
Task<void> Session::pump() {
    bool sent = true;
    while (true) {
        std::string batch;
        {
            const std::scoped_lock lock(out_mutex_);
            out_closed_ |= !sent;
            if (out_closed_) out_.clear();
            batch.swap(out_);
            pumping_ = !batch.empty();
        }
        out_changed_.notify_all();
        // Later: the errand may end the request, and this must not outlive it.
        list_.loop.post([bell = errand_.bell()] {
            if (*bell) (*bell)->wake();
        });
        if (batch.empty()) break;
        try {
            sent = co_await transmit(batch);
        } catch (...) {
            failed_ = true;
            sent = false;
        }
    }
    pumped_.fire();
}

Task<void> Session::flush() {
    while (true) {
        {
            const std::scoped_lock lock(out_mutex_);
            if (!pumping_) co_return;
        }
        co_await pumped_;
    }
}

Task<bool> Session::sleep_ms(int duration) {
    if (gone() || draining()) co_return false;
    const std::uint64_t number = ++sleeps_;
    slept_.reset();
    list_.loop.after_ms(duration, [self = shared_from_this(), number] {
        if (self->sleeping_ && self->sleeps_ == number) self->slept_.fire();
    });
    sleeping_ = true;
    co_await slept_;
    sleeping_ = false;
    co_return !gone() && !draining();
}

std::stop_token Session::Stopping::token() {
    if (!source) source.emplace();
    if (wanted) source->request_stop();  // New or stopped already: no callback runs.
    return source->get_token();
}

std::stop_token Session::stop_token() const {
    const std::scoped_lock lock(stop_mutex_);
    return stop_.token();
}

std::stop_token Session::halt_token() const {
    const std::scoped_lock lock(stop_mutex_);
    return halt_.token();
}

bool Session::draining() const {
    return list_.draining();
}

bool Session::busy(Lane lane) const {
    const std::size_t most = list_.limits.max_waiting;
    if (lane == Lane::quick) return list_.shared.quick->full(most);
    return list_.shared.turnstile->full(most) ||
           (lane == Lane::slow && list_.shared.slow->full(most));
}

void Session::offload(Lane lane, void (*work)(void*), void* state, std::coroutine_handle<> then) {
    if (lane != Lane::quick) return run_errand(lane, work, state, then);
    list_.shared.quick->add([this, work, state, then] {
        work(state);
        list_.loop.post([then] { then.resume(); });
    });
}

void Session::run_errand(Lane lane, void (*work)(void*), void* state,
                         std::coroutine_handle<> then) {
    auto later = [this, lane, work, state, then] {
        list_.loop.post([this, lane, work, state, then] { retry_errand(lane, work, state, then); });
    };
    if (!list_.shared.turnstile->enter(later)) return;
    try {
        begin_errand(lane, work, state, then);
    } catch (...) {
        list_.shared.turnstile->leave();
        throw;
    }
}

// One that has waited has nobody to tell that there is no memory or no thread for it.
void Session::retry_errand(Lane lane, void (*work)(void*), void* state,
                           std::coroutine_handle<> then) {
    try {
        begin_errand(lane, work, state, then);
    } catch (...) {
        list_.loop.after_ms(errand_pause_ms, [this, lane, work, state, then] {
            retry_errand(lane, work, state, then);
        });
    }
}

void Session::begin_errand(Lane lane, void (*work)(void*), void* state,
                           std::coroutine_handle<> then) {
    const auto home = lane == Lane::network ? Errand::Place::network : Errand::Place::workers;
    auto done = [&turnstile = *list_.shared.turnstile, then] {
        turnstile.leave();
        then.resume();
    };
    errand_.begin([work, state] { work(state); }, home, done);
}

}  // namespace palimpsest
