// keep_last: keeps the newest messages, turns or tokens and drops what is older.
//
// A cut that would fall inside a turn moves to a safe start, so what is kept may be more than was
// asked for (less only where there are too many messages), and in one long turn a cut falls between
// its groups. What is protected stays where it
// is.
#include <algorithm>

#include "core/pass.h"
#include "core/pass_parameters.h"

namespace palimpsest {

Result<PassFunction> make_keep_last(const JsonValue& parameters);

namespace {

PassResult drop_before(const PassInput& input, std::size_t start, std::string reason) {
    PlannedEdit edit;
    edit.reason = std::move(reason);
    for (std::size_t g = 0; g < start && g < input.groups.size(); ++g)
        if (input.shields[g] == Shield::none) edit.groups.push_back(g);
    PassResult result;
    if (!edit.groups.empty()) result.edits.push_back(std::move(edit));
    return result;
}

PassResult not_enough() {
    PassResult result;
    result.not_enough_history = true;
    return result;
}

PassResult keep_messages(const PassInput& input, std::size_t count) {
    std::size_t left = 0;
    for (const Group& group : input.groups) left += group.last - group.first + 1;
    if (count >= left) return not_enough();
    std::size_t nominal = input.groups.size() - 1;
    for (std::size_t kept = 0; nominal > 0; --nominal) {
        kept += input.groups[nominal].last - input.groups[nominal].first + 1;
        if (kept >= count) break;
    }
    const std::size_t start = safe_start(input, nominal);
    // Tokens are to be freed, and not fewer messages to be kept than was asked for.
    if (input.has_target && start > nominal) return not_enough();
    return drop_before(input, start, "older than the last " + std::to_string(count) + " messages");
}

PassResult keep_turns(const PassInput& input, std::size_t count) {
    if (count >= input.turns.size()) return not_enough();
    const std::size_t start =
        count == 0 ? input.groups.size() : input.turns[input.turns.size() - count].first;
    return drop_before(input, start, "older than the last " + std::to_string(count) + " turns");
}

// The newest groups that fit; at least the newest one.
PassResult keep_tokens(const PassInput& input, std::uint64_t count) {
    std::uint64_t kept = 0;
    std::size_t start = input.groups.size();
    while (start > 0) {
        const Group& group = input.groups[start - 1];
        std::uint64_t more = 0;
        for (std::size_t i = group.first; i <= group.last; ++i) more += input.tokens[i];
        if (kept + more > count && start < input.groups.size()) break;
        kept += more;
        --start;
    }
    if (start == 0) return not_enough();
    // Forward to the start of a turn, so that no more is kept than was asked for; inside one long
    // turn between its groups, before a thought where it has several.
    const std::size_t turn = turn_of(input.turns, start);
    if (input.turns[turn].first != start && turn + 1 < input.turns.size())
        start = input.turns[turn + 1].first;
    start = cut_at_thought(input, start);
    return drop_before(input, start, "older than the last " + std::to_string(count) + " tokens");
}

}  // namespace

Result<PassFunction> make_keep_last(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {"messages", "turns", "tokens"}));
    PAL_TRY(messages, count_field(parameters, "messages"));
    PAL_TRY(turns, count_field(parameters, "turns"));
    PAL_TRY(tokens, count_field(parameters, "tokens"));
    if (messages.has_value() + turns.has_value() + tokens.has_value() != 1)
        return fail(ErrorCode::invalid_request,
                    "keep_last takes one of \"messages\", \"turns\" and \"tokens\", a number");
    if (messages)
        return PassFunction([n = *messages](const PassInput& in) { return keep_messages(in, n); });
    if (turns) return PassFunction([n = *turns](const PassInput& in) { return keep_turns(in, n); });
    return PassFunction([n = *tokens](const PassInput& in) { return keep_tokens(in, n); });
}

}  // namespace palimpsest
