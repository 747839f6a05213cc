// access: the keys of clients, and what each may do.
//
// Keys are records of the store, so every server on it knows them. Only a salted digest of a key is
// kept; its text is shown once, when it is made. While a store has no key, whoever reaches the
// server may do everything (it then listens on loopback only); from the first key on every request
// but the probes needs one. A key that was made or revoked elsewhere is known after `fresh_for`.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/store.h"
#include "server/budget.h"

namespace palimpsest {

// What a request does. `open` needs no key; `admin` may do everything.
// read_write: a write whose answer shows what is stored beyond what the request brought.
enum class Scope : std::uint8_t { open = 0, read = 1, write = 2, read_write = 3, admin = 4 };

struct ApiKey {
    std::string id = {};  // made by create_key
    std::string name = {};
    std::string tenant = {};
    std::uint8_t scopes = 0;               // bits of Scope
    std::vector<std::string> models = {};  // that it may ask; empty: all
    std::uint64_t per_minute = 0;          // requests; 0: no limit
    KeyBudget budget = {};                 // what the models that it asks may cost
    Time created = {};
    std::optional<Time> expires = {};

    bool may(Scope scope) const;
    bool may_ask(std::string_view model) const;
};

// "read,write": invalid_request names those that exist.
Result<std::uint8_t> parse_scopes(std::string_view text);
std::string scopes_text(std::uint8_t scopes);

// The key's text, which cannot be had again.
struct NewKey {
    ApiKey key = {};
    std::string text = {};
};
Result<NewKey> create_key(Store& store, ApiKey key);
Result<std::vector<ApiKey>> list_keys(Store& store);
// not_found when there is none of that id.
Result<ApiKey> find_key(Store& store, std::string_view id);
// not_found as well. That it was revoked stays known, so that no copy of the
// store brings it back.
Result<void> revoke_key(Store& store, std::string_view id);
// Where the keys lie, and the ids of those that were revoked.
RecordSpace key_records();
RecordSpace revoked_key_records();

// Why a request is refused, and when it may come again.
struct Denied {
    Error error = {};
    int retry_after_s = 0;  // 0: never by itself
};

// From any thread.
class Access {
public:
    static constexpr Duration fresh_for = std::chrono::seconds(1);

    // The store must outlive it. `open_tenant`: whose conversations those are while there is no
    // key.
    Access(Store& store, std::string open_tenant);

    // Who sends a request with this text ("" for none) in Authorization or x-api-key. Counts it.
    // What was read of the store longer ago than `at_most` is read again.
    std::expected<ApiKey, Denied> admit(std::string_view text, Scope scope,
                                        Duration at_most = fresh_for / 2);
    // Whether what is known of this text will do, so that admit() need not ask the store. Now and
    // then false for one request before it is too old: that one renews it for all others.
    bool is_fresh(std::string_view text);
    // Whether there is any key.
    Result<bool> has_keys(Duration at_most = fresh_for / 2);
    // Before a model is asked: rate_limited when the key's budget is used up, until when.
    std::optional<Denied> check_budget(const ApiKey& key);

private:
    struct Known {
        ApiKey key = {};
        std::string salt = {}, digest = {};
        Time read = {};
        double left = 0;  // of the requests of a minute
        Time filled = {};
    };
    std::optional<Time> read_at(std::string_view text) const;
    Result<Known*> find(std::string_view id, Time now, Duration at_most);
    std::optional<int> wait_of(Known& known, Time now);

    Store& store_;
    const std::string open_tenant_;
    std::mutex mutex_;
    std::map<std::string, Known, std::less<>> known_;
    bool has_keys_ = false;
    Time looked_ = {};
    Time renewed_ = {};  // when is_fresh() last chose one that does
};

// The text of a key in a request: "Authorization: Bearer TEXT" or "x-api-key: TEXT".
std::string_view key_text(std::string_view authorization, std::string_view x_api_key);

// Takes the same time wherever two texts of one length differ.
bool equal_secrets(std::string_view given, std::string_view right);

}  // namespace palimpsest
