// Reads the options of `files:` from its URL: files:DIR?sync=always&interval=1s&ttl=30d.
#include <algorithm>

#include "base/time.h"
#include "store/files_mend.h"
#include "store/files_store.h"
#include "store/holder.h"
#include "store/kinds.h"
#include "store/scratch_folder.h"

namespace palimpsest {
namespace {

Result<void> set_option(FilesStoreOptions& options, std::string_view name, std::string_view value) {
    const auto wrong = [](std::string what) {
        return fail(ErrorCode::invalid_request, "files: " + what, "store");
    };
    if (name == "interval") {
        PAL_TRY(interval, parse_duration(value));
        if (interval <= Duration::zero()) return wrong("interval is longer than 0");
        options.interval = interval;
        return {};
    }
    if (name == "ttl") {
        PAL_TRY(ttl, parse_duration(value));
        if (ttl <= Duration::zero()) return wrong("ttl is longer than 0");
        options.ttl = ttl;
        return {};
    }
    if (name != "sync")
        return wrong("has the options sync, interval and ttl, not \"" + std::string(name) + "\"");
    if (value == "always")
        options.sync = FilesSync::always;
    else if (value == "interval")
        options.sync = FilesSync::interval;
    else if (value == "never")
        options.sync = FilesSync::never;
    else
        return wrong("sync is always, interval or never");
    return {};
}

Result<std::unique_ptr<FilesStore>> open_url(std::string_view rest, const StoreOptions& options,
                                             bool mend) {
    FilesStoreOptions chosen{.path = store_path(rest),
                             .clock = options.clock,
                             .holder = own_lock_info(options),
                             .create = options.create,
                             .mend = mend,
                             .warn = options.warn};
    if (chosen.path.empty() || chosen.path.find('\0') != std::string::npos)
        return fail(ErrorCode::invalid_request, "files: needs the path of a folder", "store");
    const std::size_t mark = std::min(rest.find('?'), rest.size());
    PAL_CHECK(
        each_url_option(rest.substr(std::min(mark + 1, rest.size())),
                        [&](auto name, auto value) { return set_option(chosen, name, value); }));
    return FilesStore::open(std::move(chosen));
}

}  // namespace

Result<std::unique_ptr<Store>> open_files_store(std::string_view rest,
                                                const StoreOptions& options) {
    PAL_TRY(store, open_url(rest, options, false));
    return std::unique_ptr<Store>(std::move(store));
}

Result<std::vector<Finding>> mend_files(std::string_view url) {
    std::vector<Finding> found;
    StoreOptions options{.create = false};
    options.warn = [&](std::string_view text) {
        found.push_back({"mended", std::string(url), std::string(text)});
    };
    PAL_CHECK(open_url(url.substr(std::string_view("files:").size()), options, true));
    return found;
}

Result<CheckReport> inspect_files(std::string_view url) {
    namespace fs = std::filesystem;
    const std::string path = store_path(url.substr(std::string_view("files:").size()));
    const ScratchFolder folder;
    std::error_code error;
    if (!folder.good()) return no_copy(std::make_error_code(std::errc::permission_denied));
    fs::copy(path, folder.file("store"), fs::copy_options::recursive, error);
    if (error) return no_copy(error);
    fs::remove(folder.file("store/lock"), error);
    PAL_TRY(store, open_url(folder.file("store"), {.create = false}, true));
    return store->check({});
}

}  // namespace palimpsest
