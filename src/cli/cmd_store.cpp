// copy, backup, keys: a store as a whole.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/progress.h"
#include "store/copy.h"
#include "store/remote_store.h"
#include "store/seal.h"
#include "store/sealed_store.h"

namespace palimpsest {
namespace {

constexpr Flag copy_flag_table[] = {
    {"to", "URL", "The store to copy into; it is made when it is not there."},
    {"to-encryption-key", "SOURCE", "Encrypts the copy: file:PATH, env:NAME or command:COMMAND."},
    {"all-tenants", "", "Every tenant, not only --tenant."},
};
constexpr Flag keys_flag_table[] = {
    {"to", "SOURCE", "rotate: the new master key: file:PATH, env:NAME or command:COMMAND."},
};

Result<int> rotate_keys(Invocation& call) {
    const auto to = call.arguments.get("to");
    if (!to || call.settings.encryption_key.empty())
        return fail(ErrorCode::invalid_request,
                    "pal keys rotate needs --encryption-key OLD and --to NEW");
    PAL_TRY(masters, read_master_keys(*to + "," + call.settings.encryption_key));
    PAL_TRY(inner, open_store(call.settings.store, {.create = false, .raw = true}));
    PAL_TRY(sealed, SealedStore::is_sealed(*inner));
    if (!sealed) return fail(ErrorCode::invalid_request, "this store is not encrypted");
    PAL_TRY(changed, SealedStore::rotate(*inner, masters));
    if (call.json())
        call.out.json_line("{\"changed\":" + std::to_string(changed) + ",\"master\":\"" +
                           masters.front().id + "\"}");
    else
        call.out.line("sealed " + std::to_string(changed) + " keys with the master key " +
                      masters.front().id + "; destroy the old one to make old backups unreadable");
    return 0;
}

}  // namespace

extern const Flags copy_flags, keys_flags;
const Flags copy_flags = copy_flag_table;
const Flags keys_flags = keys_flag_table;

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

Result<int> run_keys(Invocation& call) {
    const std::string& what = call.arguments[0];
    if (what == "rotate") return rotate_keys(call);
    if (what != "new" || call.arguments.size() < 2)
        return fail(ErrorCode::invalid_request,
                    "pal keys new FILE makes a master key; pal keys rotate changes it");
    PAL_TRY(id, write_new_key(call.arguments[1]));
    if (call.json())
        call.out.json_line("{\"master\":\"" + id + "\"}");
    else
        call.out.line("wrote the master key " + id + " to " + printable(call.arguments[1]) +
                      "; without it an encrypted store cannot be read: keep a copy elsewhere");
    return 0;
}

}  // namespace palimpsest
