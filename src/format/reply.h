// What the stream readers share.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/stream.h"

namespace palimpsest {

std::unique_ptr<StreamReader> make_openai_chat_reader(OnDelta on_delta);
std::unique_ptr<StreamReader> make_openai_responses_reader(OnDelta on_delta);
std::unique_ptr<StreamReader> make_anthropic_reader(OnDelta on_delta);

std::unique_ptr<StreamWriter> make_openai_chat_writer(StreamIdentity identity);
std::unique_ptr<StreamWriter> make_openai_responses_writer(StreamIdentity identity);
std::unique_ptr<StreamWriter> make_anthropic_writer(StreamIdentity identity);

// What an interrupted reply had begun and not finished (calls without all of their arguments,
// thinking without its signature) stays in the bytes of its last message, in this field, which no
// reader looks at and render() leaves out.
constexpr std::string_view unfinished_field = "_unfinished";
Result<void> keep_unfinished(Reply& reply, FormatId format,
                             const std::vector<std::string>& unfinished);
// The message without the field; the same one when it has none.
Result<Message> without_unfinished(const Message& message);

// The error that an event carries, if it is an error event.
Result<void> refuse_error_event(JsonValue event);

// Whether `text` is a whole JSON value: the arguments of a call that came through.
bool is_whole_json(std::string_view text);

}  // namespace palimpsest
