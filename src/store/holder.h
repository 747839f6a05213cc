// Who we are, for the lock file of a store, and the options at the end of a store's URL.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "palimpsest/store.h"
#include "store/store_lock.h"

namespace palimpsest {

LockInfo own_lock_info(const StoreOptions& options);

// The path in "PATH?options", without slashes at its end.
std::string store_path(std::string_view rest);

// Calls `set` for every `name=value` of "name=value&name=value".
Result<void> each_url_option(
    std::string_view fields,
    const std::function<Result<void>(std::string_view name, std::string_view value)>& set);

}  // namespace palimpsest
