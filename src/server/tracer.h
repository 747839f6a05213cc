// tracer: spans on their way to a collector that speaks OTLP over HTTP.
//
// Spans that have ended wait in a queue of bounded length; one thread sends them, many at a time.
// A span that finds the queue full is dropped and counted, so a collector that is slow or gone
// never holds up a request.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net/http_client.h"
#include "palimpsest/error.h"
#include "server/trace.h"

namespace palimpsest {

struct TraceOptions {
    std::string endpoint = {};  // of the collector: "http://localhost:4318"; empty: no traces
    std::vector<std::pair<std::string, std::string>> headers = {};  // sent along to it
    std::string service = "palimpsest";
    // Of the traces that begin here, how many are recorded; others do as whoever began them says.
    double share = 1;
    bool content = false;  // what was said stands in the spans of model calls
    std::size_t queue_max = 8'192, batch_max = 512;
    std::chrono::milliseconds between = std::chrono::seconds(1);  // how long a span waits at most
};

// From any thread.
class Tracer {
public:
    // invalid_request when the endpoint is no URL.
    static Result<std::shared_ptr<Tracer>> start(TraceOptions options);
    ~Tracer();  // sends what waits, within a second
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;

    void take(SpanRecord span);
    bool samples(std::string_view trace_id) const;
    bool with_content() const { return options_.content; }
    std::string metrics() const;  // in the text format of Prometheus

private:
    Tracer(TraceOptions options, Url url);
    void run(const std::stop_token& stop);
    std::vector<SpanRecord> next_batch(const std::stop_token& stop);
    bool send(const std::vector<SpanRecord>& batch, const std::stop_token& stop);
    bool send_once(const std::string& body, bool& again);
    void count(bool sent, std::size_t spans);

    const TraceOptions options_;
    HttpClient client_;  // the thread's alone
    std::stop_source hurry_;
    mutable std::mutex mutex_;  // Guards all below.
    std::condition_variable_any woken_;
    std::deque<SpanRecord> queue_;
    std::uint64_t sent_ = 0, dropped_ = 0;
    bool done_ = false;
    std::jthread thread_;
};

// Something that is being done. It ends when it goes, and is recorded then.
class Span {
public:
    Span() = default;
    // Without a tracer nothing is recorded, and what is done goes by the parent's name.
    Span(std::shared_ptr<Tracer> tracer, std::string name, SpanKind kind, const TracePoint& parent);
    Span(Span&& other) noexcept = default;
    Span& operator=(Span&& other) noexcept;
    ~Span() { end(); }

    const TracePoint& context() const { return record_.context; }
    bool recorded() const { return tracer_ != nullptr; }
    void set(std::string_view name, TraceValue value);
    void fail(std::string_view type);  // what kind of error it was
    void end();
    void drop() { tracer_ = nullptr; }  // it did not happen

private:
    std::shared_ptr<Tracer> tracer_;  // null: not recorded
    SpanRecord record_;
    std::chrono::steady_clock::time_point begun_;
};

}  // namespace palimpsest
