// driven_turn: turns of /api/v1/chat in which the engine asks the model more than once: an answer
// that must fit a JSON Schema goes back until it does, and calls of search_memory and recall are
// answered here.
#pragma once
#include <optional>

#include "palimpsest/chat.h"
#include "server/route.h"

namespace palimpsest {

struct DrivenTerms {
    std::optional<AnswerShape> shape = {};  // `response_format` of the type json_schema
    bool recall = false;                    // `recall_tools`
};

// None: one call of the model is the turn.
Result<std::optional<DrivenTerms>> driven_terms_in(const Call& call);

// `outcome_unknown` when the model was stopped before it said a word: the time for the request was
// over, or the server ends.
Result<void> check_answered(const ChatDone& done);

// The body of a turn; with a schema also "output": the checked value, and "attempts". Streamed,
// each answer's pieces are deltas, and an event "retry" or "tool" says that what came before it is
// not the answer. Calls of other tools are the caller's.
Result<RouteReply> drive_turn(Call& call, const ConversationId& name, Model& model,
                              std::string_view messages, const DrivenTerms& terms);

}  // namespace palimpsest
