#include "server/access.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/time.h"
#include "server/own_records.h"
#include "store/seal.h"

namespace palimpsest {
namespace {

constexpr std::string_view space = "api_keys";
constexpr std::string_view revoked_space = "api_keys.revoked";
constexpr std::string_view text_prefix = "pal_";
constexpr std::size_t id_digits = 12, known_max = 10'000;

struct ScopeName {
    Scope scope;
    std::string_view name;
};
constexpr ScopeName scope_names[] = {
    {Scope::read, "read"}, {Scope::write, "write"}, {Scope::admin, "admin"}};

RecordKey record_of(std::string_view id) {
    return own_record(space, std::string(id));
}

std::string hex_of(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4U];
        out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15U];
    }
    return out;
}

// `salt` is 32 random bytes in base64.
Result<std::string> digest_of(std::string_view text, std::string_view salt) {
    PAL_TRY(bytes, from_base64(salt));
    return keyed_digest(SealKey::from(bytes), "api key", text);
}

std::string write_key(const ApiKey& key, std::string_view salt, std::string_view digest) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("name", key.name).field("tenant", key.tenant);
    out.field("scopes", scopes_text(key.scopes)).key("models").begin_array();
    for (const std::string& model : key.models) out.string(model);
    out.end_array().key("per_minute").number(key.per_minute);
    out.field("budget", budget_text(key.budget));
    out.field("created_at", format_time(key.created));
    if (key.expires) out.field("expires_at", format_time(*key.expires));
    out.field("salt", salt).field("digest", digest).end_object();
    return text;
}

struct StoredKey {
    ApiKey key = {};
    std::string salt = {}, digest = {};
};

Result<StoredKey> read_key(const Record& record) {
    PAL_TRY(document, parse_json(record.value));
    const auto text = [&](std::string_view name) {
        const auto value = document.root().find(name);
        return value ? std::string(value->string()) : std::string();
    };
    StoredKey stored;
    stored.key = {.id = record.key.key, .name = text("name"), .tenant = text("tenant")};
    PAL_TRY(scopes, parse_scopes(text("scopes")));
    PAL_TRY(created, parse_time(text("created_at")));
    PAL_TRY(budget, parse_budget(text("budget")));
    stored.key.budget = budget;
    stored.key.scopes = scopes;
    stored.key.created = created;
    stored.key.expires = record.expires;
    if (const auto models = document.root().find("models"))
        for (const JsonValue model : models->elements())
            stored.key.models.emplace_back(model.string());
    if (const auto rate = document.root().find("per_minute"))
        stored.key.per_minute = static_cast<std::uint64_t>(rate->integer().value_or(0));
    stored.salt = text("salt");
    stored.digest = text("digest");
    return stored;
}

// The text of a key looks so: pal_ID_SECRET.
bool is_whole(std::string_view text) {
    const std::size_t at = text_prefix.size() + id_digits;
    return text.starts_with(text_prefix) && text.size() > at && text[at] == '_';
}
std::string_view id_in(std::string_view text) {
    return text.substr(text_prefix.size(), id_digits);
}

bool is_younger(Time then, Time now, Duration age) {
    return then != Time{} && now >= then && now - then < age;
}

Denied denied(ErrorCode code, std::string message, int retry_after_s = 0) {
    // Only what a repeat cannot mend names a field.
    return {{code, std::move(message), retry_after_s ? "" : "Authorization"}, retry_after_s};
}

}  // namespace

bool ApiKey::may(Scope scope) const {
    const auto bits = static_cast<std::uint8_t>(scope);
    return (scopes & bits) == bits || (scopes & static_cast<std::uint8_t>(Scope::admin)) != 0;
}

bool ApiKey::may_ask(std::string_view model) const {
    return models.empty() || std::ranges::find(models, model) != models.end();
}

Result<std::uint8_t> parse_scopes(std::string_view text) {
    std::uint8_t scopes = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const auto row = std::ranges::find(scope_names, text.substr(0, end), &ScopeName::name);
        if (row == std::end(scope_names))
            return fail(ErrorCode::invalid_request,
                        "scopes are read, write and admin, separated by commas", "scopes");
        scopes |= static_cast<std::uint8_t>(row->scope);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return scopes;
}

