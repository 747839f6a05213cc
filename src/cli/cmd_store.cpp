// copy, backup: a store as a whole.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/progress.h"
#include "search/stored_parts.h"
#include "server/access.h"
#include "server/kept_words.h"
#include "store/copy.h"
#include "store/remote_store.h"
#include "store/sweep_guard.h"

namespace palimpsest {
namespace {

constexpr Flag copy_flag_table[] = {
    {"to", "URL", "The store to copy into; it is made when it is not there."},
    {"to-encryption-key", "SOURCE", "Encrypts the copy: file:PATH, env:NAME or command:COMMAND."},
    {"all-tenants", "", "Every tenant, not only --tenant."},
};

bool is_conflict(const CopyFailure& failure) {
    return failure.error.code == ErrorCode::conflict;
}

// What whoever copies must know, whatever came of it.
struct CopyWarnings {
    std::size_t keys_left = 0;
    bool made_plain = false;  // the source is encrypted, the target is not
};

constexpr std::string_view made_plain_text =
    "the source is encrypted and the copy is not: whoever reads its files reads what was said; "
    "--to-encryption-key encrypts a copy";

void print_copy_json(Invocation& call, const CopyReport& report, const CopyWarnings& warnings) {
    std::string line;
    JsonWriter out(line);
    out.begin_object();
    out.key("conversations").number(report.conversations).key("there").number(report.there);
    out.key("entries").number(report.entries).key("records").number(report.records);
    out.key("scrubbed").number(report.scrubbed).key("headers").number(report.headers);
    out.key("revoked").number(report.revoked).key("keys_left").number(warnings.keys_left);
    out.key("conflicts").number(std::ranges::count_if(report.failures, is_conflict));
    out.key("notes").begin_array();
    for (const std::string& note : report.notes) out.string(note);
    out.end_array().key("in_target_alone").begin_array();
    for (const std::string& id : report.in_target_alone) out.string(id);
    out.end_array().key("warnings").begin_array();
    if (warnings.made_plain) out.string(made_plain_text);
    out.end_array().key("failures").begin_array();
    for (const CopyFailure& failure : report.failures) {
        out.begin_object().field("what", failure.what).key("there").boolean(failure.there);
        out.key("copied_to").number(failure.copied.value).key("end").number(failure.end.value);
        out.key("lost").begin_array();
        for (const Seq seq : failure.lost) out.number(seq.value);
        out.end_array().field("code", error_info(failure.error.code).name);
        out.field("message", failure.error.message).end_object();
    }
    out.end_array().end_object();
    call.out.json_line(std::move(line));
}

std::string seqs_text(const std::vector<Seq>& seqs) {
    constexpr std::size_t most = 10;
    std::string text = seqs.size() == 1 ? "entry " : "entries ";
    for (std::size_t i = 0; i < std::min(most, seqs.size()); ++i)
        text += (i > 0 ? ", " : "") + std::to_string(seqs[i].value);
    return text + (seqs.size() > most ? ", … (" + std::to_string(seqs.size()) + ")" : "");
}

std::string failure_text(const CopyFailure& failure) {
    const std::string why = printable(failure.error.message);
    const std::string what = printable(failure.what);
    if (is_conflict(failure)) return "conflict: " + what + ": " + why;
    if (!failure.there) return "not copied: " + what + ": " + why;
    const std::string so_far = "the target has it up to entry " +
                               std::to_string(failure.copied.value) + " of " +
                               std::to_string(failure.end.value);
    if (failure.lost.empty()) return "not whole: " + what + ": " + so_far + ": " + why;
    return "not whole: " + what + ": " + so_far + ", without " + seqs_text(failure.lost) +
           ", which could not be read: " + why;
}

std::string alone_text(const std::vector<std::string>& ids) {
    constexpr std::size_t most = 10;
    std::string text = std::to_string(ids.size()) +
                       " in the target alone, its own or erased or expired in the source since "
                       "(`pal erase` removes them there too): ";
    for (std::size_t i = 0; i < std::min(most, ids.size()); ++i)
        text += (i > 0 ? ", " : "") + printable(ids[i]);
    return text + (ids.size() > most ? ", …" : "");
}

void print_copy(Invocation& call, const CopyReport& report, const CopyWarnings& warnings) {
    call.out.line("copied " + std::to_string(report.conversations) + " conversations, " +
                  std::to_string(report.entries) + " entries, " + std::to_string(report.records) +
                  " records; " + std::to_string(report.there) + " were there already");
    const auto count = [&](std::uint64_t number, std::string_view what) {
        if (number > 0) call.out.line(std::to_string(number) + " " + std::string(what));
    };
    count(report.scrubbed, "messages that were scrubbed in the source are scrubbed now");
    count(report.headers, "conversations that were there got the changes of their header");
    count(report.revoked, "keys that were revoked in the source are revoked now");
    count(warnings.keys_left, "client keys were not copied: --all-tenants copies them");
    for (const std::string& note : report.notes) call.out.line("left: " + printable(note));
    if (!report.in_target_alone.empty()) call.out.line(alone_text(report.in_target_alone));
    for (const CopyFailure& failure : report.failures) call.out.line(failure_text(failure));
}

// The exit status is that of the worst: damage, or else the first.
Result<int> status_of(const CopyReport& report) {
    if (report.failures.empty()) return 0;
    const auto conflicts =
        static_cast<std::size_t>(std::ranges::count_if(report.failures, is_conflict));
    const auto damaged =
        std::ranges::find(report.failures, ErrorCode::internal,
                          [](const CopyFailure& failure) { return failure.error.code; });
    const CopyFailure& worst =
        damaged == report.failures.end() ? report.failures.front() : *damaged;
    const std::size_t others = report.failures.size() - conflicts;
    std::string text;
    if (others > 0) text = std::to_string(others) + " could not be copied whole";
    if (conflicts > 0)
        text += (text.empty() ? "" : ", ") + std::to_string(conflicts) + " in conflict";
    return fail(worst.error.code, text + ": " + printable(worst.what) + ": " +
                                      printable(worst.error.message) +
                                      ". Everything else is there");
}

CopyOptions copy_options(const Invocation& call, Memory& target) {
    CopyOptions options;
    if (!call.arguments.has("all-tenants")) options.tenants = {call.settings.tenant};
    options.scrub = [&target](const ConversationId& name, const std::vector<Seq>& seqs) {
        return scrub_all(target, name, seqs);
    };
    options.forget_words = [&target](const std::string& tenant, const LogId& log) -> Result<void> {
        PAL_CHECK(remove_parts(target.store(), words_space, tenant, log));
        return remove_parts(target.store(), vectors_space, tenant, log);
    };
    options.revocable = {{.space = key_records(), .revoked = revoked_key_records()}};
    options.spaces_left_out = {std::string(sweep_space)};
    // The words of a conversation must end with its key, and records have one for all.
    if (call.arguments.get("to-encryption-key"))
        for (const std::string_view space : {words_space, vectors_space})
            options.spaces_left_out.emplace_back(space);
    return options;
}

}  // namespace

extern const Flags copy_flags;
const Flags copy_flags = copy_flag_table;

Result<int> run_copy(Invocation& call) {
    const auto to = call.arguments.get("to");
    if (!to) return fail(ErrorCode::invalid_request, "pal copy needs --to URL", "--to");
    if (*to == call.settings.store)
        return fail(ErrorCode::invalid_request, "--store and --to are the same store", "--to");
    const StoreOptions opening{.encryption_key =
                                   call.arguments.get("to-encryption-key").value_or("")};
    PAL_TRY(store, open_store_or_holder(*to, opening));
    CopyWarnings warnings;
    warnings.made_plain = !call.settings.encryption_key.empty() && opening.encryption_key.empty() &&
                          !is_remote(*store);
    if (warnings.made_plain)
        std::fprintf(stderr, "pal: %s\n", std::string(made_plain_text).c_str());
    Memory target(std::move(store), {.store = opening});
    CopyOptions options = copy_options(call, target);
    ProgressBar bar("copying");
    options.progress = [&](const CopyProgress& now) { bar.show(now.done, now.total); };
    const auto report = copy_store(call.memory->store(), target.store(), options);
    bar.clear();
    if (!report) return std::unexpected(report.error());
    if (!options.tenants.empty()) {
        PAL_TRY(keys, list_keys(call.memory->store()));
        warnings.keys_left = keys.size();
    }
    call.json() ? print_copy_json(call, *report, warnings) : print_copy(call, *report, warnings);
    return status_of(*report);
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
