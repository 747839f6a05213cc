#include "store/remote_store.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "net/http_client.h"
#include "store/holder.h"
#include "store/port_wire.h"
#include "store/store_lock.h"

namespace palimpsest {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t reply_bytes_max = std::size_t{1} << 31;
constexpr int reply_timeout_ms = 60'000;
constexpr int long_reply_timeout_ms = 600'000;  // A check reads the whole store.
constexpr int ping_timeout_ms = 4'000;          // Anybody who lives answers a ping.
// A command holds a store for moments; a server needs moments to start listening.
constexpr milliseconds patience{3000};
constexpr milliseconds pause_between_tries{25};
constexpr int tries_with_nobody_max = 4;

bool writes(StoreOperation operation) {
    return operation == StoreOperation::append || operation == StoreOperation::scrub ||
           operation == StoreOperation::erase || operation == StoreOperation::put_record ||
           operation == StoreOperation::sweep || operation == StoreOperation::backup ||
           operation == StoreOperation::repair;
}

// May read or rewrite a large part of the store before the first byte of its answer.
bool takes_long(StoreOperation operation) {
    return operation == StoreOperation::check || operation == StoreOperation::scrub ||
           operation == StoreOperation::erase || operation == StoreOperation::sweep ||
           operation == StoreOperation::backup || operation == StoreOperation::repair;
}

class RemoteStore final : public Store {
public:
    RemoteStore(Url url, RemoteStoreOptions options)
        : url_(std::move(url)), options_(std::move(options)) {}

    Result<Header> head(const ConversationId& name) override {
        return call<Header>(StoreOperation::head, encode_request(name));
    }
    Result<Header> head(const LogId& log) override {
        return call<Header>(StoreOperation::head_of_log, encode_request(log));
    }
    Result<Appended> append(const ConversationId& name, const Batch& batch) override {
        return call<Appended>(StoreOperation::append, encode_request(name, batch));
    }
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override {
        return call<std::vector<Entry>>(StoreOperation::read, encode_request(log, query));
    }
    Result<Page> list(const ListQuery& query) override {
        return call<Page>(StoreOperation::list, encode_request(query));
    }
    Result<void> scrub(std::span<const Replacement> replacements) override {
        const std::vector<Replacement> copy(replacements.begin(), replacements.end());
        return call<void>(StoreOperation::scrub, encode_request(copy));
    }
    Result<Receipt> erase(const ConversationId& name) override {
        return call<Receipt>(StoreOperation::erase, encode_request(name));
    }
    Result<Record> get_record(const RecordKey& key) override {
        return call<Record>(StoreOperation::get_record, encode_request(key));
    }
    Result<std::uint64_t> put_record(const RecordWrite& write) override {
        return call<std::uint64_t>(StoreOperation::put_record, encode_request(write));
    }
    Result<std::vector<Record>> list_records(const RecordQuery& query) override {
        return call<std::vector<Record>>(StoreOperation::list_records, encode_request(query));
    }
    Result<std::size_t> sweep(std::size_t limit) override {
        return call<std::uint64_t>(StoreOperation::sweep, encode_request(std::uint64_t{limit}));
    }
    Result<CheckReport> check(std::span<const std::string> tenants) override {
        const std::vector<std::string> copy(tenants.begin(), tenants.end());
        return call<CheckReport>(StoreOperation::check, encode_request(copy));
    }
    Result<Contents> contents() override {
        return call<Contents>(StoreOperation::contents, encode_request());
    }
    Result<void> backup(const std::string& path) override {
        return call<void>(StoreOperation::backup, encode_request(path));
    }
    Result<CheckReport> repair(std::span<const std::string> tenants) override {
        const std::vector<std::string> copy(tenants.begin(), tenants.end());
        return call<CheckReport>(StoreOperation::repair, encode_request(copy));
    }
    // Unknown when the server cannot be asked.
    Durability durability() const override {
        return call<Durability>(StoreOperation::durability, encode_request())
            .value_or(Durability{});
    }

    // Whether the server is there and knows the token.
    Result<void> ping() const {
        const HttpRequest request = request_for(StoreOperation::durability, encode_request());
        HttpClient client(
            url_, {.connect_timeout_ms = ping_timeout_ms, .total_timeout_ms = ping_timeout_ms});
        const Result<HttpResponse> response = client.send(request);
        if (!response) return unexpected_failure(StoreOperation::durability, response.error());
        if (response->status != 200) return refused(*response);
        PAL_CHECK(decode_reply<Durability>(response->body));
        return {};
    }

private:
    HttpRequest request_for(StoreOperation operation, std::string body) const {
        HttpRequest request =
            make_request("POST", "/internal/store/" + std::string(operation_name(operation)),
                         std::move(body), "application/octet-stream");
        request.headers.set("Authorization", "Bearer " + options_.token);
        return request;
    }

