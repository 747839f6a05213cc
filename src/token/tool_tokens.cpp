#include "token/tool_tokens.h"

#include "base/json.h"
#include "token/tool_text.h"

#include <algorithm>

namespace palimpsest {
namespace {

std::string_view text(JsonValue object, std::string_view key) {
    const auto found = object.find(key);
    return found ? found->string() : std::string_view();
}

// {"function": {…}} of a chat, or the tool itself.
JsonValue function_of(JsonValue tool) {
    return tool.find("function").value_or(tool);
}

bool is_function(JsonValue tool) {
    const std::string_view type = text(tool, "type");
    return type.empty() || type == "function" || type == "custom";
}

std::uint64_t schema_tokens(const Tokenizer& tokenizer, JsonValue function) {
    for (const std::string_view field : {"input_schema", "parameters"})
        if (const auto schema = function.find(field))
            return tokenizer.count(compact_json(schema->raw()));
    return 0;
}

// A service that reads JSON.
std::uint64_t written_tokens(const Tokenizer& tokenizer, JsonValue tool) {
    const JsonValue function = function_of(tool);
    return tokenizer.count(text(function, "name")) +
           tokenizer.count(text(function, "description")) + schema_tokens(tokenizer, function);
}

// Beside what tool_text() tells of it.
std::uint64_t note_tokens(const Tokenizer& tokenizer, JsonValue tool) {
    const auto parameters = function_of(tool).find("parameters");
    const std::string_view note = parameters ? text(*parameters, "description") : "";
    return note.empty() ? 0 : tokenizer.count("// " + std::string(note) + "\n");
}

std::uint64_t not_below_zero(std::int64_t tokens) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 0));
}

ToolTokens rendered(const ModelSpec& model, const Tokenizer& tokenizer, JsonValue tools,
                    bool has_system) {
    ToolTokens out;
    const ToolText words = tool_text(tools);
    out.declared = tokenizer.count(words.text);
    bool flat = false;
    for (const JsonValue tool : tools.elements()) {
        flat = flat || (!tool.find("function") && !tool.find("input_schema"));
        if (!is_function(tool)) out.declared += tokenizer.count(tool.raw());
        if (tool.find("input_schema")) out.declared += written_tokens(tokenizer, tool);
        if (flat) out.declared += note_tokens(tokenizer, tool);
    }
    const Overheads& added = model.overheads;
    const std::int32_t system = has_system && !flat ? added.tools_system : 0;
    out.having = not_below_zero((flat ? added.flat_tools : added.tools) + system +
                                std::int64_t{added.per_typed_tool} * words.typed_tools);
    return out;
}

}  // namespace

ToolTokens tool_tokens(const ModelSpec& model, const Tokenizer& tokenizer, std::string_view tools,
                       bool has_system) {
    if (tools.empty()) return {};
    const auto document = parse_json(tools);
    if (!document || !document->root().is_array()) return {tokenizer.count(tools), 0};
    const JsonValue list = document->root();
    if (list.size() == 0) return {};
    if (model.exact) return rendered(model, tokenizer, list, has_system);
    ToolTokens out{0, not_below_zero(model.overheads.tools)};
    for (const JsonValue tool : list.elements())
        out.declared +=
            is_function(tool) ? written_tokens(tokenizer, tool) : tokenizer.count(tool.raw());
    return out;
}

}  // namespace palimpsest
