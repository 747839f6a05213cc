// diff: two views beside each other, of one conversation at two positions or of two branches.
#include "cli/command.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"at", "SEQ", "The view as it was after that entry; given twice, one for each.", true},
};

void print_diff(Output& out, const ViewDiff& diff) {
    for (const ViewDiff::Row& row : diff.rows) {
        const std::string text =
            std::string(1, row.side) + " " + std::to_string(row.item.range.from.value) + "  " +
            std::string(item_kind_name(row.item.kind)) + "  " +
            std::string(role_name(row.item.message.shape.role)) + ": " + describe(row.item.message);
        out.line(row.side == '=' ? out.styled(Style::dim, text) : text);
    }
    out.line(std::to_string(diff.tokens_a) + " and " + std::to_string(diff.tokens_b) +
             " tokens; the first " + std::to_string(diff.same_items) + " items (" +
             std::to_string(diff.same_tokens) + " tokens) are the same");
}

}  // namespace

extern const Flags diff_flags;
const Flags diff_flags = flags;

Result<int> run_diff(Invocation& call) {
    const std::vector<std::string> places = call.arguments.all("at");
    std::vector<ViewOptions> options(2);
    for (std::size_t i = 0; i < std::min(places.size(), options.size()); ++i) {
        PAL_TRY(seq, parse_seq(places[i]));
        options[i].at = seq;
    }
    PAL_TRY(a, call.memory->view(call.name(), options[0]));
    PAL_TRY(b, call.memory->view(call.name(call.arguments.size() > 1 ? 1 : 0), options[1]));
    const ViewDiff diff = diff_views(a, b);
    if (call.json())
        print_json(call.out, write_diff, diff);
    else
        print_diff(call.out, diff);
    return 0;
}

}  // namespace palimpsest
