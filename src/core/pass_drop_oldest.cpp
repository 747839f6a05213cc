// drop_oldest: drops the oldest turns until the target is met, then, where one long turn is all
// that is left, its oldest groups.
//
// Only whole groups go, so a tool result never outlives its call; whole turns as long as there are
// some, so that what is kept begins with a question.
#include "core/pass.h"
#include "core/pass_parameters.h"

namespace palimpsest {

Result<PassFunction> make_drop_oldest(const JsonValue& parameters);

namespace {

std::uint64_t tokens_in(const PassInput& input, const Group& group) {
    std::uint64_t sum = 0;
    for (std::size_t i = group.first; i <= group.last; ++i) sum += input.tokens[i];
    return sum;
}

bool is_free(const PassInput& input, std::size_t g, bool summaries) {
    if (input.shields[g] != Shield::none) return false;
    return summaries || input.treatments[input.groups[g].first] != Treatment::folded;
}

// Marks turn by turn; inside the newest turn group by group.
std::uint64_t mark_oldest(const PassInput& input, std::vector<bool>& gone, bool summaries) {
    std::uint64_t used = input.used;
    for (std::size_t g = 0; g < gone.size(); ++g)
        if (gone[g]) used -= tokens_in(input, input.groups[g]);
    std::size_t stop = 0;  // where the newest turn is cut; 0: not known yet
    for (const Turn& turn : input.turns) {
        if (used <= input.target) break;
        const bool newest = turn.last + 1 == input.groups.size();
        for (std::size_t g = turn.first; g <= turn.last; ++g) {
            if (gone[g] || !is_free(input, g, summaries)) continue;
            if (newest && used <= input.target) {
                if (stop == 0) stop = cut_at_thought(input, g);
                if (g >= stop) break;
            }
            gone[g] = true;
            used -= tokens_in(input, input.groups[g]);
        }
    }
    return used;
}

PassResult drop_oldest(PassInput input, bool summaries) {
    if (!input.has_target) input.target = input.used / 2;
    std::vector<bool> gone(input.groups.size());
    // Summaries go last: they are what is left of the past.
    const std::uint64_t used = mark_oldest(input, gone, false);
    if (summaries && used > input.target) mark_oldest(input, gone, true);
    PlannedEdit edit;
    edit.reason = "oldest, to come down to " + std::to_string(input.target) + " tokens";
    for (std::size_t g = 0; g < gone.size(); ++g)
        if (gone[g]) edit.groups.push_back(g);
    PassResult result;
    result.not_enough_history = edit.groups.empty();
    if (!edit.groups.empty()) result.edits.push_back(std::move(edit));
    return result;
}

}  // namespace

Result<PassFunction> make_drop_oldest(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {"keep_summaries"}));
    PAL_TRY(keep, flag_field(parameters, "keep_summaries"));
    const bool summaries = !keep.value_or(false);
    return PassFunction([summaries](const PassInput& in) { return drop_oldest(in, summaries); });
}

}  // namespace palimpsest
