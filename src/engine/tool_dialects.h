// How each format writes tools, their results, and what an answer must look like: one row each.
// Pieces of JSON; what stands between them is the same everywhere.
#pragma once
#include <string_view>

#include "palimpsest/message.h"

namespace palimpsest {

struct ToolDialect {
    FormatId format = {};
    // {open "name":N,"description":D,field:SCHEMA close
    std::string_view tool_open, schema_field, tool_close;
    // A message of results: open, for each {one ID second TEXT [error] }, close.
    std::string_view results_open, result_id, result_text, result_error, results_close;
    // The parameter that gives an answer its shape: {field: open "name":N,"schema":S close};
    // "": it has none.
    std::string_view shape_field, shape_open, shape_close;
    // The value of tool_choice: a tool by name, or any.
    std::string_view choice_open, choice_close, choice_any;
};
const ToolDialect& tool_dialect_of(FormatId format);

}  // namespace palimpsest
