// Reads the options of `sqlite:` from its URL: sqlite:PATH?sync=full&readers=8.
#include <charconv>
#include <string>

#include "base/time.h"
#include "store/holder.h"
#include "store/kinds.h"
#include "store/sqlite_store.h"

namespace palimpsest {
namespace {

Result<void> set_option(SqliteStoreOptions& options, std::string_view name,
                        std::string_view value) {
    const auto wrong = [](std::string what) {
        return fail(ErrorCode::invalid_request, "sqlite: " + what, "store");
    };
    if (name == "sync") {
        if (value == "full")
            options.sync = SyncLevel::full;
        else if (value == "normal")
            options.sync = SyncLevel::normal;
        else if (value == "off")
            options.sync = SyncLevel::off;
        else
            return wrong("sync is full, normal or off");
        return {};
    }
    if (name == "ttl") {
        PAL_TRY(ttl, parse_duration(value));
        if (ttl <= Duration::zero()) return wrong("ttl is longer than 0");
        options.ttl = ttl;
        return {};
    }
    if (name != "readers")
        return wrong("has the options sync, readers and ttl, not \"" + std::string(name) + "\"");
    const auto [end, fault] =
        std::from_chars(value.data(), value.data() + value.size(), options.readers);
    const bool good = fault == std::errc{} && end == value.data() + value.size();
    if (good && options.readers >= 1 && options.readers <= 64) return {};
    return wrong("readers is a number from 1 to 64");
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(std::string_view rest,
                                                 const StoreOptions& options) {
    SqliteStoreOptions chosen{.clock = options.clock, .create = options.create};
    const std::size_t mark = std::min(rest.find('?'), rest.size());
    chosen.path = rest.substr(0, mark);
    if (chosen.path.empty() || chosen.path.find('\0') != std::string::npos)
        return fail(ErrorCode::invalid_request,
                    "sqlite: needs the path of a file, as in sqlite:palimpsest.db", "store");
    if (chosen.path.starts_with(":"))
        return fail(ErrorCode::invalid_request,
                    "sqlite: needs the path of a file; for a store in memory use memory:", "store");
    PAL_CHECK(
        each_url_option(rest.substr(std::min(mark + 1, rest.size())),
                        [&](auto name, auto value) { return set_option(chosen, name, value); }));
    chosen.holder = own_lock_info(options);
    PAL_TRY(store, SqliteStore::open(std::move(chosen)));
    return std::unique_ptr<Store>(std::move(store));
}

}  // namespace palimpsest
