// The words that stand where a payload was, and the reason why reasoning went, which leaves none.
#pragma once
#include <string>
#include <string_view>

namespace palimpsest {

constexpr std::string_view placeholder_mark = "\u27e6removed: ";
constexpr std::string_view old_reasoning = "old reasoning";

// "⟦removed: tool output for NAME (call_id=ID); reason=context_compaction⟧"; `what` is "input" or
// "output". Names and ids that are not known are "tool" and "unknown".
inline std::string placeholder(std::string_view what, std::string_view tool,
                               std::string_view call_id) {
    std::string text(placeholder_mark);
    text += "tool ";
    text += what;
    text += " for ";
    text += tool.empty() ? "tool" : tool;
    text += " (call_id=";
    text += call_id.empty() ? "unknown" : call_id;
    text += "); reason=context_compaction\u27e7";
    return text;
}

}  // namespace palimpsest
