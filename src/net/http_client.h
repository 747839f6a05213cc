// http_client: an HTTP/1.1 client for one server, over TCP or TLS, one request at a time, whose
// calls return when the answer is there. They hold their thread meanwhile, or not: see `parks`.
//
// Invariants: what could not be sent completely is `unavailable` (it did not happen); what was sent
// and has no complete answer is `outcome_unknown` (it may have happened). Nothing is sent twice,
// except a request that an idle connection turned out to be closed for before it was sent.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "net/message.h"
#include "net/proxy.h"
#include "net/url.h"
#include "palimpsest/error.h"

namespace palimpsest {

struct HttpClientOptions {
    int connect_timeout_ms = 5'000;
    int first_byte_timeout_ms = 120'000;  // from the request sent to its answer's first byte
    int idle_timeout_ms = 60'000;         // between bytes, both ways
    int total_timeout_ms = 0;             // of one request; 0: none
    std::size_t max_body_bytes = 64 * 1024 * 1024;  // of an answer, else `too_large`
    std::string ca_file = {};                       // trusted authorities; empty: the system's
    std::optional<Proxy> proxy = {};
    // In an errand (errand.h) a request waits without a thread, and consumers are called on the
    // loop's, where they must not block. Whoever calls holds no lock.
    bool parks = false;
};

// Keeps its connection for the next request. Not for use by two threads at once.
class HttpClient {
public:
    explicit HttpClient(Url url, HttpClientOptions options = {});
    ~HttpClient();
    HttpClient(HttpClient&&) noexcept;
    HttpClient& operator=(HttpClient&&) noexcept;

    // Uses method, target (behind the URL's path), headers and body of the request. An answer of
    // any status is a value. `stop` interrupts it from another thread.
    Result<HttpResponse> send(const HttpRequest& request, std::stop_token stop = {});

    // The same, but the body of a 2xx answer goes to `on_body` piece by piece as it arrives (and
    // has no size limit); false from it ends the request as if interrupted. `total_timeout_ms` is
    // this request's in place of the options'; 0: theirs.
    using BodyConsumer = std::function<bool(std::string_view)>;
    Result<HttpResponse> stream(const HttpRequest& request, const BodyConsumer& on_body,
                                std::stop_token stop = {}, int total_timeout_ms = 0);

private:
    struct Connection;
    struct Call;
    Result<void> connect(Call& call);
    Result<HttpResponse> perform(Call& call);
    Result<HttpResponse> exchange(Call& call);
    Result<void> send_request(Call& call);
    Result<void> read_head(Call& call);
    Result<void> read_body(Call& call);
    Result<void> read_more(Call& call);
    std::string prefix() const;

    Url url_;
    HttpClientOptions options_;
    std::unique_ptr<Connection> connection_;
};

// A request without a body, or with one of a type.
HttpRequest make_request(std::string method, std::string target);
HttpRequest make_request(std::string method, std::string target, std::string body,
                         std::string_view type);

}  // namespace palimpsest
