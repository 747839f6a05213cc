// copy, backup: a store as a whole.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/progress.h"
#include "store/copy.h"
#include "store/remote_store.h"

namespace palimpsest {
namespace {

constexpr Flag copy_flag_table[] = {
    {"to", "URL", "The store to copy into; it is made when it is not there."},
    {"to-encryption-key", "SOURCE", "Encrypts the copy: file:PATH, env:NAME or command:COMMAND."},
    {"all-tenants", "", "Every tenant, not only --tenant."},
};
}  // namespace

extern const Flags copy_flags;
const Flags copy_flags = copy_flag_table;

Result<int> run_copy(Invocation& call) {
    const auto to = call.arguments.get("to");
    if (!to) return fail(ErrorCode::invalid_request, "pal copy needs --to URL", "--to");
    if (*to == call.settings.store)
        return fail(ErrorCode::invalid_request, "--store and --to are the same store", "--to");
    PAL_TRY(target,
            open_store_or_holder(
                *to, {.encryption_key = call.arguments.get("to-encryption-key").value_or("")}));
    CopyOptions options;
    if (!call.arguments.has("all-tenants")) options.tenants = {call.settings.tenant};
    ProgressBar bar("copying");
    options.progress = [&](const CopyProgress& now) { bar.show(now.done, now.total); };
    const auto report = copy_store(call.memory->store(), *target, options);
    bar.clear();
    if (!report) return std::unexpected(report.error());
    if (call.json()) {
        call.out.json_line("{\"conversations\":" + std::to_string(report->conversations) +
                           ",\"there\":" + std::to_string(report->there) +
                           ",\"entries\":" + std::to_string(report->entries) +
                           ",\"records\":" + std::to_string(report->records) + "}");
        return 0;
    }
    call.out.line("copied " + std::to_string(report->conversations) + " conversations, " +
                  std::to_string(report->entries) + " entries, " + std::to_string(report->records) +
                  " records; " + std::to_string(report->there) + " were there already");
    return 0;
}

Result<int> run_backup(Invocation& call) {
    std::error_code error;
    const std::string path = std::filesystem::absolute(call.arguments[0], error).string();
    PAL_CHECK(call.memory->store().backup(path));
    if (call.json())
        call.out.json_line("{\"path\":" + json_string(path) + "}");
    else
        call.out.line("backed up to " + printable(path) + "; restore is opening it");
    return 0;
}

}  // namespace palimpsest
