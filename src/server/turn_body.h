// turn_body: what the bodies of turns have in common, read and written.
#pragma once
#include <string>
#include <string_view>

#include "base/json_write.h"
#include "server/route.h"

namespace palimpsest {

// turn_LOG+SEQ, and .KEY where there is one.
constexpr std::string_view turn_prefix = "turn_";
std::string turn_id(const Begun& begun);

// The first and the last fields of a turn's body.
void write_start(JsonWriter& out, const Begun& begun, std::string_view id);
void write_end(JsonWriter& out, const Begun& begun, const Finished& finished);
// What events of a streamed turn say.
std::string start_event(const Begun& begun);
std::string compaction_event(const Compaction& compaction);

void write_usage(JsonWriter& out, const Usage& usage);
// [{"id","name","arguments"}]
void write_calls(JsonWriter& out, const Answer& answer);

// A field of the body as it stands there; "" when there is none.
std::string raw_of(const Call& call, std::string_view name);
// `message` is a text or one message; `messages` is a list.
Result<std::string> said_in(const Call& call);
// What the model is told beside messages and tools: `parameters`, with `response_format` in them.
Result<std::string> parameters_in(const Call& call);
// What begin is asked for; `parameters` without a response_format. `messages` must outlive it.
Result<BeginRequest> begin_request_of(const Call& call, std::string_view messages,
                                      std::string_view model);
Usage usage_in(const Call& call);

// What the body asks for, or else the agent of the request or of the conversation; "": nobody says.
Result<std::string> model_name_of(Call& call, const ConversationId& name);

}  // namespace palimpsest