std::string scopes_text(std::uint8_t scopes) {
    std::string text;
    for (const ScopeName& row : scope_names)
        if (scopes & static_cast<std::uint8_t>(row.scope))
            text += (text.empty() ? "" : ",") + std::string(row.name);
    return text;
}

Result<NewKey> create_key(Store& store, ApiKey key) {
    PAL_CHECK(check_id(key.tenant, "tenant"));
    if (key.tenant.starts_with('_'))
        return fail(ErrorCode::invalid_request, "a tenant's name does not begin with '_'",
                    "tenant");
    if (key.scopes == 0)
        return fail(ErrorCode::invalid_request, "a key needs at least one of read, write, admin",
                    "scopes");
    key.id = hex(random_log_id()).substr(0, id_digits);
    key.created = system_now();
    NewKey made{.key = key};
    made.text = std::string(text_prefix) + key.id + "_" + hex_of(SealKey::random().bytes());
    const std::string salt = to_base64(SealKey::random().bytes());
    PAL_TRY(digest, digest_of(made.text, salt));
    RecordWrite write{.key = record_of(key.id), .value = write_key(key, salt, digest)};
    write.expected = 0;
    if (key.expires) write.ttl = *key.expires - key.created;
    PAL_CHECK(store.put_record(write));
    return made;
}

Result<std::vector<ApiKey>> list_keys(Store& store) {
    std::vector<ApiKey> keys;
    RecordQuery query{.tenant = std::string(own_tenant), .space = std::string(space)};
    while (true) {
        PAL_TRY(records, store.list_records(query));
        for (const Record& record : records) {
            PAL_TRY(stored, read_key(record));
            keys.push_back(std::move(stored.key));
        }
        if (records.size() < query.limit) return keys;
        query.after = records.back().key.key;
    }
}

Result<ApiKey> find_key(Store& store, std::string_view id) {
    PAL_TRY(record, store.get_record(record_of(id)));
    PAL_TRY(stored, read_key(record));
    return std::move(stored.key);
}

Result<void> revoke_key(Store& store, std::string_view id) {
    PAL_CHECK(store.get_record(record_of(id)));
    PAL_CHECK(store.put_record({.key = own_record(revoked_space, std::string(id)), .value = "{}"}));
    PAL_CHECK(store.put_record({.key = record_of(id), .value = {}, .purge = true}));
    return {};
}

RecordSpace key_records() {
    return {std::string(own_tenant), std::string(space)};
}

RecordSpace revoked_key_records() {
    return {std::string(own_tenant), std::string(revoked_space)};
}

// ---- requests -----------------------------------------------------------------------------------

Access::Access(Store& store, std::string open_tenant)
    : store_(store), open_tenant_(std::move(open_tenant)) {}

// With the lock held: when what decides on this text was read; none: not yet, or nothing does.
std::optional<Time> Access::read_at(std::string_view text) const {
    if (!has_keys_) return looked_;
    const auto at = known_.find(id_in(text));
    return at == known_.end() ? std::nullopt : std::optional(at->second.read);
}

bool Access::is_fresh(std::string_view text) {
    const Time now = system_now();
    const std::lock_guard lock(mutex_);
    if (has_keys_ && !is_whole(text)) return true;
    const std::optional<Time> read = read_at(text);
    if (!read || !is_younger(*read, now, fresh_for)) return false;
    constexpr Duration half = fresh_for / 2;
    static_assert(half > Duration::zero());
    if (is_younger(*read, now, half) || is_younger(renewed_, now, half)) return true;
    renewed_ = now;
    return false;
}

Result<bool> Access::has_keys(Duration at_most) {
    const Time now = system_now();
    {
        const std::lock_guard lock(mutex_);
        // A key is never forgotten here: the last one that is revoked does not open the server.
        if (has_keys_ || is_younger(looked_, now, at_most)) return has_keys_;
    }
    PAL_TRY(found,
            store_.list_records(
                {.tenant = std::string(own_tenant), .space = std::string(space), .limit = 1}));
    const std::lock_guard lock(mutex_);
    looked_ = now;
    has_keys_ |= !found.empty();
    return has_keys_;
}

