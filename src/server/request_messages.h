// request_messages: what a request to Responses is about, as the messages that a model would see.
#pragma once
#include <string>
#include <vector>

#include "palimpsest/message.h"
#include "server/route.h"

namespace palimpsest {

// Whether the header X-Conversation-Id says which conversation is meant, on a route that hears it.
bool is_named_by_header(const Call& call);

// The id that `conversation` names, as a text or as {"id"}, or else the header; empty: none.
std::string named_conversation(const Call& call);

// A JSON list of items with the request's instructions before it.
std::string with_instructions(const Call& call, const std::string& items);

// An error about messages, as one about items of the request's input.
Error blame_input(Error error, const Call& call);

// What the model would see of the conversation or the previous response that the request names.
Result<std::vector<Message>> said_before(Call& call);

// Instructions, what the conversation or the previous response brings, and the input: all as items.
// Nothing is written.
Result<std::vector<Message>> request_messages(Call& call);

}  // namespace palimpsest
