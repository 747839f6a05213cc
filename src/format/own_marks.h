// own_marks: the marks for a prompt cache (cache_control) that a request brings itself.
//
// A log keeps what was said with the marks that it came with, so the marks of many requests stand
// in it. A provider takes only so many; the newest say how far the cache is to reach now.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/json.h"
#include "palimpsest/format.h"

namespace palimpsest {

constexpr std::size_t cache_marks_max = 4;

// Of a content block and of the blocks in a tool's result.
std::size_t marks_of_block(JsonValue block);
// Of a request beside its messages: its own, those of its tools and of its system prompt.
std::size_t marks_beside_messages(JsonValue request);
// Of the messages of a request.
std::size_t marks_of_messages(JsonValue request);

// How many marks its messages may have.
inline std::size_t room_for_marks(const CheckOptions& options) {
    return cache_marks_max - std::min(cache_marks_max, options.marks_beside);
}

// Takes the older marks off messages of Anthropic's format until at most `room` are left, and those
// that must not stand before newer ones (a cache of an hour goes before one of minutes). Gives the
// indexes of the messages that changed; all else of them stays byte for byte.
std::vector<std::size_t> drop_older_marks(std::span<Message> messages, std::size_t room);

}  // namespace palimpsest
