// What OpenAI's two formats spell alike in requests.
#pragma once
#include "format/request.h"

namespace palimpsest {

// tools, tool_choice and parallel_tool_calls; false for any other field.
bool read_openai_tool_field(NeutralRequest& request, std::string_view key, JsonValue value);

// Name, description, schema and strictness of a tool.
void write_openai_definition(JsonWriter& out, const NeutralTool& tool);
// parallel_tool_calls, and tool_choice where it is a word; true if a tool is still to be named.
bool write_openai_choice(JsonWriter& out, const NeutralRequest& request);

}  // namespace palimpsest
