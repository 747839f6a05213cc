#include "engine/count.h"

#include <algorithm>

#include "format/format_table.h"
#include "palimpsest/format.h"
#include "token/media_tokens.h"

namespace palimpsest {
namespace {

struct PartCost {
    const Tokenizer& tokenizer;
    std::uint64_t operator()(const Text& part) const { return tokenizer.count(part.text); }
    std::uint64_t operator()(const Media& part) const { return tokenizer.count_media(part); }
    std::uint64_t operator()(const ToolCall& part) const {
        return tokenizer.count(part.id) + tokenizer.count(part.name) +
               tokenizer.count(part.arguments);
    }
    std::uint64_t operator()(const ToolResult& part) const {
        return tokenizer.count(part.id) + tokenizer.count(part.text) +
               media_tokens_within(tokenizer, part.content);
    }
    std::uint64_t operator()(const Reasoning& part) const {
        return tokenizer.count(part.text) + tokenizer.count(part.signature);
    }
    std::uint64_t operator()(const Opaque& part) const { return tokenizer.count(part.json); }
    template <class Other>
    std::uint64_t operator()(const Other&) const {
        return 0;
    }
};

// Services that make one call of a joining tool of several calls in a message (see
// token/request.cpp) write more around them than their ids take when those are short. Ids count
// with call and result; what is missing then, with the names that results are sent with, is added
// to the calls, so that calls and results together count at least what they are charged.
std::uint64_t joining_tokens(const Tokenizer& tokenizer, const std::vector<Part>& parts) {
    constexpr std::uint64_t per_result = 1, per_joined = 1, roomy = 16;
    std::vector<const ToolCall*> calls;
    std::uint64_t ids = 0, names = 0, arguments = 0;
    for (const Part& part : parts) {
        const auto* const call = std::get_if<ToolCall>(&part);
        if (!call) continue;
        calls.push_back(call);
        ids += 2 * tokenizer.count(call->id);
        names += tokenizer.count(call->name);
    }
    // Ids as providers make them are long enough, and nothing need be counted twice.
    if (calls.size() < 2 || ids >= roomy * (calls.size() + 1) + names) return 0;
    std::string joined;
    for (const ToolCall* call : calls) {
        arguments += tokenizer.count(call->arguments);
        joined += (joined.empty() ? "{\"tool_uses\":[" : ",");
        joined += "{\"recipient_name\":\"functions." + std::string(call->name);
        joined += "\",\"parameters\":" + std::string(call->arguments) + "}";
    }
    const std::uint64_t charged = per_joined + tokenizer.count("multi_tool_use.parallel") +
                                  tokenizer.count(joined + "]}") + per_result * calls.size() +
                                  names;
    return charged - std::min(charged, ids + names + arguments);
}

Count as_count(const Tokenizer& tokenizer, std::uint64_t tokens) {
    return {tokenizer.scheme(),
            static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, UINT32_MAX))};
}

}  // namespace

Result<Count> count_message(const Tokenizer& tokenizer, const Message& message) {
    PAL_TRY(parts, read_parts(message));
    std::uint64_t tokens = 0;
    for (const Part& part : parts.parts) tokens += std::visit(PartCost{tokenizer}, part);
    if (!format_of(message.format).cut.object_arguments && message.shape.calls.size() > 1)
        tokens += joining_tokens(tokenizer, parts.parts);
    return as_count(tokenizer, tokens);
}

Count count_text(const Tokenizer& tokenizer, std::string_view text) {
    return as_count(tokenizer, tokenizer.count(text));
}

Result<Count> count_edit(const Tokenizer& tokenizer, const Edit& edit) {
    if (edit.treatment == Treatment::folded || edit.treatment == Treatment::dropped)
        return count_text(tokenizer, view_of(edit.result));
    PAL_TRY(message, read_message(edit.format, edit.result));
    return count_message(tokenizer, message);
}

Result<Count> known_count(const Tokenizer& tokenizer, const Edit& edit) {
    if (edit.after.scheme == tokenizer.scheme()) return edit.after;
    return count_edit(tokenizer, edit);
}

}  // namespace palimpsest
