// summary: lists the summaries of a conversation, or puts one of the caller's own in the place of
// messages.
#include "base/time.h"
#include "cli/command.h"
#include "cli/write_flags.h"
#include "engine/present.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"range", "SEQ..SEQ", "Store a summary of these messages; its text is TEXT or --file."},
    {"file", "FILE", "Where the text is read from; - is the standard input."},
    expect_flag,
};

Result<int> list(Invocation& call) {
    PAL_TRY(all, call.memory->summaries(call.name()));
    if (call.json()) {
        for (const Summary& one : all) print_json(call.out, write_summary, one);
        return 0;
    }
    Table table({"ENTRY", "FROM", "TO", "BEFORE", "AFTER", "BY", "COST", "AT", "IN FORCE", "TEXT"});
    for (const Summary& one : all)
        table.add({std::to_string(one.seq.value), std::to_string(one.range.from.value),
                   std::to_string(one.range.to.value), std::to_string(one.tokens_before),
                   std::to_string(one.tokens), one.model,
                   one.cost > 0 ? fmt::format("{:.6f}", one.cost) : "-", format_time(one.at),
                   one.in_force ? "yes" : "no", printable(one.text)});
    table.print(call.out);
    return 0;
}

}  // namespace

extern const Flags summary_flags;
const Flags summary_flags = flags;

Result<int> run_summary(Invocation& call) {
    const auto where = call.arguments.get("range");
    if (!where) return list(call);
    PAL_TRY(write, write_options(call.arguments));
    PAL_TRY(range, parse_range(*where));
    std::string text = call.arguments.size() > 1 ? call.arguments[1] : std::string();
    if (const auto file = call.arguments.get("file")) {
        PAL_TRY(read, read_input(*file));
        text = std::move(read);
    }
    PAL_TRY(done, call.memory->summarize(call.name(), range, text, write));
    if (call.json())
        print_json(call.out, write_compaction, done);
    else
        call.out.line(std::to_string(done.seq.value));
    return 0;
}

}  // namespace palimpsest
