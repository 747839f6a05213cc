// What of a message is searched: its text, who said it, tool calls with their arguments, and
// results. Not reasoning, not media, not what a model asked the tools `recall` and `search_memory`
// and was answered.
#pragma once
#include <string>
#include <vector>

#include "palimpsest/message.h"

namespace palimpsest {

struct SearchText {
    std::string text = {};
    struct ToolUse {
        std::string id = {}, name = {};  // results name only the id of their call
    };
    std::vector<ToolUse> tools = {};
};

// Empty for a message that cannot be read.
SearchText search_text(const Message& message);

}  // namespace palimpsest
