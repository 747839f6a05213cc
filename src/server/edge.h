// edge: how the HTTP server is set up: its limits, whom it lets in, what it says by itself.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "net/http.h"
#include "palimpsest/types.h"
#include "server/request_meters.h"
#include "server/server.h"

namespace palimpsest {

// The terms in force. From any thread; who has them keeps them while others come into force.
class Terms {
public:
    explicit Terms(ServerTerms terms);
    std::shared_ptr<const ServerTerms> now() const;
    void replace(ServerTerms terms);

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const ServerTerms> terms_;
};

std::string new_request_id();

// The same for many: each is another one, but who knows one may know the next. From any thread.
class RequestIds {
public:
    RequestIds();
    std::string next();

private:
    LogId first_;
    std::atomic<std::uint64_t> given_ = 0;
};

HttpLimits http_limits(const ServerLimits& limits);
// The server that everybody reaches.
HttpServerOptions public_edge(const ServerOptions& options, std::shared_ptr<const Terms> terms,
                              std::shared_ptr<RequestMeters> meters);
// The one for the internal store route alone.
HttpServerOptions store_edge(const ServerOptions& options);

// Connections and queues, in the text format of Prometheus.
std::string write_load(const HttpServer& http);

// Too much to do: 503, to be repeated soon.
HttpResponse write_busy(std::string_view what, std::string_view path);

}  // namespace palimpsest
