#include "core/tool_pass.h"

#include "core/placeholder.h"

namespace palimpsest {

bool ToolChoice::takes(std::string_view tool, bool hosted) const {
    if (!include.empty()) return is_among(include, tool, hosted);
    return !is_among(exclude, tool, hosted);
}

std::size_t ToolChoice::kept_from(const PassInput& input) const {
    if (!keep_turns) return keep_tool_uses ? 0 : input.groups.size();
    if (*keep_turns == 0) return input.groups.size();
    return *keep_turns >= input.turns.size() ? 0
                                             : input.turns[input.turns.size() - *keep_turns].first;
}

Result<ToolChoice> read_tool_choice(const JsonValue& parameters) {
    ToolChoice choice;
    PAL_TRY(turns, count_field(parameters, "keep_turns"));
    PAL_TRY(uses, count_field(parameters, "keep_tool_uses"));
    PAL_TRY(include, texts_field(parameters, "include_tools"));
    PAL_TRY(exclude, texts_field(parameters, "exclude_tools"));
    PAL_TRY(least, count_field(parameters, "min_tokens"));
    choice.keep_turns = turns;
    choice.keep_tool_uses = uses;
    for (const std::string& name : include) choice.include.insert(lower(name));
    for (const std::string& name : exclude) choice.exclude.insert(lower(name));
    choice.min_tokens = least;
    return choice;
}

bool is_cleared(const PassInput& input, std::size_t item, std::string_view what) {
    if (input.treatments[item] != Treatment::cleared)
        return input.treatments[item] > Treatment::cleared;
    return view_of(input.items[item].message.raw)
        .contains(std::string(placeholder_mark) + std::string(what));
}

}  // namespace palimpsest
