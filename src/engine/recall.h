// What recall and search share: how a view has a message, and the tools that the engine answers
// itself.
#pragma once
#include <string>
#include <string_view>

#include "palimpsest/memory.h"

namespace palimpsest {

// How the view has a message: verbatim, cleared, shortened, folded or dropped.
std::string how_shown(const View& view, Seq seq);

// A tool as an element of `tools` in that format. `schema` is of its arguments.
std::string function_tool(FormatId format, std::string_view name, std::string_view about,
                          std::string_view schema);

}  // namespace palimpsest
