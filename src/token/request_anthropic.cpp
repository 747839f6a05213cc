// Requests of Anthropic's Messages API. The vocabulary is not public, so the parts that are counted
// here are estimates to be calibrated (estimator.h).
#include "token/request.h"

#include "base/json.h"
#include "token/tool_text.h"

#include <string>

namespace palimpsest {
namespace {

class MessagesCount {
public:
    MessagesCount(const ModelSpec& model, TokenCounter& counter)
        : model_(model), counter_(counter) {}

    RequestCount count(JsonValue request) {
        sum_.overhead += static_cast<std::uint64_t>(model_.overheads.per_request);
        if (const auto system = request.find("system")) count_content(*system);
        for (const JsonValue message : request.find("messages")->elements()) {
            sum_.overhead += static_cast<std::uint64_t>(model_.overheads.per_message);
            if (const auto content = message.find("content")) count_content(*content);
        }
        const auto tools = request.find("tools");
        if (tools && tools->size() != 0) count_tools(*tools);
        return sum_;
    }

private:
    std::uint64_t tokens(JsonValue object, std::string_view key) {
        const auto found = object.find(key);
        if (!found) return 0;
        return counter_.count(found->is_string() ? found->string() : compact_json(found->raw()));
    }

    void count_content(JsonValue content) {
        sum_.messages += counter_.count(content.string());
        for (const JsonValue block : content.elements()) count_block(block);
    }

    void count_block(JsonValue block) {
        const auto type = block.find("type");
        const std::string_view kind = type ? type->string() : "";
        if (kind == "image") {
            sum_.media += image_tokens(model_.images, {}, false);
        } else if (kind == "document") {
            sum_.media += block.raw().size() / 8;
        } else if (kind.ends_with("tool_use")) {
            sum_.messages += tokens(block, "name") + tokens(block, "input");
            sum_.overhead += static_cast<std::uint64_t>(model_.overheads.per_call);
        } else if (kind == "tool_result") {
            sum_.overhead += static_cast<std::uint64_t>(model_.overheads.per_result);
            if (const auto content = block.find("content")) count_content(*content);
        } else {
            sum_.messages += tokens(block, "text") + tokens(block, "thinking");
        }
    }

    void count_tools(JsonValue tools) {
        sum_.tool_overhead += static_cast<std::uint64_t>(model_.overheads.tools);
        for (const JsonValue tool : tools.elements()) {
            const auto type = tool.find("type");
            sum_.server_tools = sum_.server_tools || (type && type->string() != "custom");
            for (const std::string_view field : {"name", "description", "input_schema"})
                sum_.tools += tokens(tool, field);
        }
    }

    const ModelSpec& model_;
    TokenCounter& counter_;
    RequestCount sum_;
};

}  // namespace

Result<RequestCount> count_messages_request(const ModelSpec& model, TokenCounter& counter,
                                            std::string_view body) {
    PAL_TRY(document, parse_json(body));
    const auto messages = document.root().find("messages");
    if (!messages || !messages->is_array())
        return fail(ErrorCode::invalid_request, "the request has no list of messages", "messages");
    return MessagesCount(model, counter).count(document.root());
}

}  // namespace palimpsest
