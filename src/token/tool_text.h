// Tools as the models see them: OpenAI's services turn the JSON Schemas of functions into a
// declaration in TypeScript, and count that.
#pragma once
#include "base/json.h"

#include <string>

namespace palimpsest {

struct ToolText {
    std::string text;
    std::uint32_t typed_tools = 0;  // Those with parameters.
};

// `tools` is the list of a chat request ({"type": "function", "function": {…}}) or of a Responses
// request (the function's fields beside "type"). Tools of other types are left out.
ToolText tool_text(JsonValue tools);

// JSON without the white space between its tokens.
std::string compact_json(std::string_view json);

}  // namespace palimpsest
