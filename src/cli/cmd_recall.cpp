// recall: what was cleared, folded or dropped, as it was said. By the id of a tool call, or else a
// position or a range of positions.
#include "cli/command.h"
#include "engine/present.h"
#include "engine/recall.h"

namespace palimpsest {

Result<int> run_recall(Invocation& call) {
    PAL_TRY(query, recall_query(call.arguments[1]));
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
