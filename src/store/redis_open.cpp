// Reads the options of `redis:` and `rediss:` (the same over TLS) from the URL.
#include <unistd.h>

#include <charconv>
#include <string>

#include "base/time.h"
#include "store/kinds.h"
#include "store/redis_store.h"

namespace palimpsest {
namespace {

std::unexpected<Error> wrong(std::string what) {
    return fail(ErrorCode::invalid_request, "redis: " + std::move(what), "store");
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    return fault == std::errc{} && end == text.data() + text.size();
}

std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::uint8_t byte = 0;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
                text.data() + i + 3) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

Result<void> set_wait(ReplicaWait& wait, std::string_view value) {
    wait.all = value == "all";
    if (wait.all || parse_number(value, wait.count)) return {};
    return wrong("wait is a number of replicas, or all");
}

Result<void> set_time(int& ms, std::string_view value) {
    PAL_TRY(time, parse_duration(value));
    if (time <= Duration::zero() || time > std::chrono::hours(1))
        return wrong("timeout is from 1ms to 1h");
    ms = static_cast<int>(time.count());
    return {};
}

Result<void> set_prefix(std::string& prefix, std::string_view value) {
    if (value.empty() || value.size() > 64 || value.find_first_of("{}\r\n ") != value.npos)
        return wrong("prefix is 1 to 64 bytes without braces and spaces");
    prefix = value;
    return {};
}

Result<void> set_option(RedisStore::Options& options, std::string_view name,
                        std::string_view value) {
    if (name == "cluster") {
        options.connection.cluster = value == "1";
        if (value != "0" && value != "1") return wrong("cluster is 0 or 1");
        return {};
    }
    if (name == "prefix") return set_prefix(options.prefix, value);
    if (name == "wait") return set_wait(options.wait, value);
    if (name == "timeout") return set_time(options.connection.timeout_ms, value);
    if (name == "ca") return options.connection.ca_file = unescaped(value), Result<void>{};
    if (name == "ttl") {
        options.ttl.reset();
        if (value == "0") return {};
        PAL_TRY(ttl, parse_duration(value));
        options.ttl = ttl;
        return {};
    }
    if (name == "eviction") {
        options.eviction_allowed = value == "allow";
        return options.eviction_allowed ? Result<void>{} : wrong("eviction can only be allow");
    }
    if (name == "pool") {
        std::size_t& count = options.connection.connections;
        const bool good = parse_number(value, count) && count >= 1 && count <= 1000;
        return good ? Result<void>{} : wrong("pool is a number from 1 to 1000");
    }
    return wrong(
        "has the options cluster, prefix, wait, ttl, timeout, pool, ca and eviction, not \"" +
        std::string(name) + "\"");
}

Result<RedisNode> parse_node(std::string_view text) {
    RedisNode node;
    std::size_t colon = text.rfind(':');
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == text.npos) return wrong("a host in brackets needs its end");
        node.host = text.substr(1, close - 1);
        colon = text.find(':', close);
    } else {
        node.host = text.substr(0, colon);
    }
    if (node.host.empty()) return wrong("needs redis://HOST:PORT/DB");
    if (colon != text.npos && !parse_number(text.substr(colon + 1), node.port))
        return wrong("the port is a number");
    return node;
}

// [USER:]PASSWORD@HOST:PORT,HOST:PORT/DB
Result<void> set_address(RedisOptions& options, std::string_view text) {
    const std::size_t at = text.rfind('@');
    if (at != text.npos) {
        const std::string_view who = text.substr(0, at);
        const std::size_t colon = who.find(':');
        if (colon != who.npos) options.user = unescaped(who.substr(0, colon));
        options.password = unescaped(colon == who.npos ? who : who.substr(colon + 1));
        text.remove_prefix(at + 1);
    }
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view database = text.substr(std::min(slash + 1, text.size()));
    if (!database.empty() && !parse_number(database, options.database))
        return wrong("the database is a number");
    std::string_view hosts = text.substr(0, slash);
    while (!hosts.empty()) {
        const std::string_view one = hosts.substr(0, hosts.find(','));
        PAL_TRY(node, parse_node(one));
        options.nodes.push_back(node);
        hosts.remove_prefix(std::min(hosts.size(), one.size() + 1));
    }
    if (options.nodes.empty()) return wrong("needs redis://HOST:PORT/DB");
    return {};
}

}  // namespace

Result<RedisStore::Options> read_redis_url(std::string_view url) {
    RedisStore::Options chosen;
    chosen.connection.tls = url.starts_with("rediss:");
    std::string_view rest = url.substr(std::min(url.find(':') + 1, url.size()));
    if (!rest.starts_with("//")) return wrong("needs redis://HOST:PORT/DB");
    const std::size_t mark = std::min(rest.find('?'), rest.size());
    PAL_CHECK(set_address(chosen.connection, rest.substr(2, mark - 2)));
    std::string_view fields = rest.substr(std::min(mark + 1, rest.size()));
    while (!fields.empty()) {
        const std::string_view field = fields.substr(0, fields.find('&'));
        const std::size_t equals = std::min(field.find('='), field.size());
        PAL_CHECK(set_option(chosen, field.substr(0, equals),
                             field.substr(std::min(equals + 1, field.size()))));
        fields.remove_prefix(std::min(fields.size(), field.size() + 1));
    }
    if (chosen.connection.cluster && chosen.connection.database != 0)
        return wrong("a cluster has database 0 only");
    return chosen;
}

namespace {

Result<std::unique_ptr<Store>> open_it(const std::string& url, const StoreOptions& options) {
    PAL_TRY(chosen, read_redis_url(url));
    const std::string& ca = chosen.connection.ca_file;
    if (!ca.empty() && ::access(ca.c_str(), R_OK) != 0)
        return wrong("the file that ca names cannot be read: " + ca);
    chosen.clock = options.clock;
    PAL_TRY(store, RedisStore::open(std::move(chosen)));
    return std::unique_ptr<Store>(std::move(store));
}

}  // namespace

Result<std::unique_ptr<Store>> open_redis_store(std::string_view rest,
                                                const StoreOptions& options) {
    return open_it("redis:" + std::string(rest), options);
}

Result<std::unique_ptr<Store>> open_rediss_store(std::string_view rest,
                                                 const StoreOptions& options) {
    return open_it("rediss:" + std::string(rest), options);
}

}  // namespace palimpsest
