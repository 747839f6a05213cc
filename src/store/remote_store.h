// A store that another process of this program holds, used through that process's server.
//
// Every call is one request to its internal route, carrying the token from the lock file. What was
// not sent is `unavailable`; a write whose answer was lost is `outcome_unknown`. Errors of the
// store itself come back as they are. Any thread may call; each call in flight has a connection.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "palimpsest/store.h"

namespace palimpsest {

struct RemoteStoreOptions {
    std::string address = {};  // "127.0.0.1:7420"
    std::string token = {};
    std::string holder = {};  // for messages: "pal serve (pid 12)"
};
// Does not connect yet. invalid_request when the address is none.
Result<std::unique_ptr<Store>> open_remote_store(RemoteStoreOptions options);

// As open_store; but when a server holds the store, gives that store through the server, and when
// another command holds it, waits for a moment. unavailable names the holder.
Result<std::unique_ptr<Store>> open_store_or_holder(std::string_view url,
                                                    const StoreOptions& options);

// Whether it is another process's, which alone knows whether it encrypts what it keeps.
bool is_remote(const Store& store);

}  // namespace palimpsest
