#include "net/http_client.h"

#include <algorithm>
#include <utility>

#include "net/body.h"
#include "net/parse.h"
#include "net/stream.h"
#include "net/wire.h"

namespace palimpsest {
namespace {

constexpr HeadLimits head_limits = {256 * 1024, 64 * 1024, 500};

bool is_valid_target(std::string_view target) {
    return target.starts_with('/') && std::all_of(target.begin(), target.end(), [](char c) {
               return c > 0x20 && c < 0x7f && c != '#';
           });
}

}  // namespace

struct HttpClient::Connection {
    explicit Connection(Stream connected) : stream(std::move(connected)) {}
    Stream stream;
    std::string in;  // received and not used yet
};

// One request in progress.
struct HttpClient::Call {
    Call(const HttpRequest& asked, const BodyConsumer* consumer, int total_timeout_ms,
         std::stop_token stop, bool parks)
        : request(asked),
          on_body(consumer),
          patience(total_timeout_ms, std::move(stop), parks ? Errand::current() : nullptr) {}

    const HttpRequest& request;
    const BodyConsumer* on_body;
    Patience patience;
    bool sent = false;
    bool ended = false;  // by the server
    ResponseHead head;
    std::string body;

    // Hands over what has arrived. False: the consumer wants no more.
    bool deliver() {
        if (!streams() || body.empty()) return true;
        const bool more = (*on_body)(body);
        body.clear();
        return more;
    }
    bool streams() const { return on_body != nullptr && head.status >= 200 && head.status <= 299; }
};

HttpClient::HttpClient(Url url, HttpClientOptions options)
    : url_(std::move(url)), options_(std::move(options)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<HttpResponse> HttpClient::send(const HttpRequest& request, std::stop_token stop) {
    Call call(request, nullptr, options_.total_timeout_ms, std::move(stop), options_.parks);
    return perform(call);
}

Result<HttpResponse> HttpClient::stream(const HttpRequest& request, const BodyConsumer& on_body,
                                        std::stop_token stop, int total_timeout_ms) {
    const int total = total_timeout_ms > 0 ? total_timeout_ms : options_.total_timeout_ms;
    Call call(request, &on_body, total, std::move(stop), options_.parks);
    return perform(call);
}

Result<HttpResponse> HttpClient::perform(Call& call) {
    auto response = exchange(call);
    Errand* const errand = call.patience.errand();
    if (!errand) return response;
    if (connection_) connection_->stream.rest(*errand);
    errand->go_home();
    return response;
}

Result<HttpResponse> HttpClient::exchange(Call& call) {
    if (!is_token(call.request.method) || !is_valid_target(call.request.target))
        return fail(ErrorCode::invalid_request, "the request has no valid method or target");
    PAL_CHECK(connect(call));
    // An unfinished exchange is never reused: whatever fails, the connection goes.
    const auto whole = [&]() -> Result<void> {
        PAL_CHECK(send_request(call));
        PAL_CHECK(read_head(call));
        return read_body(call);
    };
    auto done = whole();
    const bool reusable = done && call.head.keep_alive && call.sent && connection_->in.empty();
    if (!reusable) connection_.reset();
    if (!done) return std::unexpected(std::move(done).error());
    HttpResponse response(call.head.status, std::move(call.body));
    response.headers = std::move(call.head.headers);
    return response;
}

Result<void> HttpClient::connect(Call& call) {
    if (connection_ && connection_->stream.is_quiet()) return {};
    connection_.reset();
    call.patience.restart(options_.connect_timeout_ms);
    PAL_TRY(stream, Stream::connect(url_, options_.ca_file, options_.proxy, call.patience));
    connection_ = std::make_unique<Connection>(std::move(stream));
    return {};
}

Result<void> HttpClient::send_request(Call& call) {
    const std::string& body = call.request.body;
    std::string bytes = write_request_head(call.request, url_.authority(), prefix());
    if (options_.proxy && !url_.tls && !options_.proxy->authorization.empty())
        bytes.insert(bytes.size() - 2,
                     "Proxy-Authorization: " + options_.proxy->authorization + "\r\n");
    const bool together = body.size() <= 64 * 1024;  // one packet; a larger body is not copied
    if (together) bytes += body;
    call.patience.restart(options_.idle_timeout_ms);
    call.patience.give_way();
    StreamState state = connection_->stream.write_all(bytes, call.patience);
    if (state == StreamState::done && !together)
        state = connection_->stream.write_all(body, call.patience);
    call.sent = state == StreamState::done;
    if (state == StreamState::done || state == StreamState::answered) return {};
    const std::string what = "the request to " + url_.authority() + " was not sent completely: ";
    if (state == StreamState::timed_out) return fail(ErrorCode::unavailable, what + "timed out");
    if (state == StreamState::interrupted)
        return fail(ErrorCode::unavailable, what + "interrupted");
    return fail(ErrorCode::unavailable, what + connection_->stream.failure());
}

// A proxy is told the whole URL, unless there is a tunnel through it.
std::string HttpClient::prefix() const {
    const bool absolute = options_.proxy && !url_.tls;
    return absolute ? "http://" + url_.authority() + url_.path : url_.path;
}

Result<void> HttpClient::read_more(Call& call) {
    const StreamState state = connection_->stream.read_some(connection_->in, call.patience);
    if (state == StreamState::done) return {};
    call.ended = state == StreamState::ended;
    const ErrorCode code = call.sent ? ErrorCode::outcome_unknown : ErrorCode::unavailable;
    const std::string what = "no complete answer from " + url_.authority() + ": ";
    if (state == StreamState::timed_out) return fail(code, what + "timed out");
    if (state == StreamState::interrupted) return fail(code, what + "interrupted");
    if (state == StreamState::ended) return fail(code, what + "the connection was closed");
    return fail(code, what + connection_->stream.failure());
}

Result<void> HttpClient::read_head(Call& call) {
    call.patience.restart(options_.first_byte_timeout_ms);
    std::string& in = connection_->in;
    const auto malformed = [&](const HttpFault& fault) {
        return fail(ErrorCode::upstream_failed,
                    "the answer of " + url_.authority() + " is not HTTP: " + fault.message);
    };
    while (true) {
        HeadScan scan(head_limits);
        auto end = scan.scan(in);
        while (end && *end == 0) {
            PAL_CHECK(read_more(call));
            call.patience.restart(options_.idle_timeout_ms);
            end = scan.scan(in);
        }
        if (!end) return malformed(end.error());
        const std::string_view text = std::string_view(in).substr(0, *end);
        auto head = parse_response_head(text, call.request.method == "HEAD");
        if (!head) return malformed(head.error());
        in.erase(0, *end);
        if (head->status >= 200) {
            call.head = *std::move(head);
            return {};
        }
    }
}

Result<void> HttpClient::read_body(Call& call) {
    const std::uint64_t limit = call.streams() ? UINT64_MAX / 2 : options_.max_body_bytes;
    BodyReader reader(call.head.framing, call.head.body_bytes, limit);
    while (true) {
        const auto taken = reader.take(connection_->in, call.body);
        if (!taken) {
            const bool large = taken.error().status == 413;
            return fail(large ? ErrorCode::too_large : ErrorCode::upstream_failed,
                        "the answer of " + url_.authority() + ": " + taken.error().message);
        }
        if (!call.deliver())
            return fail(ErrorCode::outcome_unknown, "the answer was not wanted any more");
        if (reader.done()) return {};
        call.patience.restart(options_.idle_timeout_ms);
        auto more = read_more(call);
        if (more) continue;
        // The one framing in which the end of the stream is the end of the body.
        if (call.ended && call.head.framing == BodyFraming::until_close) return {};
        return more;
    }
}

HttpRequest make_request(std::string method, std::string target) {
    HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    return request;
}

HttpRequest make_request(std::string method, std::string target, std::string body,
                         std::string_view type) {
    HttpRequest request = make_request(std::move(method), std::move(target));
    request.headers.add("Content-Type", std::string(type));
    request.body = std::move(body);
    return request;
}

}  // namespace palimpsest
