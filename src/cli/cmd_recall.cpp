// recall: what was cleared, folded or dropped, as it was said. By the id of a tool call, a position
// or a range of positions.
#include "cli/command.h"
#include "engine/present.h"

namespace palimpsest {

// A number or a range is a position; anything else is the id of a call.
Result<int> run_recall(Invocation& call) {
    const std::string& what = call.arguments[1];
    RecallQuery query;
    if (what.find_first_not_of("0123456789.") == what.npos) {
        PAL_TRY(range, parse_range(what));
        query.range = range;
    } else {
        query.call_id = what;
    }
    PAL_TRY(found, call.memory->recall(call.name(), query));
    for (const Recalled& one : found) {
        if (call.json()) {
            print_json(call.out, write_recalled, one);
            continue;
        }
        const std::string head = std::to_string(one.seq.value) + "  " + one.shown + "  " +
                                 std::string(role_name(one.message.shape.role)) + ": ";
        call.out.line(call.out.styled(Style::dim, head) + printable(view_of(one.message.raw)));
    }
    return 0;
}

}  // namespace palimpsest
