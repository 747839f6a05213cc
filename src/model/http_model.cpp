// A model behind HTTP: name + endpoint + format + key.
//
// Invariants: the key is read anew for each call, goes into one header, and stands in no error. A
// request is sent again only when the server refused it or never got it; once the first piece of an
// answer has come it is not, and what came is kept, marked interrupted.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

#include "base/clock.h"
#include "base/utf8.h"
#include "format/content.h"
#include "model/dialects.h"
#include "model/incoming.h"
#include "model/refusal.h"
#include "model/request_body.h"
#include "model/served.h"
#include "net/http_client.h"
#include "net/stream.h"
#include "palimpsest/model.h"
#include "token/models.h"

namespace palimpsest {
namespace {

constexpr int first_wait_ms = 500;
constexpr int longest_wait_ms = 8'000;
constexpr int reach_ms = 2'000;

std::optional<std::string> from_environment(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
}

std::string trimmed(std::string text) {
    constexpr std::string_view blank = " \t\r\n";
    text.erase(std::min(text.find_last_not_of(blank) + 1, text.size()));
    text.erase(0, std::min(text.find_first_not_of(blank), text.size()));
    return text;
}

Result<std::string> read_key(const Endpoint& endpoint) {
    if (!endpoint.key_file.empty()) {
        std::ifstream file(endpoint.key_file);
        std::ostringstream text;
        if (!(text << file.rdbuf()) || trimmed(text.str()).empty())
            return fail(ErrorCode::unauthorized, "the key file " + endpoint.key_file +
                                                     " of the model " + endpoint.name +
                                                     " is not there or empty");
        return trimmed(text.str());
    }
    if (endpoint.key_env.empty()) return std::string();
    std::string key = trimmed(from_environment(endpoint.key_env).value_or(""));
    if (key.empty())
        return fail(ErrorCode::unauthorized, "the model " + endpoint.name + " needs a key: set " +
                                                 endpoint.key_env +
                                                 ", or name another source in the settings");
    return key;
}

// What a request refers to at a provider may not expire on its way there.
constexpr std::int64_t on_the_way_s = 60;

// The messages where some refer to what has expired; none if all can go as they are.
std::vector<Message> still_known(std::span<const Message> messages) {
    const std::int64_t now_s =
        std::chrono::duration_cast<std::chrono::seconds>(system_now().time_since_epoch()).count();
    std::vector<Message> out;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        Message message = without_expired(messages[i], now_s + on_the_way_s).value_or(messages[i]);
        if (message.raw == messages[i].raw) continue;
        if (out.empty()) out.assign(messages.begin(), messages.end());
        out[i] = std::move(message);
    }
    return out;
}

// Lists of features: what a request asks for is added to what the endpoint always does.
constexpr std::string_view listing_headers[] = {"anthropic-beta", "OpenAI-Beta"};

void add_headers(HttpRequest& http, std::span<const std::pair<std::string, std::string>> more) {
    for (const auto& [name, value] : more) {
        const auto equals = [&](std::string_view one) { return equal_without_case(one, name); };
        const auto known = http.headers.find(name);
        const bool joins = known && *known != value && std::ranges::any_of(listing_headers, equals);
        http.headers.set(name, joins ? std::string(*known) + "," + value : value);
    }
}

// How long a call may take, with all its tries.
class CallTime {
public:
    explicit CallTime(int total_ms)
        : total_ms_(total_ms),
          until_(std::chrono::steady_clock::now() + std::chrono::milliseconds(total_ms)) {}
    // 0: without limit. Never 0 otherwise: what is over gets one millisecond.
    int left_ms() const {
        if (total_ms_ <= 0) return 0;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until_ - std::chrono::steady_clock::now());
        return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 1));
    }
    bool has(int ms) const { return total_ms_ <= 0 || ms < left_ms(); }

private:
    int total_ms_;
    std::chrono::steady_clock::time_point until_;
};

// Half of it by luck, so that clients that failed together do not come back together.
int back_off_ms(int tries) {
    const int whole = std::min(first_wait_ms << std::min(tries, 10), longest_wait_ms);
    return whole / 2 + static_cast<int>(random_u64() % static_cast<std::uint64_t>(whole / 2 + 1));
}

