// Items as plain text, for summaries and search.
#include "core/summary.h"

namespace palimpsest {
namespace {

std::string_view speaker(const Item& item) {
    constexpr std::string_view names[] = {"system", "user", "assistant", "tool", "other"};
    if (item.kind == ItemKind::summary) return "summary";
    return names[static_cast<std::size_t>(item.message.shape.role)];
}

}  // namespace

std::string flatten(const Item& item, const MessageTools& tools) {
    const auto content = tools.read(item.message);
    if (!content) return {};
    std::string out;
    for (const ContentPart& part : content->parts) {
        switch (part.kind) {
            case ContentKind::text:
                out += speaker(item);
                out += ": ";
                out += part.text;
                break;
            case ContentKind::tool_call:
                out += "[tool_call:" + std::string(part.id) + " " + std::string(part.tool) + "] ";
                out += part.text;
                break;
            case ContentKind::tool_result:
                out += "[tool_result:" + std::string(part.id) + "] ";
                if (part.is_error) out += "[error] ";
                out += part.text;
                break;
            case ContentKind::media:
                out += "[" + std::string(part.tool.empty() ? "image" : part.tool) + "]";
                break;
            case ContentKind::reasoning:
            case ContentKind::opaque:
                continue;
        }
        out += '\n';
    }
    return out;
}

}  // namespace palimpsest
