// cache_marks: where Anthropic's prompt cache may break a request off.
//
// A request may carry four marks; each makes the prefix up to it a cache entry. Placed are: the end
// of the tools, the end of the system prompt, the last message that a compaction changed (what
// stands before it stays for long), and the end. A mark finds an older entry at most 20 blocks
// back, so a longer stretch at the end gets one more mark if there is one to spare.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest {

// `body` is a request of the Messages API; it comes back as it is when it has marks of its own.
// `behind_edit`: how many messages stand behind the last one that was edited; 0: none was.
Result<std::string> with_cache_marks(std::string_view body, std::size_t behind_edit);

}  // namespace palimpsest
