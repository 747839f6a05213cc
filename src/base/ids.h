// Names that people and programs hand us, and names that we make from positions.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/error.h"
#include "palimpsest/types.h"

namespace palimpsest {

constexpr std::size_t id_bytes_max = 255;

// A conversation's id or tenant: 1 to 255 bytes of valid UTF-8 without control characters. Slashes
// are allowed, but no part between slashes (or backslashes) may be "." or "..": no store of ours
// uses ids as a path, but what people build around them may. Nor is text taken that stands for
// broken text: different names would become one.
Result<void> check_id(std::string_view id, std::string_view what);
Result<void> check_name(const ConversationId& name);
// It has U+FFFD, as JSON has in the place of half a character.
bool stands_for_broken_text(std::string_view text);

std::string hex(const LogId& log);
std::optional<LogId> parse_log_id(std::string_view hex);

// Ids of things that are a position in a log: PREFIX_ + uid + seq, as "msg_", "ckpt_", "resp_".
std::string position_id(std::string_view prefix, const LogId& log, Seq seq);
struct Position {
    LogId log = {};
    Seq seq = {};
};
std::optional<Position> parse_position_id(std::string_view prefix, std::string_view id);

}  // namespace palimpsest
