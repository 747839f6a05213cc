// pin, unpin, retract, undo: edits by hand. Each prints the position of the entry that it wrote.
#include "cli/command.h"
#include "cli/write_flags.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {key_flag, expect_flag};
constexpr Flag retract_only[] = {
    {"reason", "TEXT", "Why, for those who read the log."}, key_flag, expect_flag};

Result<int> print_seq(Invocation& call, Seq seq) {
    const std::string text = std::to_string(seq.value);
    if (call.json())
        call.out.json_line("{\"seq\":" + text + "}");
    else
        call.out.line(text);
    return 0;
}

// A position, or "last": the newest message.
Result<Seq> message_named(Invocation& call, const std::string& text) {
    if (text != "last") return parse_seq(text);
    PAL_TRY(newest, call.memory->log(call.name(), {.kinds = only(EntryKind::message),
                                                   .limit = 1,
                                                   .newest_first = true,
                                                   .content = false}));
    if (newest.empty())
        return fail(ErrorCode::not_found,
                    "there is no message in " + clipped(call.arguments[0], 60) + " yet");
    return newest.front().seq;
}

}  // namespace

extern const Flags edit_flags;
extern const Flags retract_flags;
const Flags edit_flags = flags;
const Flags retract_flags = retract_only;

Result<int> run_pin(Invocation& call) {
    PAL_TRY(write, write_options(call.arguments));
    PAL_TRY(message, message_named(call, call.arguments[1]));
    PAL_TRY(seq, call.memory->pin(call.name(), message, write));
    return print_seq(call, seq);
}

Result<int> run_unpin(Invocation& call) {
    PAL_TRY(write, write_options(call.arguments));
    PAL_TRY(message, message_named(call, call.arguments[1]));
    PAL_TRY(seq, call.memory->unpin(call.name(), message, write));
    return print_seq(call, seq);
}

Result<int> run_retract(Invocation& call) {
    PAL_TRY(write, write_options(call.arguments));
    PAL_TRY(range, parse_range(call.arguments[1]));
    const std::string reason = call.arguments.get("reason").value_or("");
    PAL_TRY(seq, call.memory->retract(call.name(), range, reason, write));
    return print_seq(call, seq);
}

Result<int> run_undo(Invocation& call) {
    PAL_TRY(write, write_options(call.arguments));
    std::optional<Seq> entry;
    if (call.arguments.size() > 1) {
        PAL_TRY(seq, parse_seq(call.arguments[1]));
        entry = seq;
    }
    PAL_TRY(seq, call.memory->undo(call.name(), entry, write));
    return print_seq(call, seq);
}

}  // namespace palimpsest
