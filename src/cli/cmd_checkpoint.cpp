// checkpoint, checkpoints: named positions in a log.
#include "base/time.h"
#include "cli/command.h"
#include "cli/write_flags.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"meta", "K=V", "A field of the checkpoint's metadata; may be given several times.", true},
    key_flag,
    expect_flag,
};

constexpr Flag list_only[] = {
    {"meta", "K=V", "Only those whose metadata has this field; may be given several times.", true},
};

}  // namespace

extern const Flags checkpoints_flags;
const Flags checkpoints_flags = list_only;
extern const Flags checkpoint_flags;
const Flags checkpoint_flags = flags;

Result<int> run_checkpoint(Invocation& call) {
    PAL_TRY(write, write_options(call.arguments));
    PAL_TRY(metadata, parse_metadata(call.arguments.all("meta")));
    PAL_TRY(made, call.memory->checkpoint(call.name(), call.arguments[1], metadata, write));
    if (call.json())
        print_json(call.out, write_checkpoint, made);
    else
        call.out.line(printable(made.id));
    return 0;
}

Result<int> run_checkpoints(Invocation& call) {
    PAL_TRY(metadata, parse_pairs(call.arguments.all("meta")));
    PAL_TRY(checkpoints, call.memory->checkpoints(call.name(), metadata));
    if (call.json()) {
        for (const Checkpoint& checkpoint : checkpoints)
            print_json(call.out, write_checkpoint, checkpoint);
        return 0;
    }
    Table table({"SEQ", "NAME", "AT", "ID", "METADATA"});
    for (const Checkpoint& one : checkpoints)
        table.add({std::to_string(one.seq.value), one.name, format_time(one.at), one.id,
                   one.metadata == "{}" ? "" : one.metadata});
    table.print(call.out);
    return 0;
}

}  // namespace palimpsest
