// What of a message is searched: its text, who said it, tool calls with their arguments, and
// results, those of a provider's own tools and documents of text among them. Not reasoning, not
// media, not what a model asked the tools `recall` and `search_memory` and was answered.
#pragma once
#include <functional>
#include <set>
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
    std::vector<std::string> lookups = {};  // ids of its calls of `recall` and `search_memory`
};

// Empty for a message that cannot be read. `lookups`: calls of those two tools that were made
// before; with it, answers that only say that there is nothing are left out too.
using CallIds = std::set<std::string, std::less<>>;
SearchText search_text(const Message& message, const CallIds& lookups = {});

}  // namespace palimpsest
