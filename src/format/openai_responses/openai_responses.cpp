// The row of Responses and Conversations: its facts, its rules, and what a whole reply looks like.
#include "format/openai_responses/openai_responses.h"

#include "format/citations.h"
#include "format/fields.h"
#include "format/json_edit.h"
#include "format/reply.h"

namespace palimpsest {
namespace {

constexpr std::string_view here = "openai_responses";
constexpr Rule rules[] = {
    {"R1", here, Severity::reject, "every function call has its output"},
    {"R2", here, Severity::reject, "every output has its call before it"},
    {"R3", here, Severity::reject, "a call_id is used by one call only"},
    {"R4", here, Severity::reject, "a reasoning item is followed by the item it belongs to"},
    {"R5", here, Severity::needs_context,
     "reasoning that is not stored (store: false) is sent with its encrypted content"},
    {"R6", here, Severity::reject, "a reasoning item is not an empty shell"},
    {"R7", here, Severity::reject, "previous_response_id and conversation exclude each other"},
    {"R8", here, Severity::reject, "truncation is auto or disabled"},
    {"R9", here, Severity::reject,
     "compaction is asked for with a threshold of at least 1000; a trigger item comes last"},
    {"R10", here, Severity::limit, "at most 20 items are added to a conversation at once"},
    {"R11", here, Severity::needs_context,
     "one writer at a time on a conversation (only the service knows)"},
    {"R12", here, Severity::limit,
     "an input text has at most 10485760 characters, prompt_cache_key at most 64"},
    {"R13", here, Severity::reject, "a compaction reply holds exactly one compaction item"},
    {"R14", here, Severity::reject, "file data is of a type that can be read, not audio"},
};

bool has_ended(JsonValue body) {
    const std::string_view status = any_string(body, "status");
    return status == "completed" || status == "incomplete";
}

// Where other services answer with an empty message this one may have no item at all.
Result<void> add_silence(Reply& reply) {
    PAL_TRY(nothing, make_message(FormatId::openai_responses, Role::assistant, ""));
    reply.messages.push_back(std::move(nothing));
    return {};
}

Result<void> read_items(Reply& reply, JsonValue body) {
    if (const auto output = body.find("output"))
        for (const JsonValue item : output->elements()) {
            PAL_TRY(read,
                    read_message(FormatId::openai_responses, make_bytes(std::string(item.raw()))));
            reply.messages.push_back(std::move(read));
        }
    reply.stop_text = any_string(body, "status");
    if (const auto details = body.find("incomplete_details"); details && details->is_object())
        reply.stop_text = any_string(*details, "reason");
    return reply.messages.empty() && has_ended(body) ? add_silence(reply) : Result<void>();
}

ReplyUsage read_usage(JsonValue usage) {
    return {.input_tokens = count_at(usage, "input_tokens"),
            .output_tokens = count_at(usage, "output_tokens"),
            .cached_tokens = count_at(usage.find("input_tokens_details"), "cached_tokens"),
            .reasoning_tokens = count_at(usage.find("output_tokens_details"), "reasoning_tokens")};
}

// The list with one element changed by `change`, which gives none for those that stay.
template <class Change>
std::string changed_list(JsonValue list, Change&& change) {
    std::vector<std::string> out;
    bool done = false;
    for (const JsonValue one : list.elements()) {
        std::optional<std::string> other = done ? std::nullopt : change(one);
        done = done || other;
        out.push_back(other ? *std::move(other) : std::string(one.raw()));
    }
    return json_list(out);
}

// Of the first text of the first message: a writer makes one of all that was said.
std::string cite_text(JsonValue body, std::span<const Citation> citations) {
    std::vector<std::string> notes;
    for (const Citation& citation : citations) {
        JsonWriter out(notes.emplace_back());
        out.begin_object().field("type", "url_citation");
        write_citation(out, citation);
        out.end_object();
    }
    const auto annotate = [&](JsonValue part) -> std::optional<std::string> {
        if (any_string(part, "type") != "output_text") return {};
        return with_member(part, "annotations", json_list(notes));
    };
    const auto in_item = [&](JsonValue item) -> std::optional<std::string> {
        const auto content = item.find("content");
        if (any_string(item, "type") != "message" || !content) return {};
        return with_member(item, "content", changed_list(*content, annotate));
    };
    return with_member(body, "output", changed_list(*body.find("output"), in_item));
}

}  // namespace

constinit const Format openai_responses_format = {
    .id = FormatId::openai_responses,
    .name = "openai_responses",
    .cut = {.one_part_items = true},
    .list_fields = {"input", "items", "output"},
    .text_field = "input",
    .own_text_type = "output_text",
    .other_text_type = "input_text",
    .result_field = "output",
    .image_detail = true,
    .hosted_marks = {"_call\"", "_call_output\""},
    .created_field = "created_at",
    .stop_words = {"completed", "max_output_tokens", "completed", "completed", "content_filter",
                   "completed"},
    .rules = rules,
    .read_into = read_openai_responses,
    .write = write_openai_responses,
    .check = check_openai_responses,
    .read_options = read_openai_responses_options,
    .repair = repair_openai_responses,
    .read_field = read_openai_responses_field,
    .write_body = write_openai_responses_body,
    .read_reply = read_items,
    .read_usage = read_usage,
    .make_reader = make_openai_responses_reader,
    .make_writer = make_openai_responses_writer,
    .cite = cite_text,
};

}  // namespace palimpsest