// Called with the lock held, which is let go of while the store is asked.
Result<Access::Known*> Access::find(std::string_view id, Time now, Duration at_most) {
    const auto at = known_.find(id);
    if (at != known_.end() && is_younger(at->second.read, now, at_most)) return &at->second;
    mutex_.unlock();
    auto record = store_.get_record(record_of(id));
    auto stored = record ? read_key(*record) : std::unexpected(record.error());
    mutex_.lock();
    if (!stored) {
        known_.erase(std::string(id));
        return std::unexpected(stored.error());
    }
    if (known_.size() >= known_max) known_.clear();
    Known& known = known_[std::string(id)];
    if (known.filled == Time{}) {
        known.filled = now;
        known.left = static_cast<double>(stored->key.per_minute);
    }
    known.key = std::move(stored->key);
    known.salt = std::move(stored->salt);
    known.digest = std::move(stored->digest);
    known.read = now;
    return &known;
}

// A bucket that holds a minute's requests and is filled evenly. Seconds to wait, or none.
std::optional<int> Access::wait_of(Known& known, Time now) {
    if (known.key.per_minute == 0) return {};
    const double rate = static_cast<double>(known.key.per_minute) / 60.0;
    const double passed = std::max(0.0, std::chrono::duration<double>(now - known.filled).count());
    known.left = std::min(static_cast<double>(known.key.per_minute), known.left + passed * rate);
    known.filled = now;
    if (known.left < 1) return static_cast<int>(std::ceil((1 - known.left) / rate));
    known.left -= 1;
    return {};
}

std::expected<ApiKey, Denied> Access::admit(std::string_view text, Scope scope, Duration at_most) {
    const Result<bool> keyed = has_keys(at_most);
    if (!keyed) return std::unexpected(Denied{keyed.error()});
    ApiKey anyone{.tenant = open_tenant_, .scopes = static_cast<std::uint8_t>(Scope::admin)};
    if (!*keyed || scope == Scope::open) return anyone;
    if (text.empty())
        return std::unexpected(denied(ErrorCode::unauthorized,
                                      "this server wants a key: Authorization: Bearer pal_...; "
                                      "`pal keys create` makes one"));
    const Denied unknown = denied(ErrorCode::unauthorized, "there is no such key");
    if (!is_whole(text)) return std::unexpected(unknown);
    const Time now = system_now();
    std::unique_lock lock(mutex_);
    const Result<Known*> known = find(id_in(text), now, at_most);
    if (!known && known.error().code == ErrorCode::not_found) return std::unexpected(unknown);
    if (!known) return std::unexpected(Denied{known.error()});
    const Result<std::string> digest = digest_of(text, (*known)->salt);
    if (!digest || !equal_secrets(*digest, (*known)->digest)) return std::unexpected(unknown);
    const ApiKey& key = (*known)->key;
    if (key.expires && *key.expires <= now) return std::unexpected(unknown);
    if (!key.may(scope))
        return std::unexpected(denied(ErrorCode::forbidden,
                                      "this key may " + scopes_text(key.scopes) + "; this needs " +
                                          scopes_text(static_cast<std::uint8_t>(scope))));
    if (const auto seconds = wait_of(**known, now))
        return std::unexpected(
            denied(ErrorCode::rate_limited,
                   "this key may send " + std::to_string(key.per_minute) + " requests a minute",
                   *seconds));
    return key;
}

std::optional<Denied> Access::check_budget(const ApiKey& key) {
    if (key.budget.empty()) return {};
    const Time now = system_now();
    const auto spent = read_spent(store_, key.id, now);
    if (!spent) return Denied{spent.error()};
    const auto over = palimpsest::check_budget(key.budget, *spent, now);
    if (!over) return {};
    // A field is named, so that clients do not try again by themselves.
    return Denied{{ErrorCode::rate_limited,
                   "the budget of this key, " + over->limit + ", is used up", "budget"},
                  over->seconds};
}

std::string_view key_text(std::string_view authorization, std::string_view x_api_key) {
    constexpr std::string_view scheme = "bearer ";
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (authorization.size() > scheme.size() &&
        std::ranges::equal(authorization.substr(0, scheme.size()), scheme, {}, lower))
        return authorization.substr(scheme.size());
    return x_api_key;
}

bool equal_secrets(std::string_view given, std::string_view right) {
    if (right.empty() || given.size() != right.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < right.size(); ++i)
        difference |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^
                                            static_cast<unsigned char>(right[i]));
    return difference == 0;
}

}  // namespace palimpsest