class HttpModel final : public Model {
public:
    HttpModel(Endpoint endpoint, Url url, HttpClientOptions options)
        : endpoint_(std::move(endpoint)),
          url_(std::move(url)),
          options_(std::move(options)),
          dialect_(dialect_of(endpoint_.format)) {}

    std::string_view name() const override { return endpoint_.name; }
    std::string_view server_name() const override {
        return endpoint_.model.empty() ? endpoint_.name : endpoint_.model;
    }
    FormatId format() const override { return endpoint_.format; }

    Result<Reply> call(const ModelRequest& request, const OnPiece& on_piece) override {
        PAL_TRY(key, read_key(endpoint_));
        const std::string_view model = server_name();
        const bool streamed = on_piece || request.on_bytes;
        ModelRequest told = request;
        const std::vector<Message> said = still_known(request.messages);
        if (!said.empty()) told.messages = said;
        // Other servers of this format may refuse a field that only its own provider knows.
        if (!dialect_.cache_key_field.empty() && !endpoint_.url.empty() &&
            endpoint_.url != dialect_.usual_url)
            told.cache_key = {};
        const std::uint32_t limit = endpoint_.output_tokens > 0
                                        ? endpoint_.output_tokens
                                        : find_model(model).spec->output_tokens;
        PAL_TRY(body,
                write_model_request(dialect_, model, told, endpoint_.parameters, limit, streamed));
        HttpRequest http = make_http(std::move(body.json), key);
        add_headers(http, request.headers);
        const CallTime time(endpoint_.total_timeout_ms);
        for (int tries = 0;; ++tries) {
            int wait = 0;
            Attempt one{http, key, request, on_piece, time.left_ms()};
            auto reply = attempt(one, wait);
            if (reply)
                reply->warnings.insert(reply->warnings.begin(), body.repairs.begin(),
                                       body.repairs.end());
            const bool again = !reply && wait >= 0 && tries < endpoint_.retries;
            if (!again) return reply;
            if (wait == 0) wait = back_off_ms(tries);
            if (!time.has(wait) || !pause_ms(wait, request.stop)) return reply;
        }
    }

    Result<void> check_key() const override {
        PAL_CHECK(read_key(endpoint_));
        return {};
    }

    // The list of models costs nothing, and servers that have none say so with a status.
    Result<void> reach() override {
        PAL_TRY(key, read_key(endpoint_));
        HttpRequest http = make_http("", key);
        http.method = "GET";
        http.target = "/models";
        HttpClientOptions quick = options_;
        quick.connect_timeout_ms = quick.first_byte_timeout_ms = reach_ms;
        quick.idle_timeout_ms = quick.total_timeout_ms = reach_ms;
        quick.parks = false;  // Whoever asks may hold a lock.
        PAL_TRY(response, HttpClient(url_, quick).send(http));
        if (response.status == 401 || response.status == 403)
            return fail(ErrorCode::unauthorized, url_.authority() + " does not take our key");
        if (response.status < 500 || response.status == 501) return {};
        return std::unexpected(refusal_of(url_.authority(), response, key));
    }

