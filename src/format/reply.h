// What the readers of replies and streams share.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/stream.h"

namespace palimpsest {

// The count at `key`; 0 if there is none.
std::uint64_t count_at(std::optional<JsonValue> object, std::string_view key);

// What an interrupted reply had begun and not finished (calls without all of their arguments,
// thinking without its signature) stays in the bytes of its last message, in this field, which no
// reader looks at and repair() takes away.
constexpr std::string_view unfinished_field = "_unfinished";
// `home` is an empty message to put it into where the last item has no room: a call or a piece of
// reasoning goes back as it is. Empty: the last message always has.
Result<void> keep_unfinished(Reply& reply, FormatId format,
                             const std::vector<std::string>& unfinished,
                             std::string_view home = {});
// The message without the field; the same one when it has none.
Result<Message> without_unfinished(const Message& message);

// The failure that a provider tells in the middle of an answer, in its words.
std::unexpected<Error> broke_off(std::optional<JsonValue> error);
// The error that an event carries, if it is an error event.
Result<void> refuse_error_event(JsonValue event);

// Whether `text` is a whole JSON value: the arguments of a call that came through.
bool is_whole_json(std::string_view text);

}  // namespace palimpsest
