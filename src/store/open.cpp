// The table of stores, and opening one by its URL.
#include <algorithm>
#include <string>

#include "palimpsest/store.h"
#include "store/kinds.h"
#include "store/sealed_store.h"

namespace palimpsest {
namespace {

constexpr StoreKind kinds[] = {
    {"memory", open_memory_store,
     "memory:[?ttl=1h&max=10000&sweep=1m]  in memory, gone with the process"},
    {"sqlite", open_sqlite_store, "sqlite:PATH[?sync=full&readers=8&ttl=30d]  one file, durable"},
    {"files", open_files_store,
     "files:DIR[?sync=always&interval=1s&ttl=30d]  a folder, a file for each conversation, "
     "durable"},
    {"postgres", open_postgres_store,
     "postgres://USER:PASSWORD@HOST:PORT/DATABASE[?schema=NAME&pool=16&timeout=10s&ttl=30d]  a "
     "server that several of ours share; other options are libpq's: sslmode=verify-full, "
     "sslrootcert=FILE, ..."},
    {"redis", open_redis_store,
     "redis://USER:PASSWORD@HOST:PORT/DB[?cluster=1&prefix=pal&wait=1&ttl=24h&timeout=5s&pool=16&"
     "eviction=allow]  a server or cluster, kept 24h unless ttl says otherwise (0: for ever)"},
    {"rediss", open_rediss_store,
     "rediss://USER:PASSWORD@HOST:PORT/DB[?ca=FILE]  the same over TLS, with the same options"},
};

// A store that was sealed once is never used without its key.
Result<std::unique_ptr<Store>> sealed_or_plain(std::unique_ptr<Store> inner,
                                               const StoreOptions& options) {
    if (options.raw) return inner;
    if (!options.encryption_key.empty()) {
        PAL_TRY(masters, read_master_keys(options.encryption_key));
        return SealedStore::open(std::move(inner), std::move(masters));
    }
    PAL_TRY(sealed, SealedStore::is_sealed(*inner));
    if (!sealed) return inner;
    return fail(ErrorCode::forbidden,
                "this store is encrypted: say where its key is with --encryption-key",
                "encryption_key");
}

}  // namespace

std::span<const StoreKind> store_kinds() {
    return kinds;
}

Result<std::unique_ptr<Store>> open_store(std::string_view url, const StoreOptions& options) {
    const std::size_t colon = url.find(':');
    std::string_view scheme = url.substr(0, colon);
    if (scheme == "postgresql") scheme = "postgres";  // libpq takes both
    const auto kind = std::ranges::find(kinds, scheme, &StoreKind::scheme);
    if (colon != std::string_view::npos && kind != std::end(kinds)) {
        PAL_TRY(inner, kind->open(url.substr(colon + 1), options));
        return sealed_or_plain(std::move(inner), options);
    }
    std::string known;
    for (const StoreKind& row : kinds)
        known += (known.empty() ? "" : ", ") + std::string(row.scheme) + ":";
    // The URL is not repeated: it may hold a password.
    return fail(ErrorCode::invalid_request,
                "not the URL of a store: it must begin with one of " + known, "store");
}

}  // namespace palimpsest
