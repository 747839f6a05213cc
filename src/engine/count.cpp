#include "engine/count.h"

#include <algorithm>

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

Count as_count(const Tokenizer& tokenizer, std::uint64_t tokens) {
    return {tokenizer.scheme(),
            static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, UINT32_MAX))};
}

}  // namespace

Result<Count> count_message(const Tokenizer& tokenizer, const Message& message) {
    PAL_TRY(parts, read_parts(message));
    std::uint64_t tokens = 0;
    for (const Part& part : parts.parts) tokens += std::visit(PartCost{tokenizer}, part);
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
