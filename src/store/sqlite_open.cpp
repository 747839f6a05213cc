// Reads the options of `sqlite:` from its URL: sqlite:PATH?sync=full&readers=8.
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <string>

#include "base/clock.h"
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
    if (name != "readers")
        return wrong("has the options sync and readers, not \"" + std::string(name) + "\"");
    const auto [end, fault] =
        std::from_chars(value.data(), value.data() + value.size(), options.readers);
    const bool good = fault == std::errc{} && end == value.data() + value.size();
    if (good && options.readers >= 1 && options.readers <= 64) return {};
    return wrong("readers is a number from 1 to 64");
}

Result<void> set_options(SqliteStoreOptions& options, std::string_view fields) {
    while (!fields.empty()) {
        const std::string_view field = fields.substr(0, fields.find('&'));
        const std::size_t equals = std::min(field.find('='), field.size());
        PAL_CHECK(set_option(options, field.substr(0, equals),
                             field.substr(std::min(equals + 1, field.size()))));
        fields.remove_prefix(std::min(fields.size(), field.size() + 1));
    }
    return {};
}

// "pal serve": the program's file name and, if it looks like a command, its first argument.
std::string program_name() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string program, first;
    std::getline(file, program, '\0');
    std::getline(file, first, '\0');
    program.erase(0, program.rfind('/') + 1);
    const bool command = !first.empty() && first.size() <= 16 &&
                         first.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == first.npos;
    return command ? program + " " + first : program;
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(std::string_view rest,
                                                 const StoreOptions& options) {
    SqliteStoreOptions chosen{.clock = options.clock, .create = options.create};
    const std::size_t mark = std::min(rest.find('?'), rest.size());
    chosen.path = rest.substr(0, mark);
    if (chosen.path.empty() || chosen.path.find('\0') != std::string::npos)
        return fail(ErrorCode::invalid_request, "sqlite: needs the path of a file", "store");
    if (chosen.path.starts_with(":"))
        return fail(ErrorCode::invalid_request,
                    "sqlite: needs the path of a file; for a store in memory use memory:", "store");
    PAL_CHECK(set_options(chosen, rest.substr(std::min(mark + 1, rest.size()))));
    chosen.holder = {.pid = ::getpid(),
                     .program = program_name(),
                     .address = options.holder_address,
                     .token = options.holder_token,
                     .since = system_now()};
    PAL_TRY(store, SqliteStore::open(std::move(chosen)));
    return std::unique_ptr<Store>(std::move(store));
}

}  // namespace palimpsest