    template <class T>
    Result<T> call(StoreOperation operation, std::string body) const {
        const HttpRequest request = request_for(operation, std::move(body));
        HttpClient client =
            takes_long(operation) ? new_client(long_reply_timeout_ms) : take_client();
        Result<HttpResponse> response = client.send(request);
        if (!response) return unexpected_failure(operation, response.error());
        if (!takes_long(operation)) give_back(std::move(client));
        if (response->status != 200) return refused(*response);
        return decode_reply<T>(response->body);
    }

    std::unexpected<Error> unexpected_failure(StoreOperation operation, const Error& error) const {
        if (error.code == ErrorCode::too_large) return std::unexpected(error);
        const bool unknown = error.code == ErrorCode::outcome_unknown && writes(operation);
        return fail(unknown ? ErrorCode::outcome_unknown : ErrorCode::unavailable,
                    "the store is held by " + options_.holder + " at " + options_.address +
                        ", which does not answer: " + error.message +
                        (unknown ? "; look whether it was done, or repeat it with the same key"
                                 : "; try again, or stop that program"));
    }

    std::unexpected<Error> refused(const HttpResponse& response) const {
        const std::string where = options_.holder + " at " + options_.address;
        if (response.status == 413)
            return fail(ErrorCode::too_large,
                        where +
                            " refuses a request of this size; append less at once, or raise "
                            "its body_bytes_max");
        return fail(ErrorCode::unavailable,
                    "the store is held by " + where + ", which answers " +
                        std::to_string(response.status) +
                        " to requests for its store; stop that program, or use the same version");
    }

    HttpClient new_client(int timeout_ms) const {
        return HttpClient(url_,
                          {.first_byte_timeout_ms = timeout_ms, .max_body_bytes = reply_bytes_max});
    }
    HttpClient take_client() const {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return new_client(reply_timeout_ms);
        HttpClient client = std::move(idle_.back());
        idle_.pop_back();
        return client;
    }
    void give_back(HttpClient client) const {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(client));
    }

    Url url_;
    RemoteStoreOptions options_;
    mutable std::mutex mutex_;
    mutable std::vector<HttpClient> idle_;
};

Result<std::unique_ptr<RemoteStore>> make_remote_store(RemoteStoreOptions options) {
    PAL_TRY(url, parse_url("http://" + options.address));
    return std::make_unique<RemoteStore>(std::move(url), std::move(options));
}

// Who holds the file of a store that lives in one; none for other stores. A holder that does not
// say who it is has the pid 0.
std::optional<LockInfo> holder_of(std::string_view url) {
    if (!url.starts_with("sqlite:") && !url.starts_with("files:")) return std::nullopt;
    url.remove_prefix(url.find(':') + 1);
    const auto path = canonical_path(store_path(url));
    if (!path) return std::nullopt;
    auto info = read_lock_info(*path);
    return info ? *std::move(info) : LockInfo{};
}

Result<std::unique_ptr<Store>> open_through(const LockInfo& info) {
    PAL_TRY(store, make_remote_store(
                       {.address = info.address,
                        .token = info.token,
                        .holder = info.program + " (pid " + std::to_string(info.pid) + ")"}));
    PAL_CHECK(store->ping());
    return std::unique_ptr<Store>(std::move(store));
}

}  // namespace

Result<std::unique_ptr<Store>> open_remote_store(RemoteStoreOptions options) {
    PAL_TRY(store, make_remote_store(std::move(options)));
    return std::unique_ptr<Store>(std::move(store));
}

Result<std::unique_ptr<Store>> open_store_or_holder(std::string_view url,
                                                    const StoreOptions& options) {
    const auto deadline = steady_clock::now() + patience;
    for (int tries_with_nobody = 0;;) {
        Result<std::unique_ptr<Store>> store = open_store(url, options);
        if (store || store.error().code != ErrorCode::unavailable) return store;
        const std::optional<LockInfo> holder = holder_of(url);
        // Whoever held it may have gone meanwhile; but when nobody is there, waiting does not help.
        tries_with_nobody = holder ? 0 : tries_with_nobody + 1;
        if (tries_with_nobody > tries_with_nobody_max) return store;
        if (holder && !holder->address.empty()) {
            // A server does not share the store with a second server.
            if (!options.holder_address.empty()) return store;
            store = open_through(*holder);
            if (store) return store;
        }
        if (steady_clock::now() >= deadline) return store;
        std::this_thread::sleep_for(pause_between_tries);
    }
}

bool is_remote(const Store& store) {
    return dynamic_cast<const RemoteStore*>(&store) != nullptr;
}

}  // namespace palimpsest
