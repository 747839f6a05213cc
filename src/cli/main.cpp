// pal: the command table, and what all commands share: settings, the store, errors, exit status.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/open.h"
#include "cli/tell_error.h"
#include "engine/foreign.h"
#include "net/message.h"

namespace palimpsest {

extern const Flags copy_flags, doctor_flags, erase_flags, export_flags, import_flags, keys_flags;
extern const Flags append_flags, bench_flags, breakdown_flags, chat_flags, checkpoint_flags,
    checkpoints_flags, compact_flags, convert_flags, count_flags, diff_flags, edit_flags,
    encode_flags, fork_flags, list_flags, log_flags, reindex_flags, repair_flags, retract_flags,
    search_flags, serve_flags, simulate_flags, summary_flags, validate_flags, view_flags;
Result<void> prepare_append(Invocation& call);
Result<void> prepare_document(Invocation& call);
Result<int> run_append(Invocation& call);
Result<int> run_backup(Invocation& call);
Result<int> run_bench(Invocation& call);
Result<int> run_breakdown(Invocation& call);
Result<int> run_chat(Invocation& call);
Result<int> run_checkpoint(Invocation& call);
Result<int> run_checkpoints(Invocation& call);
Result<int> run_compact(Invocation& call);
Result<int> run_completion(Invocation& call);
Result<int> run_convert(Invocation& call);
Result<int> run_copy(Invocation& call);
Result<int> run_count(Invocation& call);
Result<int> run_decode(Invocation& call);
Result<int> run_diff(Invocation& call);
Result<int> run_doctor(Invocation& call);
Result<int> run_encode(Invocation& call);
Result<int> run_erase(Invocation& call);
Result<int> run_export(Invocation& call);
Result<int> run_fork(Invocation& call);
Result<int> run_help(Invocation& call);
Result<int> run_import(Invocation& call);
Result<int> run_keys(Invocation& call);
Result<int> run_list(Invocation& call);
Result<int> run_log(Invocation& call);
Result<int> run_pin(Invocation& call);
Result<int> run_recall(Invocation& call);
Result<int> run_reindex(Invocation& call);
Result<int> run_repair(Invocation& call);
Result<int> run_retract(Invocation& call);
Result<int> run_scrub(Invocation& call);
Result<int> run_search(Invocation& call);
Result<int> run_sent(Invocation& call);
Result<int> run_serve(Invocation& call);
Result<int> run_show(Invocation& call);
Result<int> run_simulate(Invocation& call);
Result<int> run_summary(Invocation& call);
Result<int> run_undo(Invocation& call);
Result<int> run_unpin(Invocation& call);
Result<int> run_validate(Invocation& call);
Result<int> run_version(Invocation& call);
Result<int> run_view(Invocation& call);

namespace {

constexpr auto serve_scopes = static_cast<std::uint8_t>(SettingScope::store) |
                              static_cast<std::uint8_t>(SettingScope::model) |
                              static_cast<std::uint8_t>(SettingScope::server);
constexpr auto store_scope = static_cast<std::uint8_t>(SettingScope::store);
constexpr auto chat_scopes = static_cast<std::uint8_t>(SettingScope::model);
constexpr StoreUse none = StoreUse::none, read = StoreUse::read, write = StoreUse::write;

std::string kinds_help() {
    return "kinds (docs/IMPORT.md says what each carries):\n" + foreign_kinds_help();
}

// clang-format off
constexpr Command table[] = {
    // name, arguments, what it does, store, settings, flags, function
    {"serve", "", "Serve the store over HTTP, until Ctrl-C.",
     none, serve_scopes, &serve_flags, run_serve},
    {"chat", "[ID]", "Talk with the model; one line is one message.",
     write, chat_scopes, &chat_flags, run_chat},
    {"append", "ID [FILE]", "Append messages (JSON, a list, JSON Lines); print the new end.",
     write, 0, &append_flags, run_append, prepare_append},
    {"view", "ID", "Show what the model is sent.",
     read, 0, &view_flags, run_view},
    {"sent", "ID [SEQ]", "Show what the model was sent at a past call; default: the newest.",
     read, 0, nullptr, run_sent},
    {"log", "ID", "Show the log: everything that was said and done.",
     read, 0, &log_flags, run_log},
    {"list", "", "List conversations.",
     read, 0, &list_flags, run_list},
    {"show", "ID", "Show a conversation's header.",
     read, 0, nullptr, run_show},
    {"fork", "ID NEW", "Make a new conversation that shares the log; print its end.",
     write, 0, &fork_flags, run_fork},
    {"checkpoint", "ID NAME", "Name the present position; print the checkpoint's id.",
     write, 0, &checkpoint_flags, run_checkpoint},
    {"checkpoints", "ID", "List the checkpoints of a conversation.",
     read, 0, &checkpoints_flags, run_checkpoints},
    {"pin", "ID SEQ|last", "Keep a message (and its group) verbatim; print the entry.",
     write, 0, &edit_flags, run_pin},
    {"unpin", "ID SEQ|last", "Give a pinned message back to the edits; print the entry.",
     write, 0, &edit_flags, run_unpin},
    {"retract", "ID SEQ[..SEQ]", "Hide messages, undoably; print the entry.",
     write, 0, &retract_flags, run_retract},
    {"undo", "ID [SEQ]", "Undo an edit, or an undo; print the entry.",
     write, 0, &edit_flags, run_undo},
    {"compact", "[ID|FILE]", "Compact a view by a policy: of a conversation, or (--format) a file.",
     write, 0, &compact_flags, run_compact, nullptr, "format"},
    {"simulate", "[TRACE...]", "Replay recorded conversations under policies; count the cost.",
     none, 0, &simulate_flags, run_simulate},
    {"summary", "ID [TEXT]", "List summaries, or store one of your own (--range SEQ..SEQ).",
     write, 0, &summary_flags, run_summary},
    {"recall", "ID CALL_ID|SEQ[..SEQ]", "Show what was left out, as it was said.",
     read, 0, nullptr, run_recall},
    {"search", "QUERY...", "Find any word ever said, best first, and where it was said.",
     read, 0, &search_flags, run_search},
    {"reindex", "", "Make the search index anew from the log.",
     read, 0, &reindex_flags, run_reindex},
    {"breakdown", "ID", "Show where tokens and money go, and how far each trigger is.",
     read, 0, &breakdown_flags, run_breakdown},
    {"diff", "ID [ID2]", "Show two views beside each other: two positions or two branches.",
     read, 0, &diff_flags, run_diff},
    {"scrub", "ID SEQ...", "Remove the content of messages for good, in every fork.",
     write, 0, nullptr, run_scrub},
    {"erase", "[ID]", "Remove conversations for good; forks keep what they share.",
     write, 0, &erase_flags, run_erase},
    {"import", "FILE...",
     "Bring in conversations of other programs, or redis://HOST:PORT/DB of PromptKit; print ids.",
     write, 0, &import_flags, run_import, nullptr, {}, kinds_help},
    {"export", "ID", "Write a conversation out, whole or in another program's format.",
     read, 0, &export_flags, run_export, nullptr, {}, kinds_help},
    {"copy", "", "Copy a store into another; can be broken off and repeated.",
     read, 0, &copy_flags, run_copy},
    {"backup", "FILE",
     "Take a consistent copy of a live sqlite or files store; writers of a files store wait.",
     read, 0, nullptr, run_backup},
    {"keys", "create|list|revoke|new|rotate [NAME|ID|FILE]",
     "Keys of clients (create, list, revoke); the master key of a store (new, rotate).",
     none, store_scope, &keys_flags, run_keys},
    {"doctor", "", "Check a store; exit status 1 when something is wrong.",
     none, store_scope, &doctor_flags, run_doctor},
    {"bench", "", "Measure this store on this machine, in conversations of its own.",
     write, 0, &bench_flags, run_bench},
    {"validate", "[FILE]", "Tell which provider rules a list or request breaks; exit 1 if any.",
     none, 0, &validate_flags, run_validate, prepare_document},
    {"repair", "[FILE]", "Make a list or request sendable; report what was done.",
     none, 0, &repair_flags, run_repair, prepare_document},
    {"convert", "[FILE]", "Give the same conversation in another format.",
     none, 0, &convert_flags, run_convert, prepare_document},
    {"count", "[FILE...]", "Count tokens of texts, or of requests with all overheads.",
     none, 0, &count_flags, run_count},
    {"encode", "[FILE]", "Give the token ids of a text as a JSON array.",
     none, 0, &encode_flags, run_encode, prepare_document},
    {"decode", "[FILE]", "Give the text of a JSON array of token ids.",
     none, 0, &encode_flags, run_decode, prepare_document},
    {"help", "[COMMAND]", "Explain a command, or: settings, errors, stores.",
     none, 0, nullptr, run_help, nullptr, {}, nullptr, true},
    {"version", "", "Print the version.",
     none, 0, nullptr, run_version, nullptr, {}, nullptr, true},
    {"completion", "bash", "Print a completion script: source <(pal completion bash).",
     none, 0, nullptr, run_completion, nullptr, {}, nullptr, true},
};
// clang-format on

constexpr int usage_status = 2;

// `pal --store X list` is `pal list --store X`: the first word that is no flag's value names the
// command. SIZE_MAX when there is none.
std::size_t command_index(const std::vector<std::string>& words) {
    const auto takes_next_word = [](const std::string& word) {
        return std::ranges::any_of(setting_table(), [&](const Setting& setting) {
            return word == "--" + setting_flag(setting) && setting.kind != SettingKind::toggle;
        });
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i].starts_with('-')) return i;
        if (takes_next_word(words[i])) ++i;
    }
    return SIZE_MAX;
}

