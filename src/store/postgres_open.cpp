// Reads the options of `postgres:` from its URL: those of ours are taken out, libpq gets the rest.
#include <charconv>
#include <string>

#include "base/time.h"
#include "store/kinds.h"
#include "store/postgres_store.h"

namespace palimpsest {
namespace {

std::unexpected<Error> wrong(std::string what) {
    return fail(ErrorCode::invalid_request, "postgres: " + std::move(what), "store");
}

Result<int> parse_timeout(std::string_view text) {
    PAL_TRY(time, parse_duration(text));
    if (time <= Duration::zero() || time > std::chrono::hours(1))
        return wrong("timeout is from 1ms to 1h");
    return static_cast<int>(time.count());
}

bool is_plain_name(std::string_view text) {
    return !text.empty() && text.size() <= 63 &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

// False: it is not ours.
Result<bool> set_option(PostgresStore::Options& options, std::string_view name,
                        std::string_view value) {
    if (name == "ttl") {
        if (value == "0") return true;
        PAL_TRY(ttl, parse_duration(value));
        options.ttl = ttl;
    } else if (name == "timeout") {
        PAL_TRY(timeout, parse_timeout(value));
        options.connection.timeout_ms = timeout;
    } else if (name == "schema") {
        if (!is_plain_name(value)) return wrong("schema is a name of a-z, 0-9 and _");
        options.connection.schema = value;
    } else if (name == "pool") {
        std::size_t& count = options.connection.connections;
        const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), count);
        const bool good = fault == std::errc{} && end == value.data() + value.size();
        if (!good || count < 1 || count > 1000) return wrong("pool is a number from 1 to 1000");
    } else {
        return false;
    }
    return true;
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(std::string_view rest,
                                                   const StoreOptions& options) {
    PostgresStore::Options chosen;
    chosen.clock = options.clock;
    chosen.create = options.create;
    if (!rest.starts_with("//")) return wrong("needs postgres://USER@HOST:PORT/DATABASE");
    const std::size_t mark = std::min(rest.find('?'), rest.size());
    chosen.connection.url = "postgres:" + std::string(rest.substr(0, mark));
    std::string_view fields = rest.substr(std::min(mark + 1, rest.size()));
    char before = '?';
    while (!fields.empty()) {
        const std::string_view field = fields.substr(0, fields.find('&'));
        const std::size_t equals = std::min(field.find('='), field.size());
        PAL_TRY(ours, set_option(chosen, field.substr(0, equals),
                                 field.substr(std::min(equals + 1, field.size()))));
        if (!ours) chosen.connection.url += before + std::string(field);
        if (!ours) before = '&';
        fields.remove_prefix(std::min(fields.size(), field.size() + 1));
    }
    PAL_TRY(store, PostgresStore::open(std::move(chosen)));
    return std::unique_ptr<Store>(std::move(store));
}

}  // namespace palimpsest
