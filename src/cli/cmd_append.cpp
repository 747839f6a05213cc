// append: one message, a list, a request body, or JSON Lines, to the end of a log, as one batch.
#include <unistd.h>

#include "base/json.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/write_flags.h"
#include "engine/present.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"format", "F", "openai_chat, openai_responses or anthropic. [openai_chat]"},
    key_flag,
    expect_flag,
    {"no-create", "", "Fail with not_found unless the conversation is there."},
    {"owner", "NAME", "Sets the conversation's owner."},
    {"title", "TEXT", "Sets its title."},
    {"system", "TEXT", "Sets its system prompt."},
    {"meta", "K=V", "Sets a field of its metadata; may be given several times.", true},
    {"ttl", "TIME", "Time to live after the last use: 90s, 15m, 24h, 7d, or none."},
};

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == text.npos;
}

std::string_view next_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

// JSON Lines: the first line that is not blank is JSON by itself, and more lines follow it.
bool is_json_lines(std::string_view text) {
    std::string_view first;
    while (!text.empty() && is_blank(first)) first = next_line(text);
    return !is_blank(text) && parse_json(first).has_value();
}

// A list whose elements are the lines, byte for byte.
Result<std::string> list_of_lines(std::string_view text) {
    std::string list = "[";
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = next_line(text);
        if (is_blank(line)) continue;
        const auto json = parse_json(line);
        if (!json)
            return fail(json.error().code,
                        "line " + std::to_string(number) + ": " + json.error().message);
        if (list.size() > 1) list += ',';
        list += line;
    }
    return list + "]";
}

Result<HeaderPatch> header_of(const Arguments& arguments) {
    HeaderPatch patch{.owner = arguments.get("owner"),
                      .title = arguments.get("title"),
                      .system_prompt = arguments.get("system")};
    if (arguments.has("meta")) {
        PAL_TRY(metadata, parse_metadata(arguments.all("meta")));
        patch.metadata_merge = metadata;
    }
    const auto ttl = arguments.get("ttl");
    if (ttl && *ttl == "none") {
        patch.ttl.emplace(std::nullopt);
    } else if (ttl) {
        PAL_TRY(duration, parse_duration(*ttl));
        patch.ttl.emplace(duration);
    }
    return patch;
}

}  // namespace

extern const Flags append_flags;
const Flags append_flags = flags;

Result<WriteOptions> write_options(const Arguments& arguments, IfAbsent if_absent) {
    const std::optional<std::string> key = arguments.get("key");
    if (key && key->empty())
        return fail(ErrorCode::invalid_request,
                    "--key is empty: give a text that names this write, or leave the flag out",
                    "--key");
    WriteOptions write{.key = key.value_or(""), .if_absent = if_absent};
    PAL_TRY(expected, arguments.number("expect"));
    if (expected) write.expected_end = Seq{*expected};
    return write;
}

Result<void> prepare_append(Invocation& call) {
    const std::string file = call.arguments.size() > 1 ? call.arguments[1] : "-";
    if (file == "-" && isatty(STDIN_FILENO) == 1)
        std::fputs("reading messages (JSON) from the terminal; Ctrl-D ends them\n", stderr);
    PAL_TRY(text, read_input(file));
    // With a key the same request is the same with or without the newline that an editor adds.
    const std::size_t end = text.find_last_not_of(" \t\r\n");
    if (end != text.npos) text.resize(end + 1);
    call.input = std::move(text);
    if (!is_json_lines(call.input)) return {};
    PAL_TRY(list, list_of_lines(call.input));
    call.input = std::move(list);
    return {};
}

Result<int> run_append(Invocation& call) {
    const Arguments& arguments = call.arguments;
    PAL_TRY(format, parse_format_name(arguments.get("format").value_or("openai_chat")));
    PAL_TRY(write, write_options(arguments,
                                 arguments.has("no-create") ? IfAbsent::fail : IfAbsent::create));
    PAL_TRY(patch, header_of(arguments));
    PAL_TRY(written,
            call.memory->append(
                call.name(),
                {.messages = call.input, .format = format, .write = write, .header = patch}));
    if (call.json())
        print_json(call.out, write_written, written);
    else
        call.out.line(std::to_string(written.last.value));
    return 0;
}

}  // namespace palimpsest