Result<const Command*> command_named(const std::string& name) {
    if (const Command* command = find_command(name)) return command;
    std::vector<std::string_view> names;
    for (const Command& command : table) names.push_back(command.name);
    const std::string_view nearest = nearest_name(name, names);
    return fail(ErrorCode::invalid_request,
                "there is no command \"" + clipped(name, 40) + "\"; " +
                    (nearest.empty() ? "`pal help` lists them"
                                     : "did you mean " + std::string(nearest) + "?"));
}

Result<void> check_count(const Command& command, const Arguments& arguments) {
    const ArgumentCount count = argument_count(command.synopsis);
    if (arguments.size() >= count.least && arguments.size() <= count.most) return {};
    return fail(ErrorCode::invalid_request,
                "pal " + std::string(command.name) + " takes " +
                    (command.synopsis.empty() ? "no arguments" : std::string(command.synopsis)) +
                    "; `pal help " + std::string(command.name) + "` explains it");
}

Result<Settings> settings_from(const Command& command, const Arguments& arguments) {
    SettingSources sources;
    for (const Setting* setting : settings_of(command)) {
        const std::string flag = setting_flag(*setting);
        if (const auto text = arguments.get(flag))
            sources.flags.push_back({std::string(setting->name), *text, "--" + flag});
    }
    sources.environment = [](const std::string& name) -> std::optional<std::string> {
        const char* text = std::getenv(name.c_str());
        return text ? std::optional<std::string>(text) : std::nullopt;
    };
    return load_settings(sources);
}

