#include "engine/tool_dialects.h"

#include <algorithm>
#include <iterator>

namespace palimpsest {
namespace {

constexpr ToolDialect table[] = {
    {.format = FormatId::openai_chat,
     .tool_open = R"({"type":"function","function":{)",
     .schema_field = "parameters",
     .tool_close = "}}",
     .results_open = "",
     .result_id = R"({"role":"tool","tool_call_id":)",
     .result_text = R"(,"content":)",
     .result_error = "",
     .results_close = "",
     .shape_field = "response_format",
     .shape_open = R"({"type":"json_schema","json_schema":{)",
     .shape_close = "}}",
     .choice_open = R"({"type":"function","function":{"name":)",
     .choice_close = "}}",
     .choice_any = R"("required")"},
    // Strict is the default there, and refuses schemas that are not written for it.
    {.format = FormatId::openai_responses,
     .tool_open = R"({"type":"function","strict":false,)",
     .schema_field = "parameters",
     .tool_close = "}",
     .results_open = "",
     .result_id = R"({"type":"function_call_output","call_id":)",
     .result_text = R"(,"output":)",
     .result_error = "",
     .results_close = "",
     .shape_field = "text",
     .shape_open = R"({"format":{"type":"json_schema",)",
     .shape_close = "}}",
     .choice_open = R"({"type":"function","name":)",
     .choice_close = "}",
     .choice_any = R"("required")"},
    {.format = FormatId::anthropic,
     .tool_open = "{",
     .schema_field = "input_schema",
     .tool_close = "}",
     .results_open = R"({"role":"user","content":[)",
     .result_id = R"({"type":"tool_result","tool_use_id":)",
     .result_text = R"(,"content":)",
     .result_error = R"(,"is_error":true)",
     .results_close = "]}",
     .shape_field = "",
     .shape_open = "",
     .shape_close = "",
     .choice_open = R"({"type":"tool","name":)",
     .choice_close = "}",
     .choice_any = R"({"type":"any"})"},
};

}  // namespace

const ToolDialect& tool_dialect_of(FormatId format) {
    const auto row = std::ranges::find(table, format, &ToolDialect::format);
    return row == std::end(table) ? table[0] : *row;
}

}  // namespace palimpsest
