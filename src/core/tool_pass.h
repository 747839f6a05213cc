// What the passes over tool calls and results have in common: which ones they take.
#pragma once
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "core/pass_parameters.h"
#include "core/tool_uses.h"
#include "palimpsest/compaction.h"

namespace palimpsest {

// Whether one of these names, in lower case, is the tool's. A hosted one has two: that of its item
// and that under which a request lists it.
bool is_among(const auto& names, std::string_view tool, bool hosted) {
    const auto has = [&](std::string_view name) {
        return std::ranges::find(names, lower(name)) != names.end();
    };
    return has(tool) || (hosted && has(listed_name(tool)));
}

// Kept are the newest `keep_turns` turns and, of those, the newest `keep_tool_uses` uses, if both
// are given: so one long run of an agent can be cleared as well. `include` wins over `exclude`.
struct ToolChoice {
    std::optional<std::size_t> keep_turns = {}, keep_tool_uses = {};
    std::set<std::string> include = {}, exclude = {};  // lower case
    std::optional<std::size_t> min_tokens = {};        // 0: also what a placeholder makes larger

    bool takes(std::string_view tool, bool hosted = false) const;
    bool takes_all() const { return include.empty() && exclude.empty(); }
    bool may_grow() const { return min_tokens == 0; }
    // The first group that the turns protect.
    std::size_t kept_from(const PassInput& input) const;
};
Result<ToolChoice> read_tool_choice(const JsonValue& parameters);

// Whether the item is out of reach because more was done to it, or because it was cleared of this
// before ("tool input", "tool output"; "": of any). What it was cleared of otherwise says nothing.
bool is_cleared(const PassInput& input, std::size_t item, std::string_view what);

}  // namespace palimpsest
