// shaped_turn: /api/v1/chat with a JSON Schema for the answer. What does not fit goes back to the
// model; what is given fits.
#pragma once
#include <optional>

#include "palimpsest/chat.h"
#include "server/route.h"

namespace palimpsest {

// What `response_format` of the type json_schema asks for; none: there is no schema to hold an
// answer to.
Result<std::optional<AnswerShape>> shape_in(const Call& call);

// The body of a turn, with "output": the checked value, and "attempts". Streamed, each attempt's
// pieces are deltas, and an event "retry" says that what came before it is not the answer.
Result<RouteReply> chat_in_shape(Call& call, const ConversationId& name, Model& model,
                                 std::string_view messages, const AnswerShape& shape);

}  // namespace palimpsest