// A chat lasts; any other command that writes is over before anybody could read it.
void warn_of_memory_store(const Invocation& call) {
    const bool lost = call.command.store == StoreUse::write && call.command.run != run_chat;
    if (lost && call.settings.store.starts_with("memory:"))
        std::fputs("pal: warning: a memory: store is gone when the command ends; nothing is kept\n",
                   stderr);
}

Result<int> run_command(const Command& command, const std::vector<std::string>& words,
                        Output& out) {
    const std::vector<KnownFlag> known = known_flags(command);
    PAL_TRY(arguments, parse_arguments(words, known));
    if (arguments.has("help")) {
        out.write(command_help(command));
        return 0;
    }
    PAL_CHECK(check_count(command, arguments));
    auto read_settings = settings_from(command, arguments);
    if (!read_settings && command.always) {
        read_settings = Settings{};
        read_settings->json = arguments.has("json");
    }
    PAL_TRY(settings, std::move(read_settings));
    Invocation call{.command = command, .settings = settings, .arguments = arguments, .out = out};
    call.read_settings = [&] { return settings_from(command, arguments); };
    if (command.prepare) PAL_CHECK(command.prepare(call));
    const bool storeless = !command.storeless_flag.empty() && arguments.has(command.storeless_flag);
    if (command.store != StoreUse::none && !storeless) {
        PAL_TRY(memory, open_memory(settings, {.create = command.store == StoreUse::write},
                                    {.policy = std::string(default_policy)}));
        call.memory.emplace(std::move(memory));
        warn_of_memory_store(call);
    }
    return command.run(call);
}

