// The row of Anthropic's Messages: its facts, its rules, and what a whole reply looks like.
#include "format/anthropic/anthropic.h"

#include "format/fields.h"
#include "format/reply.h"

namespace palimpsest {
namespace {

constexpr std::string_view here = "anthropic";
constexpr Rule rules[] = {
    {"A1", here, Severity::reject, "tool_use and tool_result pair up in consecutive messages"},
    {"A2", here, Severity::reject, "tool_result blocks come first in their user message"},
    {"A3", here, Severity::needs_context, "a request with tool blocks defines tools"},
    {"A4", here, Severity::needs_context,
     "thinking of the latest assistant message is what the model wrote"},
    {"A5", here, Severity::needs_context, "thinking goes back only to the model that wrote it"},
    {"A6", here, Severity::needs_context, "thinking is not emptied under its signature"},
    {"A7", here, Severity::needs_context,
     "with thinking enabled, a tool loop begins with its thinking"},
    {"A8", here, Severity::limit, "at most 100000 messages"},
    {"A9", here, Severity::limit,
     "32 MB a request, 5 MB and 8000 pixels an image, 2000 pixels above 20 images"},
    {"A10", here, Severity::reject, "the content of a compaction block is not empty"},
    {"A11", here, Severity::needs_context, "newer models take no assistant prefill"},
    {"A12", here, Severity::limit,
     "at most 4 cache_control marks over tools, system prompt and messages"},
    {"first", here, Severity::reject, "the first message is the user's"},
    {"tool_id", here, Severity::reject, "tool ids have letters, digits, _ and - only"},
    {"split_results", here, Severity::tolerate,
     "results of parallel calls stand in one user message"},
};

constexpr StopAlias stop_aliases[] = {
    {"model_context_window_exceeded", StopReason::length},
};

constexpr BodyMend body_mends[] = {
    {"A7", "thinking", R"({"type":"disabled"})",
     "thinking is switched off for this call: the run of tool calls does not begin with its "
     "thinking "
     "any more"},
};

Result<void> read_reply_message(Reply& reply, JsonValue body) {
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

// What the cache served and took is counted beside the input; here it is part of it.
ReplyUsage read_usage(JsonValue usage) {
    ReplyUsage read{.output_tokens = count_at(usage, "output_tokens"),
                    .cached_tokens = count_at(usage, "cache_read_input_tokens"),
                    .cache_write_tokens = count_at(usage, "cache_creation_input_tokens")};
    read.input_tokens =
        count_at(usage, "input_tokens") + read.cached_tokens + read.cache_write_tokens;
    return read;
}

}  // namespace

constinit const Format anthropic_format = {
    .id = FormatId::anthropic,
    .name = "anthropic",
    .cut = {.system_field = "system", .results_of_user = true, .object_arguments = true},
    .list_fields = {"messages", "items", ""},
    .temperature_max = 1,
    .has_cache_marks = true,
    .hosted_marks = {"_tool_result\""},
    .stop_words = {"end_turn", "max_tokens", "tool_use", "stop_sequence", "refusal", "end_turn"},
    .stop_aliases = stop_aliases,
    .rules = rules,
    .body_mends = body_mends,
    .read_into = read_anthropic,
    .write = write_anthropic,
    .check = check_anthropic,
    .read_options = read_anthropic_options,
    .repair = repair_anthropic,
    .read_field = read_anthropic_field,
    .write_body = write_anthropic_body,
    .read_reply = read_reply_message,
    .read_usage = read_usage,
    .make_reader = make_anthropic_reader,
    .make_writer = make_anthropic_writer,
};

}  // namespace palimpsest
