// A round of a turn: one answer of the model and what became of its calls, as the log has it.
//
// Notes beside the messages: "tool_started" {"answer","key","calls":[ids]} stands in the log before
// any of these tools runs; "tool_pending" has the same fields and names calls that wait for a
// decision. `answer` is the seq of the answer (the last of its items) that made the calls.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/tool_calls.h"

namespace palimpsest {

struct Round {
    std::vector<Message> items = {};  // of the answer
    Seq seq = {};                     // of its last item
    Begun begun = {};                 // what was sent; only its turn is known when read from a log
    Finished finished = {};
    bool interrupted = false;
    bool stored = false;  // read from the log: what comes after it may be there too
    Usage usage = {};
    std::optional<double> cost = {};
    StopReason stop = StopReason::other;
};

// What the log has of a round's calls.
struct RoundLog {
    std::set<std::string> answered = {}, started = {};
    std::vector<Seq> results = {};   // where they are answered, ascending
    std::optional<Round> next = {};  // the answer of the round that follows
    std::string key = {};            // of the turn, where a note has it
};

constexpr std::string_view tool_started_note = "tool_started";
constexpr std::string_view tool_pending_note = "tool_pending";

NoteEntry calls_note(std::string_view kind, Seq answer, std::string_view key,
                     const std::vector<PendingCall>& calls);

Result<RoundLog> read_round(Memory& memory, const ConversationId& name, const Round& round,
                            const std::vector<PendingCall>& calls);

// The answer whose last item is at `seq`: its items and its usage.
Result<Round> read_answer(Memory& memory, const ConversationId& name, Seq seq);

// What the model was sent for the answer at `seq`, to send more of the same; none when the call
// left no note.
struct TurnRequest {
    BeginRequest request = {};  // without messages
    std::string preamble = {};  // messages as elements of a JSON list
};
Result<TurnRequest> read_turn_request(Memory& memory, const ConversationId& name, Seq call);
// The seq of the note of the call that the answer at `seq` came from; 0: none.
Result<Seq> call_of_answer(Memory& memory, const ConversationId& name, Seq seq);

}  // namespace palimpsest
