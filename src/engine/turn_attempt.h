// One try of begin, and what becomes of a begin that is stored already.
//
// A repeat (the same key) finds the batch of its first attempt and writes nothing. What is sent for
// it is held to the policy like what any call sends: where more is due on the view of the first
// attempt, because that one was refused or the policy is another by now, the turn goes on with a
// call of its own for what the first attempt said, planned on the conversation as it is now: if
// that still ends with what was asked. Else the model would answer something else, and the repeat
// is refused.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/call_note.h"
#include "engine/resend.h"
#include "engine/turn.h"
#include "engine/turn_terms.h"

namespace palimpsest {

struct Attempt {
    Batch batch = {};
    Footing before = {};
    Heard heard = {};
    CallState calls = {};                // as they will be
    std::vector<Message> preamble = {};  // as it is sent
    bool injected = false;               // its last is a summary of another conversation
    PolicyInForce in_force = {};
    std::optional<Planned> planned = {};
    std::optional<Appended> earlier = {};  // an attempt before this one stored the batch
    bool rests = false;  // what was due freed nothing again: its trigger is turned off
    bool soft_due = false;
    bool quoted = false;        // what is said has a quotation,
    std::size_t quoted_at = 0;  // there
    std::string recall_warning = {};

    // The policy ends the turn: what was said is stored and nothing is sent.
    bool refused() const { return planned && planned->plan.outcome == PlanOutcome::unreachable; }
};

// Of each trigger that is due and rests.
void tell_resting(const Due& due, std::vector<std::string>& warnings);
// The policy ends the turn; what was said is stored.
std::unexpected<Error> refuse(Memory::State& state, const ConversationId& name,
                              const Planned& planned);
// What was tried to make it fit, and what came of it. `behind` is the seq after what was said.
Result<void> tell_compaction(Memory::State& state, const Attempt& attempt, Seq behind,
                             Begun& begun);

// Without its view, and what follows from that. Takes from the attempt.
Begun begun_from(const BeginRequest& request, Attempt& attempt, const ConversationId& name,
                 const LogId& log, Seq turn);

// What an earlier attempt began, with its answer if it has one. The view is the one that was sent
// for the answer; without an answer, the one behind what was stored.
Result<Begun> begun_earlier(Memory::State& state, const BeginRequest& request, Attempt& attempt,
                            const ConversationId& name, const Appended& stored);
// Whether the policy wants less than that view before the model is asked.
Result<bool> is_too_much(Memory::State& state, const Begun& begun, const Attempt& attempt,
                         const BeginRequest& request);
// What the model must be sent if the turn goes on: the newest question of what was said for it, and
// what came with it.
Result<Asked> asked_in(Store& store, const Begun& begun, const Appended& stored);
// budget_unreachable unless the view shows all of it, and behind it no answer and no question.
Result<void> check_still_asked(const HotView& view, const Asked& asked);
// The same turn with nothing new said. Its batch has no key: each call that is made leaves a note.
BeginRequest going_on(const BeginRequest& request, Seq turn);

}  // namespace palimpsest
