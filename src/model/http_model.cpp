// A model behind HTTP: name + endpoint + format + key.
//
// Invariants: the key is read anew for each call, goes into one header, and stands in no error. A
// request is sent again only when the server refused it or never got it; once the first piece of an
// answer has come it is not, and what came is kept, marked interrupted.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

#include "base/clock.h"
#include "model/dialects.h"
#include "model/refusal.h"
#include "model/request_body.h"
#include "net/http_client.h"
#include "palimpsest/model.h"
#include "token/models.h"

namespace palimpsest {
namespace {

constexpr int first_wait_ms = 500;
constexpr int longest_wait_ms = 8'000;

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

// Waits; false when it was stopped before.
bool wait_ms(int duration, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, std::chrono::milliseconds(duration), [] { return false; });
    return !stop.stop_requested();
}

// Half of it by luck, so that clients that failed together do not come back together.
int back_off_ms(int tries) {
    const int whole = std::min(first_wait_ms << std::min(tries, 10), longest_wait_ms);
    return whole / 2 + static_cast<int>(random_u64() % static_cast<std::uint64_t>(whole / 2 + 1));
}

// The body of a 2xx answer as it arrives. A server that was asked for a stream may send a plain
// reply all the same.
class Incoming {
public:
    Incoming(FormatId format, const OnPiece& on_piece) : format_(format), on_piece_(on_piece) {
        reader_ = make_stream_reader(format, [this](const StreamDelta& delta) {
            begun_ = true;
            if (wanted_ && on_piece_) wanted_ = on_piece_(delta);
        });
    }

    bool take(std::string_view bytes) {
        if (!kind_known_) {
            const std::size_t first = bytes.find_first_not_of(" \t\r\n");
            if (first == std::string_view::npos) return true;
            kind_known_ = true;
            plain_ = bytes[first] == '{';
        }
        if (plain_) {
            body_ += bytes;
            return body_.size() <= body_bytes_max;
        }
        if (auto fed = reader_->feed(bytes); !fed) fault_ = std::move(fed).error();
        return wanted_ && !fault_;
    }

    bool begun() const { return begun_; }
    bool stopped() const { return !wanted_; }
    const std::optional<Error>& fault() const { return fault_; }

    Result<Reply> finish() {
        if (!plain_) return reader_->finish();
        PAL_TRY(reply, read_reply(format_, body_));
        PAL_CHECK(tell(reply));
        return reply;
    }

private:
    static constexpr std::size_t body_bytes_max = 64u << 20;

    Result<void> tell(const Reply& reply) {
        for (const Message& message : reply.messages) {
            PAL_TRY(parts, read_parts(message));
            for (const Part& part : parts.parts)
                if (const Text* text = std::get_if<Text>(&part); text && on_piece_ && wanted_)
                    wanted_ = on_piece_({.kind = StreamDelta::Kind::text, .text = text->text});
        }
        return {};
    }

    FormatId format_;
    const OnPiece& on_piece_;
    std::unique_ptr<StreamReader> reader_;
    std::string body_;
    std::optional<Error> fault_;
    bool kind_known_ = false, plain_ = false, begun_ = false, wanted_ = true;
};

class HttpModel final : public Model {
public:
    HttpModel(Endpoint endpoint, Url url, HttpClientOptions options)
        : endpoint_(std::move(endpoint)),
          url_(std::move(url)),
          options_(std::move(options)),
          dialect_(dialect_of(endpoint_.format)) {}

    std::string_view name() const override { return endpoint_.name; }
    FormatId format() const override { return endpoint_.format; }

    Result<Reply> call(const ModelRequest& request, const OnPiece& on_piece) override {
        PAL_TRY(key, read_key(endpoint_));
        const std::string& model = endpoint_.model.empty() ? endpoint_.name : endpoint_.model;
        ModelRequest told = request;
        // Other servers of this format may refuse a field that only its own provider knows.
        if (!dialect_.cache_key_field.empty() && !endpoint_.url.empty() &&
            endpoint_.url != dialect_.usual_url)
            told.cache_key = {};
        PAL_TRY(body, write_model_request(dialect_, model, told, endpoint_.parameters,
                                          find_model(model).spec->output_tokens, bool(on_piece)));
        const HttpRequest http = make_http(std::move(body.json), key);
        for (int tries = 0;; ++tries) {
            int wait = 0;
            auto reply = attempt(http, key, request.stop, on_piece, wait);
            const bool again = !reply && wait >= 0 && tries < endpoint_.retries;
            if (!again) return reply;
            if (!wait_ms(wait > 0 ? wait : back_off_ms(tries), request.stop)) return reply;
        }
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
        return http;
    }

    // `wait`: what the server asks for before another try, 0: as we like, -1: there must be none.
    Result<Reply> attempt(const HttpRequest& http, const std::string& key,
                          const std::stop_token& stop, const OnPiece& on_piece, int& wait) {
        Incoming incoming(endpoint_.format, on_piece);
        const auto take = [&](std::string_view bytes) { return incoming.take(bytes); };
        std::unique_ptr<HttpClient> client = borrow();
        auto response = client->stream(http, take, stop);
        give_back(std::move(client));
        wait = -1;
        if (incoming.fault() && !incoming.begun())
            return std::unexpected(refusal_of_event(url_.authority(), *incoming.fault(), key));
        if (!response && !incoming.begun() && !incoming.stopped()) {
            // What never arrived may be sent again; what may have arrived may be charged for twice.
            if (response.error().code == ErrorCode::unavailable && !stop.stop_requested()) wait = 0;
            return std::unexpected(std::move(response).error());
        }
        if (response && (response->status < 200 || response->status > 299)) {
            if (may_send_again(*response)) wait = retry_after_ms(*response);
            return std::unexpected(refusal_of(url_.authority(), *response, key));
        }
        PAL_TRY(reply, incoming.finish());
        if (!response || incoming.fault()) reply.interrupted = true;
        return reply;
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
    PAL_TRY(url, parse_url(endpoint.url));
    PAL_TRY(proxy, choose_proxy(endpoint, url));
    HttpClientOptions options;
    options.connect_timeout_ms = endpoint.connect_timeout_ms;
    options.first_byte_timeout_ms = endpoint.first_byte_timeout_ms;
    options.idle_timeout_ms = endpoint.idle_timeout_ms;
    options.total_timeout_ms = endpoint.total_timeout_ms;
    options.ca_file = endpoint.ca_file;
    options.proxy = std::move(proxy);
    return std::make_unique<HttpModel>(std::move(endpoint), std::move(url), std::move(options));
}

}  // namespace palimpsest
