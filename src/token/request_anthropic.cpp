// Requests of Anthropic's Messages API. The vocabulary is not public, so the parts that are counted
// here are estimates to be calibrated (estimator.h).
#include "token/request.h"

#include "base/json.h"
#include "token/media_tokens.h"
#include "token/tool_text.h"

#include <set>
#include <string>

namespace palimpsest {
namespace {

class MessagesCount {
public:
    MessagesCount(const ModelSpec& model, TokenCounter& counter)
        : model_(model), counter_(counter), ruled_(model.images, counter) {}

    RequestCount count(JsonValue request) {
        sum_.overhead += static_cast<std::uint64_t>(model_.overheads.per_request);
        if (const auto system = request.find("system")) count_content(*system);
        count_messages(*request.find("messages"));
        const auto tools = request.find("tools");
        if (tools && tools->size() != 0) count_tools(*tools);
        count_reply_rules(request);
        return sum_;
    }

private:
    static std::string_view text(JsonValue object, std::string_view key) {
        const auto found = object.find(key);
        return found ? found->string() : std::string_view();
    }
    std::uint64_t tokens(JsonValue object, std::string_view key) {
        const auto found = object.find(key);
        if (!found) return 0;
        return counter_.count(found->is_string() ? found->string() : compact_json(found->raw()));
    }

    static bool starts_turn(JsonValue message) {
        if (text(message, "role") != "user") return false;
        const auto content = message.find("content");
        if (!content) return true;
        for (const JsonValue block : content->elements())
            if (text(block, "type") == "tool_result") return false;
        return true;
    }

    // Thinking of earlier turns is dropped by the service.
    void count_messages(JsonValue messages) {
        std::size_t last_turn = 0, index = 0;
        for (const JsonValue message : messages.elements()) {
            if (starts_turn(message)) last_turn = index;
            ++index;
        }
        index = 0;
        for (const JsonValue message : messages.elements()) {
            thinking_counts_ = index++ >= last_turn;
            ++sum_.shape.messages;
            sum_.overhead += static_cast<std::uint64_t>(model_.overheads.per_message);
            if (const auto content = message.find("content")) count_content(*content);
        }
    }

    void count_content(JsonValue content) {
        sum_.messages += counter_.count(content.string());
        for (const JsonValue block : content.elements()) count_block(block);
    }

    void count_block(JsonValue block) {
        const std::string_view kind = text(block, "type");
        if (kind == "text") {
            sum_.messages += tokens(block, "text");
        } else if (kind == "image") {
            sum_.media += media_tokens_within(ruled_, block.raw());
        } else if (kind == "document") {
            const PartTokens document = document_tokens(model_.images, ruled_, block);
            sum_.messages += document.words;
            sum_.media += document.media;
        } else if (kind == "tool_use") {
            const std::uint64_t call = tokens(block, "name") + tokens(block, "input");
            sum_.messages += call;
            sum_.shape.arguments += call;
            ++sum_.shape.calls;
            sum_.overhead += static_cast<std::uint64_t>(model_.overheads.per_call);
        } else if (kind == "tool_result") {
            ++sum_.shape.results;
            sum_.overhead += static_cast<std::uint64_t>(model_.overheads.per_result);
            if (const auto content = block.find("content")) count_content(*content);
        } else if (kind == "tool_reference") {
            referred_.emplace(text(block, "tool_name"));
        } else if (kind == "compaction") {
            sum_.messages += tokens(block, "content");
        } else if (kind.ends_with("thinking")) {
            if (thinking_counts_) sum_.messages += tokens(block, "thinking");
        } else {
            sum_.messages += opaque_tokens(ruled_, block.raw());
        }
    }

    // A tool that is loaded later costs nothing until a result refers to it.
    bool is_loaded(JsonValue tool) const {
        const auto later = tool.find("defer_loading");
        return !later || !later->boolean().value_or(false) ||
               referred_.contains(text(tool, "name"));
    }

    void count_tools(JsonValue tools) {
        sum_.tool_overhead += static_cast<std::uint64_t>(model_.overheads.tools);
        for (const JsonValue tool : tools.elements()) {
            const auto type = tool.find("type");
            sum_.server_tools = sum_.server_tools || (type && type->string() != "custom");
            if (!is_loaded(tool)) continue;
            ++sum_.shape.tools;
            for (const std::string_view field : {"name", "description", "input_schema"})
                sum_.tools += tokens(tool, field);
        }
    }

    void count_reply_rules(JsonValue request) {
        if (const auto choice = request.find("tool_choice"))
            sum_.shape.forced = text(*choice, "type") == "any" || text(*choice, "type") == "tool";
        if (const auto thinking = request.find("thinking"))
            sum_.shape.thinking = text(*thinking, "type") != "disabled";
        const auto output = request.find("output_config");
        const auto format = output ? output->find("format") : output;
        if (!format) return;
        sum_.shape.reply_schema = tokens(*format, "schema");
        sum_.tools += sum_.shape.reply_schema;
    }

    const ModelSpec& model_;
    TokenCounter& counter_;
    const RuledCounter ruled_;
    RequestCount sum_;
    std::set<std::string_view> referred_;  // Tools that a search has found.
    bool thinking_counts_ = true;
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
