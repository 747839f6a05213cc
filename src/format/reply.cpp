// Reading whole replies: what was said, why it ended, what it cost.
#include "format/reply.h"
#include "format/fields.h"
#include "format/format_table.h"
#include "format/json_edit.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

std::uint64_t count_at(std::optional<JsonValue> object, std::string_view key) {
    const auto value = object ? object->find(key) : std::nullopt;
    const auto number = value ? value->integer() : std::nullopt;
    return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

std::optional<ReplyUsage> read_usage(JsonValue body) {
    const auto usage = body.find("usage");
    if (!usage || !usage->is_object()) return std::nullopt;
    ReplyUsage read;
    const bool chat = usage->find("prompt_tokens").has_value();
    read.input_tokens = count_at(usage, chat ? "prompt_tokens" : "input_tokens");
    read.output_tokens = count_at(usage, chat ? "completion_tokens" : "output_tokens");
    const auto in = usage->find(chat ? "prompt_tokens_details" : "input_tokens_details");
    const auto out = usage->find(chat ? "completion_tokens_details" : "output_tokens_details");
    read.cached_tokens = count_at(in, "cached_tokens") + count_at(usage, "cache_read_input_tokens");
    read.cache_write_tokens = count_at(usage, "cache_creation_input_tokens");
    read.reasoning_tokens = count_at(out, "reasoning_tokens");
    // Anthropic counts what the cache served beside the input; here it is part of it.
    read.input_tokens += count_at(usage, "cache_read_input_tokens") + read.cache_write_tokens;
    return read;
}

struct StopRow {
    StopReason stop;
    std::string_view chat, responses, anthropic;
};
// The first row of a word gives its meaning.
constexpr StopRow stop_rows[] = {
    {StopReason::end, "stop", "completed", "end_turn"},
    {StopReason::length, "length", "max_output_tokens", "max_tokens"},
    {StopReason::tool_calls, "tool_calls", "completed", "tool_use"},
    {StopReason::stop_sequence, "stop", "completed", "stop_sequence"},
    {StopReason::refusal, "content_filter", "content_filter", "refusal"},
    {StopReason::other, "stop", "completed", "end_turn"},
};

std::string_view word_of(const StopRow& row, FormatId format) {
    return format == FormatId::openai_chat        ? row.chat
           : format == FormatId::openai_responses ? row.responses
                                                  : row.anthropic;
}

StopReason stop_of(FormatId format, std::string_view word) {
    for (const StopRow& row : stop_rows)
        if (word_of(row, format) == word) return row.stop;
    return StopReason::other;
}

Result<void> refuse_error(JsonValue body) {
    const auto error = body.find("error");
    if (!error || !error->is_object()) return {};
    return fail(ErrorCode::upstream_failed,
                "the provider answered: " + std::string(any_string(*error, "message")));
}

Result<void> read_chat(Reply& reply, JsonValue body) {
    const auto choices = body.find("choices");
    for (const JsonValue choice : choices ? choices->elements() : body.elements()) {
        const auto message = choice.find("message");
        if (!message) continue;
        PAL_TRY(read, read_message(FormatId::openai_chat, make_bytes(std::string(message->raw()))));
        reply.messages.push_back(std::move(read));
        reply.stop_text = any_string(choice, "finish_reason");
        break;  // Further choices are other answers to the same question.
    }
    return {};
}

Result<void> read_responses(Reply& reply, JsonValue body) {
    if (const auto output = body.find("output"))
        for (const JsonValue item : output->elements()) {
            PAL_TRY(read,
                    read_message(FormatId::openai_responses, make_bytes(std::string(item.raw()))));
            reply.messages.push_back(std::move(read));
        }
    reply.stop_text = any_string(body, "status");
    if (const auto details = body.find("incomplete_details"); details && details->is_object())
        reply.stop_text = any_string(*details, "reason");
    return {};
}

Result<void> read_anthropic_reply(Reply& reply, JsonValue body) {
    const auto content = body.find("content");
    if (!content) return fail(ErrorCode::upstream_failed, "the reply has no content");
    // Only role and content go back to the service; the rest of the reply is about this one call.
    const std::string raw =
        "{\"role\":\"assistant\",\"content\":" + std::string(content->raw()) + "}";
    PAL_TRY(read, read_message(FormatId::anthropic, make_bytes(raw)));
    reply.messages.push_back(std::move(read));
    reply.stop_text = any_string(body, "stop_reason");
    return {};
}

}  // namespace

Result<void> keep_unfinished(Reply& reply, FormatId format,
                             const std::vector<std::string>& unfinished) {
    if (unfinished.empty()) return {};
    // Only a message has room for it: a call or a piece of reasoning goes back as it is.
    constexpr std::string_view empty_item =
        R"({"type":"message","role":"assistant","status":"incomplete","content":[]})";
    const bool fits = !reply.messages.empty() && reply.messages.back().shape.calls.empty() &&
                      !reply.messages.back().shape.reasoning;
    if (format == FormatId::openai_responses && !fits) {
        PAL_TRY(empty, read_message(format, make_bytes(std::string(empty_item))));
        reply.messages.push_back(std::move(empty));
    }
    Message& last = reply.messages.back();
    PAL_TRY(document, parse_json(view_of(last.raw)));
    std::string raw = with_member(document.root(), unfinished_field, json_list(unfinished));
    PAL_TRY(message, read_message(format, make_bytes(std::move(raw))));
    last = std::move(message);
    return {};
}

Result<Message> without_unfinished(const Message& message) {
    if (message.shape.role != Role::assistant ||
        view_of(message.raw).find(unfinished_field) == std::string_view::npos)
        return message;
    PAL_TRY(document, parse_json(view_of(message.raw)));
    if (!document.root().find(unfinished_field)) return message;
    std::string raw = with_member(document.root(), unfinished_field, std::nullopt);
    return read_message(message.format, make_bytes(std::move(raw)));
}

std::string_view stop_word(FormatId format, StopReason stop) {
    for (const StopRow& row : stop_rows)
        if (row.stop == stop) return word_of(row, format);
    return word_of(stop_rows[0], format);
}

Result<Reply> read_reply(FormatId format, std::string_view json) {
    PAL_TRY(document, parse_json(json));
    const JsonValue body = document.root();
    PAL_CHECK(refuse_error(body));
    Reply reply{.body = std::string(json)};
    if (format == FormatId::openai_chat) PAL_CHECK(read_chat(reply, body));
    if (format == FormatId::openai_responses) PAL_CHECK(read_responses(reply, body));
    if (format == FormatId::anthropic) PAL_CHECK(read_anthropic_reply(reply, body));
    if (reply.messages.empty() && format != FormatId::openai_responses)
        return fail(ErrorCode::upstream_failed, "the reply holds no message");
    reply.stop = stop_of(format, reply.stop_text);
    bool calls = false;
    for (const Message& message : reply.messages) calls = calls || !message.shape.calls.empty();
    if (calls && reply.stop == StopReason::end) reply.stop = StopReason::tool_calls;
    reply.usage = read_usage(body);
    return reply;
}

}  // namespace palimpsest
