// fork: a new conversation that shares another's log up to a position.
#include "cli/command.h"
#include "cli/write_flags.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"at", "SEQ|CHECKPOINT", "Where: an entry, or a checkpoint's name or id. [the end]"},
    key_flag,
};

// Digits are a position, anything else names a checkpoint.
Result<Seq> position_named(Invocation& call, const std::string& which) {
    if (which.find_first_not_of("0123456789") == which.npos) {
        PAL_TRY(seq, parse_number(which, "--at"));
        return Seq{seq};
    }
    PAL_TRY(checkpoint, call.memory->find_checkpoint(call.name(), which));
    return checkpoint.seq;
}

}  // namespace

extern const Flags fork_flags;
const Flags fork_flags = flags;

Result<int> run_fork(Invocation& call) {
    PAL_TRY(write, write_options(call.arguments));
    std::optional<Seq> at;
    if (const auto which = call.arguments.get("at")) {
        PAL_TRY(seq, position_named(call, *which));
        at = seq;
    }
    PAL_TRY(header, call.memory->fork(call.name(), call.name(1), at, write));
    if (call.json())
        print_json(call.out, write_header, header);
    else
        call.out.line(std::to_string(header.end.value));
    return 0;
}

}  // namespace palimpsest
