#include "core/tool_uses.h"

#include <algorithm>
#include <string>

#include "base/json.h"

namespace palimpsest {
namespace {

// What the JSON of a hosted use holds. In quotes it is no word of a text: those are escaped there.
struct UseRule {
    FormatId format;
    bool item_each;  // an item is one use and nothing else; the mark ends its type
    std::string_view marks[2];
};
constexpr UseRule rules[] = {
    {FormatId::openai_responses, true, {"_call\"", ""}},
    {FormatId::anthropic, false, {"\"server_tool_use\"", "\"mcp_tool_use\""}},
};

std::size_t occurrences(std::string_view text, std::string_view mark) {
    std::size_t count = 0;
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size()))
        ++count;
    return count;
}

// Also tools that an item lists may have the mark in their names.
std::string type_of(std::string_view item) {
    const auto document = parse_json(item);
    const auto type = document ? document->root().find("type") : std::nullopt;
    return std::string(type ? type->string() : "");
}

}  // namespace

std::size_t hosted_uses(const Message& message) {
    const auto rule = std::ranges::find(rules, message.format, &UseRule::format);
    const Shape& shape = message.shape;
    if (rule == std::end(rules) || shape.role == Role::user || shape.role == Role::system) return 0;
    const bool other =
        shape.text || shape.reasoning || !shape.calls.empty() || !shape.results.empty();
    if (rule->item_each && other) return 0;
    std::size_t uses = 0;
    for (const std::string_view mark : rule->marks)
        if (!mark.empty()) uses += occurrences(view_of(message.raw), mark);
    if (!rule->item_each || uses == 0) return uses;
    return type_of(view_of(message.raw)).ends_with("_call") ? 1 : 0;
}

std::size_t hosted_results(const Message& message) {
    const auto rule = std::ranges::find(rules, message.format, &UseRule::format);
    const bool item_each = rule != std::end(rules) && rule->item_each;
    return std::max<std::size_t>(item_each ? 0 : 1, hosted_uses(message));
}

std::size_t tool_uses(const Message& message) {
    return message.shape.calls.size() + hosted_uses(message);
}

std::string_view listed_name(std::string_view hosted_tool) {
    for (const std::string_view ending : {"_call", "_tool_result"})
        if (hosted_tool.ends_with(ending))
            return hosted_tool.substr(0, hosted_tool.size() - ending.size());
    return hosted_tool;
}

}  // namespace palimpsest