Result<int> run(std::vector<std::string> words, Output& out) {
    if (words.empty()) {
        std::fputs(general_help().c_str(), stderr);
        return usage_status;
    }
    const std::size_t index = command_index(words);
    std::string name = "help";
    if (index != SIZE_MAX) {
        name = words[index];
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(index));
    } else if (std::ranges::find(words, "--version") != words.end()) {
        name = "version";
        std::erase(words, "--version");
    } else {
        std::erase_if(words, [](const std::string& w) { return w == "--help" || w == "-h"; });
    }
    PAL_TRY(command, command_named(name));
    PAL_TRY(status, run_command(*command, words, out));
    PAL_CHECK(out.flush());
    return status;
}

bool wants_json(const std::vector<std::string>& words) {
    const char* variable = std::getenv("PAL_JSON");
    const auto flags_end = std::ranges::find(words, "--");
    return std::find(words.begin(), flags_end, "--json") != flags_end ||
           (variable &&
            (std::string_view(variable) == "1" || std::string_view(variable) == "true"));
}

// What to do next, where the store cannot know that it is asked by a person at a prompt.
Error with_next_step(Error error) {
    if (error.code == ErrorCode::not_found && error.message.starts_with("no conversation "))
        error.message +=
            "; `pal list` shows those that are there. One that is there and is not found has lost "
            "its name: `pal doctor --repair` puts it back";
    return error;
}

int report(const Error& error, bool json) {
    if (json) {
        std::fprintf(stderr, "%s\n", error_response(error).body.c_str());
    } else {
        tell_error(error);
    }
    return error_info(error.code).exit_status;
}

// A file that is opened must not take the place of a standard stream that was closed: what is
// printed would go into it.
void fill_standard_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (fcntl(fd, F_GETFD) == -1) (void)!open("/dev/null", O_RDWR);
}

int guarded_main(int count, char** values) {
    fill_standard_streams();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  // A limit on the size of files is an error like a full disk.
    exit_on_interrupt();
    const std::vector<std::string> words(values + 1, values + count);
    Output out(STDOUT_FILENO);
    const Result<int> status = run(words, out);
    if (status) return *status;
    // What was printed before the error belongs before it.
    (void)out.flush();
    return report(with_next_step(status.error()), wants_json(words));
}

}  // namespace

std::span<const Command> command_table() {
    return table;
}

const Command* find_command(std::string_view name) {
    const auto* row = std::ranges::find(table, name, &Command::name);
    return row == std::end(table) ? nullptr : row;
}

}  // namespace palimpsest

int main(int count, char** values) {
    try {
        return palimpsest::guarded_main(count, values);
    } catch (const std::bad_alloc&) {
        std::fputs("pal: unavailable: out of memory; free some and try again\n", stderr);
        return palimpsest::error_info(palimpsest::ErrorCode::unavailable).exit_status;
    } catch (const std::exception& fault) {
        std::fprintf(stderr, "pal: internal: %s; please report it\n", fault.what());
        return palimpsest::error_info(palimpsest::ErrorCode::internal).exit_status;
    }
}