    // Whoever asks this way repeats by itself what was refused.
    Result<RelayReply> relay(const RelayRequest& request,
                             const std::function<bool(std::string_view)>& on_bytes) override {
        PAL_TRY(key, read_key(endpoint_));
        PAL_TRY(body, with_defaults(request.body, endpoint_.parameters));
        HttpRequest http = make_http(std::move(body), key);
        if (!request.path.empty()) http.target = request.path;
        add_headers(http, request.headers);
        RelayedBody passed(on_bytes);
        std::unique_ptr<HttpClient> client = borrow();
        auto response = client->stream(
            http, [&](std::string_view bytes) { return passed.take(bytes); }, request.stop);
        give_back(std::move(client));
        if (passed.too_long())
            return fail(ErrorCode::upstream_failed,
                        "the answer of " + url_.authority() + " in one piece has more than the " +
                            std::to_string(RelayedBody::bytes_max) +
                            " bytes that are passed on; ask for a stream",
                        "stream");
        if (!response && !passed.begun()) return std::unexpected(std::move(response).error());
        if (!response) return RelayReply{.cut = true};
        RelayReply reply{.status = response->status};
        reply.type = response->headers.find("Content-Type").value_or("application/json");
        reply.retry_after = response->headers.find("Retry-After").value_or("");
        reply.body = passed.begun() ? "" : passed.body() + response->body;
        if (response->status >= 300) reply.body = without_secret(std::move(reply.body), key);
        return reply;
    }

private:
    HttpRequest make_http(std::string body, const std::string& key) const {
        HttpRequest http =
            make_request("POST", std::string(dialect_.path), std::move(body), "application/json");
        if (!key.empty())
            http.headers.add(std::string(dialect_.key_header),
                             std::string(dialect_.key_prefix) + key);
        if (!dialect_.version_header.empty())
            http.headers.add(std::string(dialect_.version_header), std::string(dialect_.version));
        for (const auto& [name, value] : endpoint_.headers) http.headers.set(name, value);
        http.headers.set("Accept-Encoding", "identity");  // We read it as it comes.
        return http;
    }

    struct Attempt {
        const HttpRequest& http;
        const std::string& key;
        const ModelRequest& request;
        const OnPiece& on_piece;
        int time_ms;  // 0: as long as it likes
    };

    // `wait`: what the server asks for before another try, 0: as we like, -1: there must be none.
    Result<Reply> attempt(const Attempt& asked, int& wait) {
        const std::stop_token& stop = asked.request.stop;
        Incoming incoming(endpoint_.format, endpoint_.answer_bytes_max, asked.on_piece,
                          asked.request.on_bytes);
        const auto take = [&](std::string_view bytes) { return incoming.take(bytes); };
        std::unique_ptr<HttpClient> client = borrow();
        auto response = client->stream(asked.http, take, stop, asked.time_ms);
        give_back(std::move(client));
        wait = -1;
        if (incoming.fault() && !incoming.begun()) {
            Error error = unusable(incoming, response, *incoming.fault(), asked.key);
            // Refused for now, in an event instead of by its status.
            const bool for_now =
                error.code == ErrorCode::unavailable || error.code == ErrorCode::rate_limited;
            if (for_now && !stop.stop_requested()) wait = 0;
            return std::unexpected(std::move(error));
        }
        if (incoming.too_long() && !incoming.begun()) return std::unexpected(too_long());
        if (!response && !incoming.begun() && !incoming.stopped()) {
            // What never arrived may be sent again; what may have arrived may be charged for twice.
            if (response.error().code == ErrorCode::unavailable && !stop.stop_requested()) wait = 0;
            return std::unexpected(std::move(response).error());
        }
        if (response && (response->status < 200 || response->status > 299)) {
            if (may_send_again(*response)) wait = retry_after_ms(*response, system_now());
            return std::unexpected(refused(*response, asked.key));
        }
        auto reply = incoming.finish();
        if (!reply) return std::unexpected(unusable(incoming, response, reply.error(), asked.key));
        if (!fits(*reply)) return std::unexpected(too_long());
        if (!response || incoming.fault()) reply->interrupted = true;
        if (reply->interrupted && !incoming.stopped() && !stop.stop_requested()) {
            reply->cut = incoming.too_long() ? ErrorCode::too_large : ErrorCode::upstream_failed;
            reply->warnings.push_back(why_cut(incoming, response, asked.key));
        }
        return reply;
    }

    // Whoever hears an answer that breaks off is told why, in the provider's words.
    std::string why_cut(const Incoming& incoming, const Result<HttpResponse>& response,
                        const std::string& key) const {
        if (incoming.too_long()) return too_long().message;
        if (incoming.fault())
            return refusal_of_event(url_.authority(), *incoming.fault(), key).message;
        if (!response) return response.error().message;
        return url_.authority() + ": the stream ended before the answer did";
    }

    bool fits(const Reply& reply) const {
        return std::ranges::all_of(reply.messages, [&](const Message& message) {
            return view_of(message.raw).size() <= endpoint_.answer_bytes_max;
        });
    }

