// turn_body: what the bodies of turns have in common, read and written.
#pragma once
#include <string>
#include <string_view>

#include "base/json_write.h"
#include "server/route.h"

namespace palimpsest {

void write_usage(JsonWriter& out, const Usage& usage);
// [{"id","name","arguments"}]
void write_calls(JsonWriter& out, const Answer& answer);

// A field of the body as it stands there; "" when there is none.
std::string raw_of(const Call& call, std::string_view name);
// `message` is a text or one message; `messages` is a list.
Result<std::string> said_in(const Call& call);
// What the model is told beside messages and tools: `parameters`, with `response_format` in them.
Result<std::string> parameters_in(const Call& call);
Usage usage_in(const Call& call);

// What the body asks for, or else the agent of the request or of the conversation; "": nobody says.
Result<std::string> model_name_of(Call& call, const ConversationId& name);

}  // namespace palimpsest
