// sayable: whether a model can be asked with what a request says. Looked at before anything is
// stored: a request that would be refused, or whose words would all be left out on the way, leaves
// nothing behind.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "palimpsest/message.h"
#include "palimpsest/model.h"
#include "server/route.h"

namespace palimpsest {

// What stands in the conversation; not_found: it is not there yet. Asked for only where it matters.
using SaidBefore = std::function<Result<std::vector<Message>>()>;

// `said` is a list of messages of the format, in the body's field `param`. invalid_request names
// the newest messages when none of them has a meaning for the model: results of calls that nobody
// made, roles that nobody knows, parts that have no form there, or nothing but a system prompt.
Result<void> check_sayable(JsonValue said, FormatId format, const Model& model,
                           const SaidBefore& before, std::string_view param);

// What is seen of a conversation.
Result<std::vector<Message>> messages_in(Memory& memory, const ConversationId& name);

}  // namespace palimpsest
