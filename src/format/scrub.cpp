// What is left of a message whose content must go: its role and the ids that pair calls with
// results, so that the history around it stays valid.
#include "format/format_table.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

// Items of custom tools are answered by items of custom tools, so the type must stay.
bool is_custom(const Message& message) {
    const auto document = parse_json(view_of(message.raw));
    if (!document) return false;
    const auto neutral = format_of(message.format).read(document->root());
    if (!neutral) return false;
    for (const NeutralPart& part : neutral->parts)
        if (part.custom) return true;
    return false;
}

}  // namespace

Result<Bytes> scrubbed_message(const Message& message) {
    const Shape& shape = message.shape;
    const bool custom = is_custom(message);
    NeutralMessage rest;
    rest.role = shape.role == Role::other ? Role::user : shape.role;
    for (const std::string& id : shape.results)
        rest.parts.push_back(
            {.kind = PartKind::tool_result, .custom = custom, .text = removed_text, .id = id});
    const bool one_item = format_of(message.format).cut.one_part_items;
    const bool pairs = !shape.calls.empty() || !shape.results.empty();
    if (!pairs || (shape.text && !one_item && shape.role != Role::tool))
        rest.parts.push_back({.kind = PartKind::text, .text = removed_text});
    for (const std::string& id : shape.calls)
        rest.parts.push_back({.kind = PartKind::tool_call,
                              .custom = custom,
                              .id = id,
                              .name = "removed",
                              .arguments = custom ? "" : "{}"});
    std::vector<std::string> lost;
    std::vector<std::string> written = format_of(message.format).write(rest, lost);
    if (written.size() != 1)
        return fail(ErrorCode::internal, "a scrubbed message did not come out as one message");
    return make_bytes(std::move(written.front()));
}

}  // namespace palimpsest
