// What a command is: a row of the table in main.cpp, a function and its flags in cmd_NAME.cpp.
//
// A command gets an Invocation that fits its row (number of arguments, known flags, settings, an
// open store where it needs one) and gives its exit status or an Error, which main() prints.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/json_write.h"
#include "cli/arguments.h"
#include "cli/terminal.h"
#include "engine/settings.h"
#include "palimpsest/memory.h"

namespace palimpsest {

// `write` may create the store; `read` refuses one that is not there.
enum class StoreUse : std::uint8_t { none, read, write };

struct Invocation;
using Flags = std::span<const Flag>;

struct Command {
    std::string_view name;
    std::string_view synopsis;  // its arguments: "ID [FILE]", "ID SEQ..."; also how many it takes
    std::string_view help;      // one line
    StoreUse store = StoreUse::none;
    std::uint8_t scopes = 0;  // SettingScope bits beside general and, with a store, store
    const Flags* flags = nullptr;
    Result<int> (*run)(Invocation& call) = nullptr;
    // Before the store is opened: what may take long (standard input) must not hold up others.
    Result<void> (*prepare)(Invocation& call) = nullptr;
    std::string_view storeless_flag = {};  // with this flag no store is opened
    std::string (*more_help)() = nullptr;  // what its help says after the flags
    bool always = false;                   // settings that cannot be read do not stop it
};

// THE table; main.cpp.
std::span<const Command> command_table();
const Command* find_command(std::string_view name);

struct Invocation {
    const Command& command;
    Settings settings = {};
    Arguments arguments = {};
    Output& out;
    std::string input = {};             // what `prepare` has read
    std::optional<Memory> memory = {};  // open when the row says so
    // The settings as they are now, of the same flags and the same file.
    std::function<Result<Settings>()> read_settings = {};

    bool json() const { return settings.json; }
    // The conversation that an argument names.
    ConversationId name(std::size_t index = 0) const { return {settings.tenant, arguments[index]}; }
};

// Every flag that the command takes: its own, those of the settings in its scopes, and help.
std::vector<KnownFlag> known_flags(const Command& command);
std::vector<const Setting*> settings_of(const Command& command);
// How many arguments the synopsis asks for.
struct ArgumentCount {
    std::size_t least = 0, most = 0;
};
ArgumentCount argument_count(std::string_view synopsis);

std::string command_help(const Command& command);
std::string general_help();

// A position: a number from 1, or "last", which is `end`.
Result<Seq> parse_seq(std::string_view text);
// "4" or "4..9".
Result<Range> parse_range(std::string_view text);
// "a,b": its parts; empty ones are left out.
std::vector<std::string> split_list(std::string_view text);
// The whole number from `least` to `most` that a flag gives; `otherwise` without the flag.
Result<std::uint64_t> parse_count(const Arguments& arguments, std::string_view flag,
                                  std::uint64_t otherwise, std::uint64_t most,
                                  std::uint64_t least = 1);
// What `--meta k=v`, given any number of times, says; and the same as a JSON object of strings.
Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& pairs);
Result<std::string> parse_metadata(const std::vector<std::string>& pairs);
// A file's content, or the standard input for "-". not_found, forbidden or too_large.
Result<std::string> read_input(const std::string& file);
// The message in words, for one line: its text, calls and results.
std::string describe(const Message& message);

// `{...}` as one line of output.
template <class Write, class Value>
void print_json(Output& out, Write write, const Value& value) {
    std::string text;
    JsonWriter json(text);
    write(json, value);
    out.json_line(std::move(text));
}

}  // namespace palimpsest
