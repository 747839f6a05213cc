// The row of Chat Completions: its facts, its rules, and what a whole reply looks like.
#include "format/openai_chat/openai_chat.h"

#include "format/citations.h"
#include "format/fields.h"
#include "format/json_edit.h"
#include "format/reply.h"

namespace palimpsest {
namespace {

constexpr Rule rules[] = {
    {"C1", "openai_chat", Severity::reject,
     "a tool message follows the assistant message with its call"},
    {"C2", "openai_chat", Severity::reject, "every call is answered before the next other message"},
    {"C3", "openai_chat", Severity::reject, "call ids are unique within one assistant message"},
    {"C4", "openai_chat", Severity::needs_context,
     "some models take no system or developer message"},
    {"C5", "openai_chat", Severity::needs_context, "audio goes to the models that take audio"},
    {"C6", "openai_chat", Severity::needs_context,
     "web_search_options go to the models that search"},
    {"C7", "openai_chat", Severity::reject, "what a model spoke goes back as its id alone"},
};

Result<void> read_reply_message(Reply& reply, JsonValue body) {
    const auto choices = body.find("choices");
    for (const JsonValue choice : choices ? choices->elements() : body.elements()) {
        const auto message = choice.find("message");
        if (!message) continue;
        PAL_TRY(read, read_message(FormatId::openai_chat, make_bytes(std::string(message->raw()))));
        reply.messages.push_back(std::move(read));
        reply.stop_text = any_string(choice, "finish_reason");
        return {};  // Further choices are other answers to the same question.
    }
    return fail(ErrorCode::upstream_failed, "the reply holds no message");
}

ReplyUsage read_usage(JsonValue usage) {
    const auto in = usage.find("prompt_tokens_details");
    const auto out = usage.find("completion_tokens_details");
    return {.input_tokens = count_at(usage, "prompt_tokens"),
            .output_tokens = count_at(usage, "completion_tokens"),
            .cached_tokens = count_at(in, "cached_tokens"),
            .reasoning_tokens = count_at(out, "reasoning_tokens")};
}

// Of the message of the only choice.
std::string cite_message(JsonValue body, std::span<const Citation> citations) {
    std::vector<std::string> notes;
    for (const Citation& citation : citations) {
        JsonWriter out(notes.emplace_back());
        out.begin_object().field("type", "url_citation").key("url_citation").begin_object();
        write_citation(out, citation);
        out.end_object().end_object();
    }
    const JsonValue choice = *body.find("choices")->elements().begin();
    const std::string message =
        with_member(*choice.find("message"), "annotations", json_list(notes));
    return with_member(body, "choices", json_list({with_member(choice, "message", message)}));
}

}  // namespace

constinit const Format openai_chat_format = {
    .id = FormatId::openai_chat,
    .name = "openai_chat",
    .list_fields = {"messages", "items", ""},
    .error_flags = false,
    .image_detail = true,
    .created_field = "created",
    .stop_words = {"stop", "length", "tool_calls", "stop", "content_filter", "stop"},
    .rules = rules,
    .read_into = read_openai_chat,
    .write = write_openai_chat,
    .check = check_openai_chat,
    .repair = repair_openai_chat,
    .read_field = read_openai_chat_field,
    .write_body = write_openai_chat_body,
    .read_reply = read_reply_message,
    .read_usage = read_usage,
    .make_reader = make_openai_chat_reader,
    .make_writer = make_openai_chat_writer,
    .cite = cite_message,
};

}  // namespace palimpsest
