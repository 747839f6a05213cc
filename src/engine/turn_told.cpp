// What a turn is told of its compaction.
#include "engine/turn_attempt.h"

namespace palimpsest {

void tell_resting(const Due& due, std::vector<std::string>& warnings) {
    for (const Due::Rest& rest : due.resting)
        warnings.push_back(
            "compaction is due (" + rest.trigger +
            ") and rests, because it changed nothing twice: it is tried again when the view has " +
            std::to_string(rest.until) + " tokens");
}

std::unexpected<Error> refuse(Memory::State& state, const ConversationId& name,
                              const Planned& planned) {
    announce(state, name, told_of(planned));
    return std::unexpected(unreachable_error(planned.plan));
}

Result<void> tell_compaction(Memory::State& state, const Attempt& attempt, Seq behind,
                             Begun& begun) {
    if (!attempt.planned) return {};
    if (attempt.refused()) return refuse(state, begun.name, *attempt.planned);
    const Plan& plan = attempt.planned->plan;
    const bool done = plan.outcome == PlanOutcome::done;
    Compaction told = told_of(*attempt.planned, done ? behind : Seq{});
    announce(state, begun.name, told);
    if (!done)
        begun.warnings.push_back("compaction was due (" + plan.trigger + ") and changed nothing: " +
                                 std::string(outcome_name(told.outcome)) +
                                 (plan.explanation.empty() ? "" : ", " + plan.explanation) +
                                 (attempt.rests ? "; it is not tried again until the view has "
                                                  "grown by an eighth"
                                                : ""));
    if (done) begun.compaction = std::move(told);
    return {};
}

}  // namespace palimpsest
