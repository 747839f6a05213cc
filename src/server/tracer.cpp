#include "server/tracer.h"

#include <algorithm>

#include "base/clock.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr int attempts_max = 4;
constexpr auto first_wait = std::chrono::milliseconds(500);
constexpr auto last_chance = std::chrono::seconds(1);  // for what waits when the server ends
constexpr std::string_view traces_path = "/v1/traces";

std::string hex64(std::uint64_t number) {
    return fmt::format("{:016x}", number);
}

// An id of zeros means none.
std::uint64_t random_id() {
    return random_u64() | 1U;
}

HttpClientOptions client_options() {
    HttpClientOptions options;
    options.connect_timeout_ms = 2'000;
    options.first_byte_timeout_ms = 10'000;
    options.idle_timeout_ms = 10'000;
    options.total_timeout_ms = 10'000;
    options.max_body_bytes = std::size_t{1} << 20;
    return options;
}

// As OTLP has it: the collector is busy, or something between is.
bool may_come_again(int status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

// False: it was stopped.
bool wait_for(const std::stop_token& stop, std::chrono::milliseconds time) {
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    woken.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
}

}  // namespace

Result<std::shared_ptr<Tracer>> Tracer::start(TraceOptions options) {
    auto url = parse_url(options.endpoint);
    if (!url)
        return fail(ErrorCode::invalid_request,
                    "the collector's address must be a URL as http://localhost:4318: " +
                        url.error().message,
                    "otlp_endpoint");
    while (url->path.ends_with('/')) url->path.pop_back();
    if (url->path.ends_with(traces_path)) url->path.resize(url->path.size() - traces_path.size());
    return std::shared_ptr<Tracer>(new Tracer(std::move(options), *std::move(url)));
}

Tracer::Tracer(TraceOptions options, Url url)
    : options_(std::move(options)),
      client_(std::move(url), client_options()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Tracer::~Tracer() {
    thread_.request_stop();
    {
        std::unique_lock lock(mutex_);
        woken_.wait_for(lock, last_chance, [this] { return done_; });
    }
    hurry_.request_stop();
}

void Tracer::take(SpanRecord span) {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= options_.queue_max) {
        ++dropped_;
        return;
    }
    queue_.push_back(std::move(span));
    if (queue_.size() == options_.batch_max) woken_.notify_all();
}

// By the trace's id, so that every server decides alike.
bool Tracer::samples(std::string_view trace_id) const {
    if (options_.share >= 1) return true;
    const std::string low(trace_id.substr(std::max<std::size_t>(trace_id.size(), 13) - 13));
    constexpr double whole = 4503599627370496.0;  // 16^13
    return static_cast<double>(std::stoull("0" + low, nullptr, 16)) < options_.share * whole;
}

std::vector<SpanRecord> Tracer::next_batch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, stop, options_.between,
                    [this] { return queue_.size() >= options_.batch_max; });
    const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), options_.batch_max));
    std::vector<SpanRecord> batch(std::make_move_iterator(queue_.begin()),
                                  std::make_move_iterator(queue_.begin() + count));
    queue_.erase(queue_.begin(), queue_.begin() + count);
    return batch;
}

// `again`: another try may help.
bool Tracer::send_once(const std::string& body, bool& again) {
    HttpRequest request = make_request("POST", std::string(traces_path), body, "application/json");
    for (const auto& [name, value] : options_.headers) request.headers.set(name, value);
    const auto answer = client_.send(request, hurry_.get_token());
    again = !answer || may_come_again(answer->status);
    return answer && answer->status >= 200 && answer->status < 300;
}

// When the server ends, once must do.
bool Tracer::send(const std::vector<SpanRecord>& batch, const std::stop_token& stop) {
    const std::string body = write_otlp(batch, options_.service);
    auto wait = first_wait;
    for (int attempt = 1;; ++attempt, wait *= 2) {
        bool again = false;
        if (send_once(body, again)) return true;
        if (!again || attempt == attempts_max || !wait_for(stop, wait)) return false;
    }
}

void Tracer::count(bool sent, std::size_t spans) {
    const std::lock_guard lock(mutex_);
    (sent ? sent_ : dropped_) += spans;
}

void Tracer::run(const std::stop_token& stop) {
    for (bool reached = true;;) {
        const std::vector<SpanRecord> batch = next_batch(stop);
        if (!batch.empty()) {
            reached = send(batch, stop);
            count(reached, batch.size());
        }
        if (stop.stop_requested() && (batch.empty() || !reached)) break;
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    woken_.notify_all();
}

std::string Tracer::metrics() const {
    const std::lock_guard lock(mutex_);
    return fmt::format(
        "# HELP memory_trace_spans_total Spans that the collector took, or that were dropped.\n"
        "# TYPE memory_trace_spans_total counter\n"
        "memory_trace_spans_total{{result=\"sent\"}} {}\n"
        "memory_trace_spans_total{{result=\"dropped\"}} {}\n"
        "# HELP memory_trace_queue Spans that wait to be sent.\n"
        "# TYPE memory_trace_queue gauge\nmemory_trace_queue {}\n",
        sent_, dropped_, queue_.size());
}

// ---- one span -----------------------------------------------------------------------------------

Span::Span(std::shared_ptr<Tracer> tracer, std::string name, SpanKind kind,
           const TracePoint& parent) {
    record_.context = parent;
    if (!tracer) return;
    if (parent.empty()) {
        record_.context.trace_id = hex64(random_id()) + hex64(random_id());
        record_.context.sampled = tracer->samples(record_.context.trace_id);
    }
    record_.context.span_id = hex64(random_id());
    if (!record_.context.sampled) return;
    record_.parent_id = parent.span_id;
    record_.name = std::move(name);
    record_.kind = kind;
    record_.start_ns =
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
    begun_ = std::chrono::steady_clock::now();
    tracer_ = std::move(tracer);
}

Span& Span::operator=(Span&& other) noexcept {
    end();
    tracer_ = std::move(other.tracer_);
    record_ = std::move(other.record_);
    begun_ = other.begun_;
    return *this;
}

void Span::set(std::string_view name, TraceValue value) {
    if (tracer_) record_.attributes.emplace_back(name, std::move(value));
}

void Span::fail(std::string_view type) {
    if (!tracer_) return;
    record_.failed = true;
    set("error.type", std::string(type));
}

void Span::end() {
    if (!tracer_) return;
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begun_;
    record_.end_ns = record_.start_ns + took.count();
    std::exchange(tracer_, nullptr)->take(std::move(record_));
}

}  // namespace palimpsest
