// turn_log: what a conversation's log says about one of its turns.
//
// A turn stands in the log as what was said, a compaction where one was due, and the note of the
// call, in this order and in one batch; later its answer and the note of what it cost. So any
// server can go on with a turn, or tell it again, from the log alone.
#pragma once
#include "palimpsest/memory.h"

namespace palimpsest {

// The note of the call that the answer of the turn at `turn` is for: of several, because it was
// sent again, the newest up to its answer. not_found where no turn of this conversation begins
// there: beyond the end, in another log, or not followed by the note of a call.
Result<Seq> find_call(Memory& memory, const ConversationId& name, const LogId& log, Seq turn);

// What the turn sent, from the note of its call, so that what the provider reports can be learned
// from: view, preamble, tools and model of `begun`.
Result<void> read_begun(Memory& memory, Seq call, Begun& begun);

// The compaction that was made when the turn began, as it was reported then.
Result<std::optional<Compaction>> find_compaction(Memory& memory, const Begun& begun);

// The answer at `begun.already_at`: the message, what it cost, and whether it is only a part.
Result<Answer> read_answer(Memory& memory, const Begun& begun);

}  // namespace palimpsest
