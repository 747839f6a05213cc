// What the stream readers share.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "palimpsest/stream.h"

namespace palimpsest {

std::unique_ptr<StreamReader> make_openai_chat_reader(OnDelta on_delta);
std::unique_ptr<StreamReader> make_openai_responses_reader(OnDelta on_delta);
std::unique_ptr<StreamReader> make_anthropic_reader(OnDelta on_delta);

std::unique_ptr<StreamWriter> make_openai_chat_writer(StreamIdentity identity);
std::unique_ptr<StreamWriter> make_openai_responses_writer(StreamIdentity identity);
std::unique_ptr<StreamWriter> make_anthropic_writer(StreamIdentity identity);

// The error that an event carries, if it is an error event.
Result<void> refuse_error_event(JsonValue event);

// Whether `text` is a whole JSON value: the arguments of a call that came through.
bool is_whole_json(std::string_view text);

}  // namespace palimpsest
