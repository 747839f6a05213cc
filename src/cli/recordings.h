// Recorded conversations, as `simulate` takes them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/input.h"

namespace palimpsest {

struct Recording {
    std::vector<Said> said = {};
    std::string body = {};  // the request that it was; empty: what was said alone
};

// One JSON text or one for each line: a list or a request is a conversation; lines that hold one
// message each, bare, wrapped as {"at","message"} or as `export` and `log --json` write them, are
// together one, and what `export` writes first begins another; a blank text holds none. Errors name
// the line.
Result<std::vector<Recording>> read_recordings(std::string_view text, FormatId format,
                                               const Tokenizer& tokenizer);

}  // namespace palimpsest
