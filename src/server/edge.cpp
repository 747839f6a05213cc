#include "server/edge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "server/guard.h"
#include "server/respond.h"

namespace palimpsest {
namespace {

// Ids and filters are in targets, so they are given more room than others give them.
constexpr std::size_t target_bytes_max = std::size_t{32} << 10;
constexpr std::string_view store_routes = "/internal/";

HttpResponse with_request_id(HttpResponse response, const HttpRequest& request) {
    set_request_id(response, new_request_id(), request.path);
    return response;
}

}  // namespace

Terms::Terms(ServerTerms terms) : terms_(std::make_shared<const ServerTerms>(std::move(terms))) {}

std::shared_ptr<const ServerTerms> Terms::now() const {
    const std::scoped_lock lock(mutex_);
    return terms_;
}

void Terms::replace(ServerTerms terms) {
    auto next = std::make_shared<const ServerTerms>(std::move(terms));
    const std::scoped_lock lock(mutex_);
    terms_.swap(next);
}

std::string new_request_id() {
    return "req_" + hex(random_log_id());
}

RequestIds::RequestIds() : first_(random_log_id()) {}

// Asking the kernel for luck each time costs more than all else that an id needs.
std::string RequestIds::next() {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  // odd, so no two products are the same
    const std::uint64_t number = spread * given_.fetch_add(1, std::memory_order_relaxed);
    LogId id = first_;
    for (std::size_t i = 0; i < sizeof number; ++i)
        id.bytes[i] ^= static_cast<std::uint8_t>(number >> (8 * i));
    return "req_" + hex(id);
}

HttpLimits http_limits(const ServerLimits& limits) {
    return {.max_head_bytes = limits.header_bytes_max,
            .max_target_bytes = std::min(target_bytes_max, limits.header_bytes_max),
            .max_body_bytes = limits.body_bytes_max,
            .max_connections = limits.connections_max,
            .max_waiting = limits.queue_max,
            .head_timeout_ms = limits.header_timeout_ms,
            .body_timeout_ms = limits.body_timeout_ms,
            .idle_timeout_ms = limits.idle_timeout_ms,
            .write_timeout_ms = limits.write_timeout_ms,
            .request_timeout_ms = limits.request_timeout_ms};
}

HttpServerOptions public_edge(const ServerOptions& options, std::shared_ptr<const Terms> terms,
                              std::shared_ptr<RequestMeters> meters) {
    HttpServerOptions http;
    static_cast<HttpLimits&>(http) = http_limits(options.terms.limits);
    http.host = options.host == "localhost" ? "127.0.0.1" : options.host;
    http.port = options.port;
    http.network_threads = options.network_threads;
    http.quick_threads = options.store_threads;
    http.slow_threads = static_cast<int>(options.turns_max);
    http.errands_max = options.turns_max;
    http.tls = options.tls;
    http.screen = [local = is_loopback(options.host), terms = std::move(terms)](
                      const HttpRequest& request) -> std::optional<HttpResponse> {
        const Result<void> allowed = check_origin(request, local, terms->now()->hosts);
        if (allowed) return {};
        return with_request_id(write_error(allowed.error(), {}, shape_of(request.path)), request);
    };
    http.refusal = [meters = std::move(meters)](int status, const Error& error,
                                                const HttpRequest& request) {
        if (status == 503) meters->refuse(RequestMeters::Refusal::connections);
        return with_request_id(write_edge_error(status, error, request.path), request);
    };
    return http;
}

HttpServerOptions store_edge(const ServerOptions& options) {
    HttpServerOptions http;
    http.port = options.store_port;
    http.max_body_bytes = options.terms.limits.body_bytes_max;
    http.refusal = [](int status, const Error& error, const HttpRequest& request) {
        return with_request_id(write_edge_error(status, error, request.path), request);
    };
    http.screen = [](const HttpRequest& request) -> std::optional<HttpResponse> {
        if (request.path.starts_with(store_routes)) return {};
        const Error error = {ErrorCode::not_found, "only the store is here"};
        return with_request_id(write_edge_error(404, error, request.path), request);
    };
    return http;
}

std::string write_load(const HttpServer& http) {
    const WorkerLoad store = http.load(Lane::quick), model = http.load(Lane::slow);
    std::string out = fmt::format(
        "# HELP memory_connections Open connections of clients.\n"
        "# TYPE memory_connections gauge\nmemory_connections {}\n"
        "# HELP memory_turns_running Model calls and streams that are under way.\n"
        "# TYPE memory_turns_running gauge\nmemory_turns_running {}\n"
        "# HELP memory_queue_length Requests that wait for a thread or for turns_max.\n"
        "# TYPE memory_queue_length gauge\n"
        "memory_queue_length{{queue=\"store\"}} {}\nmemory_queue_length{{queue=\"model\"}} {}\n"
        "# HELP memory_queue_threads Threads that work, of those that were started.\n"
        "# TYPE memory_queue_threads gauge\n",
        http.connections(), http.errands(), store.waiting, model.waiting);
    for (const auto& [load, name] : {std::pair(store, "store"), std::pair(model, "model")})
        out += fmt::format(
            "memory_queue_threads{{queue=\"{0}\",state=\"busy\"}} {1}\n"
            "memory_queue_threads{{queue=\"{0}\",state=\"idle\"}} {2}\n",
            name, load.busy, load.threads - load.busy);
    return out;
}

HttpResponse write_busy(std::string_view what, std::string_view path) {
    return write_edge_error(
        503, {ErrorCode::unavailable, "too many " + std::string(what) + ": try again soon"}, path);
}

}  // namespace palimpsest
