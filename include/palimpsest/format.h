// Formats: provider bytes to messages and back. Nothing here touches a file, socket or clock; what
// a writer needs of them (ids, times) is passed in. All functions may be called from any thread.
//
// A message read here keeps the bytes it came in; those are what is stored and sent. Everything
// else (shape, fingerprint, parts) is read from them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/message.h"
#include "palimpsest/types.h"

namespace palimpsest {

// "openai_chat", "openai_responses", "anthropic".
std::string_view format_name(FormatId format);
std::optional<FormatId> format_by_name(std::string_view name);
// The format of that name, or invalid_request with the names that exist.
Result<FormatId> parse_format_name(std::string_view name);

// One message (or Responses item). Surrounding white space is trimmed; every other byte stays.
// Unknown roles, item types and parts are kept. invalid_request names the field that is of the
// wrong kind and what was expected. Counts are not filled in.
Result<Message> read_message(FormatId format, Bytes raw);

// A message, a list of them, or a request body that holds one (`messages`, `input`, `items`). Each
// message's raw is its own bytes exactly; an `input` that is a string becomes a user message.
// Fields beside the list (a system prompt, tools) are not read: see read_request().
Result<std::vector<Message>> read_messages(FormatId format, Bytes json);

// The parts, in order. Their views stay good as long as the Parts or a copy of it lives.
Result<Parts> read_parts(const Message& message);

// A plain text message. A tool's message needs a call to answer, so Role::tool is refused.
Result<Message> make_message(FormatId format, Role role, std::string_view text);

constexpr std::string_view removed_text = "[removed]";

// What a scrub leaves behind: a valid message of the same role that makes the same calls and
// answers the same calls (ids only; names and arguments go), its text replaced by removed_text.
// Needs the shape; the raw bytes only where the item's type must be known.
Result<Bytes> scrubbed_message(const Message& message);

}  // namespace palimpsest
