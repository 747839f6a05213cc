// What recall and search share: how a view has a message, and the tools that the engine answers
// itself.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/memory.h"
#include "palimpsest/search.h"

namespace palimpsest {

// How the view has a message: verbatim, cleared, shortened, folded or dropped.
std::string how_shown(const View& view, Seq seq);

// What a person asked for: a number or a range "4..9" may be seqs or the id of a call, anything
// else is an id. invalid_request (call_id) for a range that ends before it begins.
Result<RecallQuery> recall_query(std::string_view what);

// Memory::search. `seen`, if given: what was found for a model and left out because its view has
// it.
Result<SearchPage> search_memory(Memory::State& state, const SearchRequest& request,
                                 std::vector<Seq>* seen);

// A tool as an element of `tools` in that format. `schema` is of its arguments.
std::string function_tool(FormatId format, std::string_view name, std::string_view about,
                          std::string_view schema);

// The arguments of a call of such a tool. Each is a text, or a whole number; one that is null is
// not given. invalid_request says what the tool takes: `usage`.
struct ToolArgument {
    std::string_view name = {};
    bool is_number = false;
};
Result<JsonDocument> read_arguments(std::string_view arguments, std::span<const ToolArgument> known,
                                    std::string_view usage);

}  // namespace palimpsest
