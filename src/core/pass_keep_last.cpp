// keep_last: keeps the newest messages or turns and drops what is older.
//
// {"pass": "keep_last", "messages": 20} keeps at least the last 20 messages, from a safe start;
// {"pass": "keep_last", "turns": 5} keeps the last 5 turns. Costs one walk over the groups.
#include <algorithm>

#include "core/pass.h"
#include "core/pass_parameters.h"

namespace palimpsest {
namespace {

PassResult drop_before(const PassInput& input, std::size_t start, std::string reason) {
    PlannedEdit edit{Treatment::dropped, {}, std::move(reason)};
    for (std::size_t g = 0; g < start; ++g)
        if (!input.is_protected[g]) edit.groups.push_back(g);
    PassResult result;
    if (!edit.groups.empty()) result.edits.push_back(std::move(edit));
    return result;
}

PassResult keep_messages(const PassInput& input, std::size_t count) {
    if (count >= input.items.size()) return {.not_enough_history = true, .edits = {}};
    const std::size_t first = input.items.size() - std::max<std::size_t>(count, 1);
    const auto group = std::find_if(input.groups.begin(), input.groups.end(),
                                    [&](const Group& g) { return g.last >= first; });
    const auto nominal = static_cast<std::size_t>(group - input.groups.begin());
    return drop_before(input, safe_start(input, nominal),
                       "older than the last " + std::to_string(count) + " messages");
}

PassResult keep_turns(const PassInput& input, std::size_t count) {
    if (count >= input.turns.size()) return {.not_enough_history = true, .edits = {}};
    const std::size_t start =
        count == 0 ? input.groups.size() : input.turns[input.turns.size() - count].first;
    return drop_before(input, start, "older than the last " + std::to_string(count) + " turns");
}

}  // namespace

Result<PassFunction> make_keep_last(const JsonValue& parameters) {
    PAL_CHECK(only_fields(parameters, {"pass", "messages", "turns"}));
    PAL_TRY(messages, count_field(parameters, "messages"));
    PAL_TRY(turns, count_field(parameters, "turns"));
    if (messages.has_value() == turns.has_value())
        return fail(ErrorCode::invalid_request,
                    "keep_last takes either \"messages\" or \"turns\", a number", "passes");
    if (messages)
        return PassFunction([n = *messages](const PassInput& in) { return keep_messages(in, n); });
    return PassFunction([n = *turns](const PassInput& in) { return keep_turns(in, n); });
}

}  // namespace palimpsest
