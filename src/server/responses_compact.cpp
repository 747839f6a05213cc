// responses_compact: POST /v1/responses/compact. What the user said comes back word for word, and
// one compaction item for all: the same words, a summary by the configured summariser and the
// newest calls and answers as they are. Given back as input it becomes what it stands for
// (openai_input.h).
//
// The list is compacted as a conversation that is erased again; it would expire by itself.
#include <algorithm>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json_write.h"
#include "format/json_edit.h"
#include "palimpsest/format.h"
#include "server/asked_model.h"
#include "server/openai_input.h"
#include "server/openai_items.h"
#include "server/openai_routes.h"
#include "server/request_messages.h"
#include "server/stored_response.h"

namespace palimpsest {
namespace {

constexpr std::string_view fold_all =
    R"({"name":"compact","passes":[{"pass":"summarize","keep_turns":0,"max_tokens":1000}]})";
constexpr Duration scratch_life = std::chrono::hours(1);

// What a compaction of these messages does.
Result<Compaction> plan_fold(Call& call, std::span<const Message> messages) {
    const ConversationId scratch{call.site.tenant, "compact_" + hex(random_log_id())};
    AppendRequest request{.format = item_format};
    const std::string list = write_list(messages);
    request.messages = list;
    request.header.ttl = std::optional<Duration>(scratch_life);
    PAL_TRY(written, call.site.memory.append(scratch, request));
    (void)written;
    auto plan =
        call.site.memory.compact(scratch, {.policy = fold_all, .summaries = summary_terms(call)});
    (void)call.site.memory.erase(scratch);
    return plan;
}

std::string summary_of(const Compaction& plan) {
    std::string text;
    for (const Edit& edit : plan.edits)
        if (edit.treatment == Treatment::folded)
            text += (text.empty() ? "" : "\n") + std::string(view_of(edit.result));
    return text;
}

bool is_left(const Compaction& plan, Seq seq) {
    return std::ranges::none_of(plan.edits,
                                [&](const Edit& edit) { return edit.range.contains(seq); });
}

void write_usage(JsonWriter& out, std::uint64_t input, std::uint64_t output) {
    out.begin_object().key("input_tokens").number(input);
    out.key("input_tokens_details").begin_object().key("cached_tokens").number(0);
    out.key("cache_write_tokens").number(0).end_object();
    out.key("output_tokens").number(output);
    out.key("output_tokens_details").begin_object().key("reasoning_tokens").number(0);
    out.end_object().key("total_tokens").number(input + output).end_object();
}

// The user's messages as they are, then the compaction, which has them, too.
std::string write_output(std::span<const Message> messages, const Compaction& plan) {
    std::vector<std::string> output, said, kept;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::string raw(view_of(messages[i].raw));
        if (messages[i].shape.starts_turn()) {
            said.push_back(raw);
            const auto item = parse_json(raw);
            if (item) output.push_back(normal_item(item->root(), "msg_" + hex(random_log_id())));
        } else if (is_left(plan, Seq{i + 1})) {
            kept.push_back(raw);
        }
    }
    const std::string sealed = seal_compaction(
        {.summary = summary_of(plan), .said = json_list(said), .kept = json_list(kept)});
    std::string compaction;
    JsonWriter(compaction)
        .begin_object()
        .field("id", "cmp_" + hex(random_log_id()))
        .field("type", "compaction")
        .field("encrypted_content", sealed)
        .end_object();
    output.push_back(std::move(compaction));
    return json_list(output);
}

}  // namespace

Result<RouteReply> compact_response(Call& call) {
    if (const auto model = call.text("model")) PAL_CHECK(check_may_ask(call, *model));
    PAL_TRY(all, request_messages(call));
    std::vector<Message> messages;
    for (Message& message : all)
        if (message.shape.role != Role::system) messages.push_back(std::move(message));
    if (messages.empty())
        return fail(ErrorCode::invalid_request, "there is nothing to compact", "input");
    PAL_TRY(plan, plan_fold(call, messages));
    const auto now = std::chrono::floor<std::chrono::seconds>(system_now());
    RouteReply reply;
    JsonWriter out(reply.body);
    out.begin_object();
    out.field("id", std::string(response_prefix) + hex(random_log_id()) + "0");
    out.field("object", "response.compaction").key("created_at");
    out.number(std::int64_t{now.time_since_epoch().count()});
    out.key("output").raw(write_output(messages, plan));
    const bool asked = plan.report.summary_input > 0;
    write_usage(out.key("usage"), asked ? plan.report.summary_input : plan.tokens_before,
                asked ? plan.report.summary_output : plan.tokens_after);
    out.end_object();
    return reply;
}

}  // namespace palimpsest
