// server: Palimpsest over HTTP. Starts, listens, stops; everything it can do is in routes.cpp.
//
// Store work runs on workers, never on a network thread; who waits for a model holds no thread.
// Every answer carries x-request-id; an answer that a client must not repeat by itself carries
// x-should-retry: false. While its store has no keys it listens on loopback only (see access.h).
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/memory.h"
#include "palimpsest/model.h"
#include "server/models.h"

namespace palimpsest {

class Tracer;
class TlsIdentity;  // net/tls.h

// See docs/SETTINGS.md, which has the same names.
struct ServerLimits {
    std::size_t body_bytes_max = std::size_t{64} << 20;
    std::size_t header_bytes_max = std::size_t{64} << 10;
    std::size_t connections_max = 10'000;
    std::size_t streams_max = 4'096;
    std::size_t queue_max = 1'024;
    std::size_t json_depth_max = 64;
    std::size_t items_max = 100'000;
    int header_timeout_ms = 10'000;
    int body_timeout_ms = 30'000;
    int idle_timeout_ms = 75'000;
    int write_timeout_ms = 30'000;
    int request_timeout_ms = 0;
};

// What a running server can be told anew.
struct ServerTerms {
    ServerLimits limits = {};
    std::vector<std::string> hosts = {};  // names that Host may have; empty: on loopback the local
                                          // ones, else any
    // Gets one line of JSON for each request, without its line break, from any thread; nothing of
    // what was said is in it. Empty: no log.
    std::function<void(std::string_view line)> log = {};
    // When the client of a streamed turn has gone the model is stopped and what it said so far is
    // kept; with this it may finish.
    bool finish_abandoned = false;
};

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;          // 0: any free one
    std::string tenant = "default";  // of requests without a key
    bool open_to_anyone = false;     // may listen beyond loopback without keys
    std::string store_token = {};    // for the internal store route; empty: it is closed
    std::shared_ptr<const TlsIdentity> tls = {};  // with it HTTPS is spoken, and nothing else
    // With TLS the internal store route is reached without it, on this port of loopback, where
    // nothing else is; 0: it is not.
    std::uint16_t store_port = 0;
    int network_threads = 1;
    int store_threads = 4;
    std::size_t turns_max = 4'096;  // model calls and streams at once; more wait
    bool run_jobs = false;  // does due summaries; the Memory must leave them to the background
    ServerTerms terms = {};
    std::shared_ptr<Tracer> tracer = {};  // gets a span for each request and what is done for it
};

class Server {
public:
    // The memory must outlive the server. `forbidden` for an address that is not loopback,
    // `unavailable` when it is taken.
    static Result<std::unique_ptr<Server>> start(Memory& memory, Models models,
                                                 ServerOptions options);
    // With one model, which must outlive the server too.
    static Result<std::unique_ptr<Server>> start(Memory& memory, Model& model,
                                                 ServerOptions options);
    ~Server();  // stop without grace

    std::uint16_t port() const;
    // For requests from now on; those under way keep what they began with.
    void reload(ServerTerms terms);
    void reload(Models models, ServerTerms terms);
    // Takes no new requests and lets running ones finish within the grace; streams that are cut
    // then are stored as interrupted. From any thread but a worker.
    void stop(std::chrono::milliseconds grace);

private:
    struct State;
    explicit Server(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace palimpsest
