// copy, backup: a store as a whole.
#include <unistd.h>

#include <algorithm>
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

void print_copy_json(Invocation& call, const CopyReport& report) {
    std::string line;
    JsonWriter out(line);
    out.begin_object();
    out.key("conversations").number(report.conversations).key("there").number(report.there);
    out.key("entries").number(report.entries).key("records").number(report.records);
    out.key("failures").begin_array();
    for (const CopyFailure& failure : report.failures) {
        out.begin_object().field("what", failure.what);
        out.key("copied_to").number(failure.copied.value).key("end").number(failure.end.value);
        out.field("code", error_info(failure.error.code).name);
        out.field("message", failure.error.message).end_object();
    }
    out.end_array().end_object();
    call.out.json_line(std::move(line));
}

void print_copy(Invocation& call, const CopyReport& report) {
    call.out.line("copied " + std::to_string(report.conversations) + " conversations, " +
                  std::to_string(report.entries) + " entries, " + std::to_string(report.records) +
                  " records; " + std::to_string(report.there) + " were there already");
    for (const CopyFailure& failure : report.failures)
        call.out.line("not whole: " + printable(failure.what) + ", " +
                      std::to_string(failure.copied.value) + " of " +
                      std::to_string(failure.end.value) +
                      " entries: " + printable(failure.error.message));
}

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
    call.json() ? print_copy_json(call, *report) : print_copy(call, *report);
    if (report->failures.empty()) return 0;
    const auto damaged =
        std::ranges::find(report->failures, ErrorCode::internal,
                          [](const CopyFailure& failure) { return failure.error.code; });
    const CopyFailure& worst =
        damaged == report->failures.end() ? report->failures.front() : *damaged;
    return fail(worst.error.code, std::to_string(report->failures.size()) +
                                      " could not be copied whole: " + printable(worst.what) +
                                      ": " + worst.error.message +
                                      ". Everything else is there; `pal copy` again goes on");
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