    // Asked again it would be as long.
    Error too_long() const {
        return {ErrorCode::upstream_failed,
                "the answer of the model " + endpoint_.name + " has more than the " +
                    std::to_string(endpoint_.answer_bytes_max) +
                    " bytes that are taken; message_bytes_max raises the limit",
                "message_bytes_max"};
    }

    // An answer that is none: the provider's error, or bytes of another kind.
    Error unusable(const Incoming& incoming, const Result<HttpResponse>& response,
                   const Error& error, const std::string& key) const {
        const bool is_providers = !error.param.empty();
        if (is_providers || !response) return refusal_of_event(url_.authority(), error, key);
        std::string type(response->headers.find("Content-Type").value_or(""));
        if (const auto coding = response->headers.find("Content-Encoding"))
            type += ", encoded as " + std::string(*coding);
        return refusal_of_unreadable(url_.authority(),
                                     {.type = to_utf8(type),
                                      .head = std::string(incoming.head()),
                                      .bytes = incoming.size(),
                                      .why = error.message},
                                     key);
    }

    Error refused(const HttpResponse& response, const std::string& key) const {
        Error error = refusal_of(url_.authority(), response, key);
        add_wait(error, response, system_now());
        if (response.status != 401 && response.status != 403) return error;
        error.message += "; the key of the model " + endpoint_.name + " is ";
        if (!endpoint_.key_file.empty())
            error.message += "read from the file " + endpoint_.key_file;
        else if (!endpoint_.key_env.empty())
            error.message += "what " + endpoint_.key_env + " says";
        else
            error.message += "not set: say key_env or key_file in [models." + endpoint_.name + "]";
        return error;
    }

    std::unique_ptr<HttpClient> borrow() {
        const std::scoped_lock lock(mutex_);
        if (idle_.empty()) return std::make_unique<HttpClient>(url_, options_);
        auto client = std::move(idle_.back());
        idle_.pop_back();
        return client;
    }
    void give_back(std::unique_ptr<HttpClient> client) {
        const std::scoped_lock lock(mutex_);
        if (idle_.size() < idle_max) idle_.push_back(std::move(client));
    }

    static constexpr std::size_t idle_max = 64;
    const Endpoint endpoint_;
    const Url url_;
    const HttpClientOptions options_;
    const Dialect& dialect_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<HttpClient>> idle_;
};

Result<std::optional<Proxy>> choose_proxy(const Endpoint& endpoint, const Url& url) {
    if (endpoint.proxy == "none") return std::nullopt;
    if (endpoint.proxy.empty()) return proxy_for(url, from_environment);
    PAL_TRY(proxy, parse_proxy(endpoint.proxy));
    return proxy;
}

}  // namespace

Result<std::unique_ptr<Model>> make_http_model(Endpoint endpoint) {
    const Dialect& dialect = dialect_of(endpoint.format);
    const bool usual = endpoint.url.empty();
    if (usual) endpoint.url = dialect.usual_url;
    if (usual && endpoint.key_env.empty() && endpoint.key_file.empty())
        endpoint.key_env = dialect.usual_key;
    const auto of_model = [&](Error error) {
        error.message = "the model " + endpoint.name + ": " + error.message;
        return std::unexpected(std::move(error));
    };
    auto url = parse_url(endpoint.url);
    if (!url) return of_model(std::move(url).error());
    auto proxy = choose_proxy(endpoint, *url);
    if (!proxy) return of_model(std::move(proxy).error());
    HttpClientOptions options;
    options.connect_timeout_ms = endpoint.connect_timeout_ms;
    options.first_byte_timeout_ms = endpoint.first_byte_timeout_ms;
    options.idle_timeout_ms = endpoint.idle_timeout_ms;
    options.total_timeout_ms = endpoint.total_timeout_ms;
    options.ca_file = endpoint.ca_file;
    options.parks = true;
    options.proxy = *std::move(proxy);
    return std::make_unique<HttpModel>(std::move(endpoint), *std::move(url), std::move(options));
}

bool has_server(const Model& model) {
    return dynamic_cast<const HttpModel*>(&model) != nullptr;
}

}  // namespace palimpsest
