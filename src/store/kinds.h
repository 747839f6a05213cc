// The functions behind the rows of store_kinds(): one for each store, defined in its own file.
// `rest` is the URL without its scheme and colon. A new store adds a line here and a row in
// open.cpp.
#pragma once
#include <memory>
#include <string_view>

#include "palimpsest/store.h"

namespace palimpsest {

// `?ttl=DURATION&max=N&sweep=DURATION`; 0 switches each off. Defaults: 1h, 10000, 1m.
Result<std::unique_ptr<Store>> open_memory_store(std::string_view rest,
                                                 const StoreOptions& options);
// `PATH?sync=full|normal|off&readers=N&ttl=DURATION`. Defaults: full, 8, kept for ever.
Result<std::unique_ptr<Store>> open_sqlite_store(std::string_view rest,
                                                 const StoreOptions& options);
// `//USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&pool=N&timeout=DURATION&ttl=DURATION`; other
// options are libpq's. Defaults: the role's search path, 16, 10s, none.
Result<std::unique_ptr<Store>> open_postgres_store(std::string_view rest,
                                                   const StoreOptions& options);
// `//[USER:]PASSWORD@HOST:PORT/DB?cluster=1&prefix=P&wait=N|all&ttl=DURATION&timeout=DURATION`,
// `&pool=N`, `&eviction=allow` and, over TLS, `&ca=FILE`; of a cluster any nodes, with commas
// between. Defaults: no cluster, pal, no wait, 24h, 5s, 16.
Result<std::unique_ptr<Store>> open_redis_store(std::string_view rest, const StoreOptions& options);
Result<std::unique_ptr<Store>> open_rediss_store(std::string_view rest,
                                                 const StoreOptions& options);

// `DIR?sync=always|interval|never&interval=DURATION&ttl=DURATION`. Defaults: always, 1s, for ever.
Result<std::unique_ptr<Store>> open_files_store(std::string_view rest, const StoreOptions& options);

}  // namespace palimpsest
