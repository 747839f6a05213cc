#include "format/openai_request.h"

namespace palimpsest {
namespace {

// Chat Completions keeps a definition one level down.
void read_tools(NeutralRequest& request, JsonValue tools) {
    for (const JsonValue tool : tools.elements()) {
        auto read = read_tool(request, tool, "custom");
        if (!read) continue;
        const auto inner = tool.find(read->custom ? "custom" : "function");
        read_definition(request, *read, inner.value_or(tool), "parameters");
        request.tools.push_back(*read);
    }
}

}  // namespace

bool read_openai_tool_field(NeutralRequest& request, std::string_view key, JsonValue value) {
    if (key == "tools")
        read_tools(request, value);
    else if (key == "tool_choice")
        read_choice_word(request, value);
    else if (key == "parallel_tool_calls")
        request.parallel = value.boolean();
    else
        return false;
    return true;
}

void write_openai_definition(JsonWriter& out, const NeutralTool& tool) {
    out.field("name", tool.name);
    if (!tool.description.empty()) out.field("description", tool.description);
    raw_field(out, tool.custom ? "format" : "parameters", tool.schema);
    raw_field(out, "strict", tool.strict);
}

bool write_openai_choice(JsonWriter& out, const NeutralRequest& request) {
    if (request.parallel) out.key("parallel_tool_calls").boolean(*request.parallel);
    if (request.choice.empty()) return false;
    out.key("tool_choice");
    if (request.choice == "tool") return true;
    out.string(request.choice);
    return false;
}

}  // namespace palimpsest
