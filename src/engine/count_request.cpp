#include "engine/count_request.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "engine/count.h"
#include "format/json_edit.h"
#include "format/request.h"
#include "palimpsest/format.h"
#include "token/media_tokens.h"
#include "token/tool_tokens.h"

namespace palimpsest {
namespace {

struct RequestCounting {
    FormatId format;
    decltype(&count_chat_request) count;
};
constexpr RequestCounting request_countings[] = {
    {FormatId::openai_chat, count_chat_request},
    {FormatId::anthropic, count_messages_request},
};

std::string as_body(std::string json) {
    const std::size_t first = json.find_first_not_of(" \t\r\n");
    const bool is_list = first != std::string::npos && json[first] == '[';
    return is_list ? "{\"messages\":" + json + "}" : json;
}

Result<std::string> without_tools(const std::string& body) {
    PAL_TRY(document, parse_json(body));
    return with_member(document.root(), "tools", std::nullopt);
}

// As they stand in the request: services charge for flat tools otherwise than for a chat's.
void add_tools(const ModelSpec& model, const Tokenizer& tokenizer, JsonValue tools,
               RequestCount& sum) {
    const bool has_system = false;  // It makes no difference to flat tools.
    const ToolTokens counted = tool_tokens(model, tokenizer, tools.raw(), has_system);
    sum.tools += counted.declared;
    sum.tool_overhead += counted.having;
    sum.shape.tools = static_cast<std::uint32_t>(tools.size());
}

// Messages that a chat has no place for: tools of the provider's, sealed thoughts, answers to calls
// that stand in a stored response.
class ChatOutsiders {
public:
    explicit ChatOutsiders(std::span<const Message> messages) {
        for (const Message& message : messages)
            calls_.insert(message.shape.calls.begin(), message.shape.calls.end());
    }

    Result<bool> has(const Message& message) const {
        PAL_TRY(chat, convert_messages(FormatId::openai_chat, {&message, 1}));
        const auto known = [&](const std::string& id) { return calls_.contains(id); };
        return chat.messages.empty() || !std::ranges::all_of(message.shape.results, known);
    }

private:
    std::set<std::string, std::less<>> calls_;
};

// Thoughts of earlier turns are dropped by the service.
Result<void> add_outsiders(const ModelSpec& model, const Tokenizer& tokenizer,
                           std::span<const Message> messages, RequestCount& sum) {
    const ChatOutsiders outsiders(messages);
    std::size_t last_turn = 0;
    for (std::size_t at = 0; at < messages.size(); ++at)
        if (messages[at].shape.starts_turn()) last_turn = at;
    for (std::size_t at = 0; at < messages.size(); ++at) {
        if (messages[at].shape.reasoning && at < last_turn) continue;
        PAL_TRY(outside, outsiders.has(messages[at]));
        if (!outside) continue;
        PAL_TRY(tokens, count_message(tokenizer, messages[at]));
        sum.messages += tokens.tokens;
        sum.overhead += around_message(model.overheads);
        ++sum.shape.messages;
    }
    return {};
}

}  // namespace

Result<RequestCount> count_request(FormatId format, const ModelSpec& model, TokenCounter& counter,
                                   std::string_view body) {
    const auto* const own = std::ranges::find(request_countings, format, &RequestCounting::format);
    if (own != std::end(request_countings))
        return own->count(model, counter, as_body(std::string(body)));
    PAL_TRY(document, parse_json(body));
    PAL_TRY(chat, convert_json(format, FormatId::openai_chat, body));
    PAL_TRY(bare, without_tools(as_body(std::move(chat.json))));
    PAL_TRY(sum, count_chat_request(model, counter, bare));
    const RuledCounter ruled(model.images, counter);
    if (const auto tools = document.root().find("tools")) add_tools(model, ruled, *tools, sum);
    PAL_TRY(messages, read_messages(format, make_bytes(std::string(body)), Fingerprints::left_out));
    PAL_CHECK(add_outsiders(model, ruled, messages, sum));
    return sum;
}

}  // namespace palimpsest
