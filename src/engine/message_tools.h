// What the pure planner is lent: messages read and rewritten by the formats, counted by a
// tokenizer. May be used from many threads at once if the tokenizer may.
#pragma once
#include <memory>

#include "palimpsest/compaction.h"
#include "palimpsest/tokenizer.h"

namespace palimpsest {

// `tokenizer` must outlive it.
std::unique_ptr<const MessageTools> make_message_tools(const Tokenizer& tokenizer);

}  // namespace palimpsest
