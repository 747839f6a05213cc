#include "engine/count.h"

#include <algorithm>

#include "format/format_table.h"
#include "palimpsest/format.h"
#include "token/media_tokens.h"

namespace palimpsest {
namespace {

// What services write around calls and results, as the recorded requests show it
// (bench/token/eval_requests). Ids are charged for by nobody. Where results are sent with the name
// of their tool, which they do not carry, it counts with the call, and what is around the result
// as well. Of models that count otherwise those that take more.
struct CallCharge {
    std::uint64_t per_call, per_result;
    bool repeats_name;
};
constexpr CallCharge chat_charge = {11, 0, true};
constexpr CallCharge item_charge = {16, 0, true};  // Items do not say whether calls are parallel.
constexpr CallCharge block_charge = {calls_in_blocks.per_call, calls_in_blocks.per_result, false};

const CallCharge& charge_of(const MessageCut& cut) {
    if (cut.object_arguments) return block_charge;
    return cut.one_part_items ? item_charge : chat_charge;
}

// What a model thought comes sealed: about so many bytes around it, and for a token of it.
std::uint64_t sealed_tokens(std::string_view sealed) {
    constexpr std::uint64_t around = 880, hundred_tokens = 567;
    const std::uint64_t bytes = sealed.size();
    return bytes == 0 ? 0 : (bytes - std::min(bytes, around)) * 100 / hundred_tokens + 1;
}

struct PartCost {
    const Tokenizer& tokenizer;
    const MessageCut& cut;
    const CallCharge& charge;
    std::uint64_t operator()(const Text& part) const { return tokenizer.count(part.text); }
    std::uint64_t operator()(const Media& part) const { return tokenizer.count_media(part); }
    std::uint64_t operator()(const ToolCall& part) const {
        const std::uint64_t name = tokenizer.count(part.name);
        return name + tokenizer.count(part.arguments) + charge.per_call +
               (charge.repeats_name ? name : 0);
    }
    std::uint64_t operator()(const ToolResult& part) const {
        // Tools that a provider defines answer in forms of their own: the text is the form.
        if (part.text.data() == part.content.data())
            return opaque_tokens(tokenizer, part.content) + charge.per_result;
        return tokenizer.count(part.text) + media_tokens_within(tokenizer, part.content) +
               charge.per_result;
    }
    // A signature beside the words is not read; what is sealed without them, or is beside a summary
    // of it, is.
    std::uint64_t operator()(const Reasoning& part) const {
        const bool sealed = !part.signature.empty() && (part.text.empty() || cut.one_part_items);
        return sealed ? sealed_tokens(part.signature) : tokenizer.count(part.text);
    }
    std::uint64_t operator()(const Opaque& part) const {
        return opaque_tokens(tokenizer, part.json);
    }
    template <class Other>
    std::uint64_t operator()(const Other&) const {
        return 0;
    }
};

// Services that make one call of a joining tool of several calls in a message (see
// token/request.cpp) write more around them than around single ones: what is missing then.
std::uint64_t joining_tokens(const Tokenizer& tokenizer, const std::vector<Part>& parts) {
    constexpr std::uint64_t per_result = 1, per_joined = 1;
    std::uint64_t calls = 0, apart = 0;
    std::string joined;
    for (const Part& part : parts) {
        const auto* const call = std::get_if<ToolCall>(&part);
        if (!call) continue;
        ++calls;
        const std::uint64_t name = tokenizer.count(call->name);
        apart += name + tokenizer.count(call->arguments) + chat_charge.per_call;
        joined += (joined.empty() ? "{\"tool_uses\":[" : ",");
        joined += "{\"recipient_name\":\"functions." + std::string(call->name);
        joined += "\",\"parameters\":" + std::string(call->arguments) + "}";
    }
    const std::uint64_t charged = per_joined + tokenizer.count("multi_tool_use.parallel") +
                                  tokenizer.count(joined + "]}") + per_result * calls;
    return charged - std::min(charged, apart);
}

Count as_count(const Tokenizer& tokenizer, std::uint64_t tokens) {
    return {tokenizer.scheme(),
            static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, UINT32_MAX))};
}

}  // namespace

static Count count_parts(const Tokenizer& tokenizer, const Message& message, const Parts& parts) {
    std::uint64_t tokens = 0;
    const MessageCut& cut = format_of(message.format).cut;
    const PartCost cost{tokenizer, cut, charge_of(cut)};
    for (const Part& part : parts.parts) tokens += std::visit(cost, part);
    const bool joins = !cut.object_arguments && !cut.one_part_items;
    if (joins && message.shape.calls.size() > 1) tokens += joining_tokens(tokenizer, parts.parts);
    return as_count(tokenizer, tokens);
}

Result<Count> count_message(const Tokenizer& tokenizer, const Message& message) {
    PAL_TRY(parts, read_parts(message));
    return count_parts(tokenizer, message, parts);
}

Result<Count> count_message(const Tokenizer& tokenizer, const Message& message, JsonValue json) {
    PAL_TRY(parts, read_parts(message, json));
    return count_parts(tokenizer, message, parts);
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
