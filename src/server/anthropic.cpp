// anthropic: POST /v1/messages and /v1/messages/count_tokens.
//
// Context editing (context_management) is done here, whatever model is behind: in a conversation as
// a compaction of the turn, without one on the request itself. What was done is told as Anthropic
// tells it.
#include <algorithm>
#include <set>
#include <span>

#include "base/clock.h"
#include "base/json_write.h"
#include "core/placeholder.h"
#include "core/policy.h"
#include "engine/compact_document.h"
#include "engine/model_table.h"
#include "format/json_edit.h"
#include "net/errand.h"
#include "server/asked_model.h"
#include "server/client_turn.h"
#include "server/gateway_routes.h"
#include "server/respond.h"

namespace palimpsest {
namespace {

constexpr FormatId own_format = FormatId::anthropic;
constexpr std::string_view count_path = "/messages/count_tokens";

// The system prompt as the first message, where a turn looks for it.
std::string messages_of(JsonValue body) {
    const auto system = body.find("system");
    const auto messages = body.find("messages");
    std::string list(messages->raw());
    if (!system || system->is_null()) return list;
    const std::string prompt = R"({"role":"system","content":)" + std::string(system->raw()) + "}";
    return "[" + prompt + (messages->size() > 0 ? "," : "") + list.substr(list.find('[') + 1);
}

// ---- what context editing did -------------------------------------------------------------------

struct Cleared {
    std::uint64_t uses = 0, thinking = 0;
    std::uint64_t use_tokens = 0, thinking_tokens = 0, folded_tokens = 0;
};

// The calls whose input or output a placeholder in the text stands for; false if there is none.
bool add_call_ids(std::set<std::string>& ids, std::string_view text) {
    constexpr std::string_view mark = "(call_id=";
    bool found = false;
    for (std::size_t at = text.find(placeholder_mark); at != text.npos;
         at = text.find(placeholder_mark, at + 1)) {
        const std::size_t from = text.find(mark, at), to = text.find("); reason=", at);
        if (from > to || to == text.npos) continue;
        ids.emplace(text.substr(from + mark.size(), to - from - mark.size()));
        found = true;
    }
    return found;
}

// In how many turns thinking was cleared, however many messages the assistant thought in. `items`
// are those that are left: what begins a turn is not cleared of thinking.
std::uint64_t thinking_turns(const std::vector<Edit>& edits, std::span<const Item> items) {
    std::vector<Seq> starts;
    for (const Item& item : items)
        if (item.message.shape.starts_turn()) starts.push_back(item.range.from);
    std::ranges::sort(starts);
    std::set<std::ptrdiff_t> turns;
    for (const Edit& edit : edits)
        if (edit.reason.starts_with(old_reasoning))
            turns.insert(std::ranges::lower_bound(starts, edit.range.from) - starts.begin());
    return turns.size();
}

bool clears_uses(const Edit& edit) {
    return edit.pass == "clear_tool_results" || edit.pass == "clear_tool_inputs";
}

// A use counts once, whether its input, its output or both were cleared. What had to go for the
// window is nobody's wish, so no edit of the request did it.
Cleared cleared_by(const std::vector<Edit>& edits, std::span<const Item> items) {
    Cleared cleared{.thinking = thinking_turns(edits, items)};
    std::set<std::string> ids;
    for (const Edit& edit : edits) {
        const std::uint64_t gain =
            edit.before.tokens - std::min(edit.before.tokens, edit.after.tokens);
        if (edit.pass == "clear_reasoning") {
            cleared.thinking_tokens += gain;
        } else if (edit.treatment == Treatment::folded) {
            cleared.folded_tokens += gain;
        } else if (clears_uses(edit)) {
            if (!add_call_ids(ids, view_of(edit.result))) ++cleared.uses;
            cleared.use_tokens += gain;
        }
    }
    cleared.uses += ids.size();
    return cleared;
}

void write_edit_applied(JsonWriter& out, std::string_view type, std::string_view count_field,
                        std::uint64_t count, std::uint64_t tokens) {
    if (count == 0) return;
    out.begin_object().field("type", type).key(count_field).number(count);
    out.key("cleared_input_tokens").number(tokens).end_object();
}

// "context_management":{"applied_edits":[...]}; `items` are those that are left, `folded` is how
// many messages summaries stand for.
std::string applied_edits(const std::vector<Edit>& edits, std::span<const Item> items,
                          std::uint64_t folded) {
    const Cleared cleared = cleared_by(edits, items);
    std::string list;
    JsonWriter out(list);
    out.begin_array();
    write_edit_applied(out, "clear_thinking_20251015", "cleared_thinking_turns", cleared.thinking,
                       cleared.thinking_tokens);
    write_edit_applied(out, "clear_tool_uses_20250919", "cleared_tool_uses", cleared.uses,
                       cleared.use_tokens);
    write_edit_applied(out, "compact_20260112", "compacted_messages", folded,
                       cleared.folded_tokens);
    out.end_array();
    return R"("context_management":{"applied_edits":)" + list + "}";
}

// ---- threads ------------------------------------------------------------------------------------

// A thread is kept by the provider: `continue` says only what is new, without tools and system. By
// these details Anthropic's clients know that they have to send the whole conversation instead.
RouteReply refuse_thread() {
    constexpr std::string_view details =
        R"({"error_code":"thread_unsupported_request","unsupported":["thread"]})";
    RouteReply reply{.status = 400, .headers = {{"x-should-retry", "false"}}};
    reply.body = anthropic_error(400,
                                 "thread: message threads are kept by Anthropic only, for requests "
                                 "that are passed on as they are; send the whole conversation "
                                 "without 'thread'",
                                 details);
    return reply;
}

// Only who continues a thread may have nothing new to say.
Result<void> check_said(const Call& call) {
    if (call.field("messages")->size() > 0 || call.field("thread")) return {};
    return fail(ErrorCode::invalid_request, "say something: at least one message", "messages");
}

// ---- one message --------------------------------------------------------------------------------

ClientAsk ask_of(Call& call, Model& model) {
    const JsonValue body = call.json->root();
    ClientAsk ask;
    ask.turn = {
        .model = &model,
        .format = own_format,
        .messages = messages_of(body),
        .tools = raw_field(call, "tools"),
        .parameters = fields_without(body, {"model", "messages", "system", "tools", "stream",
                                            "context_management", "conversation"}),
        .resend = true,
        .digest = digest_of_body(call)};
    ask.stream = wants_stream(call);
    ask.identity = {.id = timed_id("msg_"),
                    .model = std::string(model.name()),
                    .created = system_now().time_since_epoch().count() / 1000};
    return ask;
}

Result<RouteReply> answer_stateful(Call& call, Model& model, const ConversationId& name) {
    ClientAsk ask = ask_of(call, model);
    PAL_TRY(policy, policy_of_request(call.request.body, own_format));
    ask.turn.policy = std::move(policy);
    ask.turn.name = name;
    ask.stateful = true;
    if (!ask.turn.policy.empty())
        ask.extra = [](const Begun& begun) {
            if (!begun.compaction) return applied_edits({}, begun.view.items, 0);
            return applied_edits(begun.compaction->edits, begun.view.items,
                                 begun.compaction->report.folded);
        };
    return answer_client(call, std::move(ask));
}

// Of a request, whose seqs are places in its list.
std::uint64_t messages_folded(const std::vector<Edit>& edits) {
    std::uint64_t messages = 0;
    for (const Edit& edit : edits)
        if (edit.treatment == Treatment::folded)
            messages += edit.range.to.value - edit.range.from.value + 1;
    return messages;
}

// The request after its own context editing.
struct Edited {
    std::string before = {};  // without the wish
    std::string body = {};
    std::string extra = {};  // what was done
};

Result<std::optional<Edited>> edit_request(const Call& call) {
    PAL_TRY(policy, policy_of_request(call.request.body, own_format));
    if (!call.field("context_management")) return std::optional<Edited>();
    std::string body = with_member(call.json->root(), "context_management", std::nullopt);
    if (policy.empty()) return std::optional(Edited{body, body, applied_edits({}, {}, 0)});
    const ModelTable models(call.site.memory.shared_options().models, {});
    PAL_TRY(compacted,
            compact_document(
                body,
                {.format = own_format, .policy = policy, .models = &models, .comes_again = true}));
    const Plan& plan = compacted.plan;
    std::string done = plan.outcome == PlanOutcome::done
                           ? applied_edits(plan.edits, plan.items, messages_folded(plan.edits))
                           : applied_edits({}, {}, 0);
    return std::optional(Edited{std::move(body), std::move(compacted.json), std::move(done)});
}

Result<RouteReply> answer_edited(Call& call, Model& model, const Edited& edited) {
    PAL_TRY(document, parse_json(edited.body));
    ClientAsk ask = ask_of(call, model);
    ask.turn.messages = messages_of(document.root());
    ask.extra_known = edited.extra;
    return answer_client(call, std::move(ask));
}

// A request with the name that the model's server knows.
std::string named_for(const Model& model, const std::string& body) {
    const auto document = parse_json(body);
    if (!document) return body;
    return with_member(document->root(), "model", json_string(model.server_name()));
}

// Other servers of this format may not count. The provider itself says so in its own words, which
// then are about something else.
bool lacks_route(const RouteReply& reply) {
    if (reply.status != 404 && reply.status != 405 && reply.status != 501) return false;
    const auto body = parse_json(reply.body);
    const auto type = body ? body->root().find("type") : std::nullopt;
    return !type || type->string() != "error";
}

// The model's own service counts best; else we count, by the model's name. `body`: null for the
// request's own bytes.
Result<RouteReply> count_body(Call& call, Model& model, const std::string* body) {
    if (model.format() == own_format) {
        PAL_TRY(relayed, body ? relay_body(call, model, count_path, named_for(model, *body))
                              : relay_client(call, model, count_path));
        if (relayed && !lacks_route(*relayed)) return *std::move(relayed);
    }
    if (call.field("thread")) return refuse_thread();
    leave_network();
    PAL_TRY(tokens, count_for_model(call, call.text("model").value_or(""), &model, own_format,
                                    body ? *body : call.request.body));
    return RouteReply{.body = "{\"input_tokens\":" + std::to_string(tokens) + "}"};
}

// What is left, and beside it what there was before.
std::string with_original(const std::string& left, const std::string& before) {
    const auto reply = parse_json(left), other = parse_json(before);
    const auto tokens = other ? other->root().find("input_tokens") : std::nullopt;
    if (!reply || !tokens) return left;
    return with_member(reply->root(), "context_management",
                       "{\"original_input_tokens\":" + std::string(tokens->raw()) + "}");
}

}  // namespace

Result<RouteReply> create_message(Call& call) {
    PAL_CHECK(check_said(call));
    PAL_TRY(model, choose_model(call, call.text("model").value_or("")));
    PAL_TRY(conversation, conversation_of(call));
    const bool ours = conversation || call.field("context_management");
    if (!ours && model->format() == own_format) {
        PAL_TRY(relayed, relay_client(call, *model));
        if (relayed) return *std::move(relayed);
    }
    if (call.field("thread")) return refuse_thread();
    leave_network();
    if (conversation) return answer_stateful(call, *model, *conversation);
    PAL_TRY(edited, edit_request(call));
    if (edited) return answer_edited(call, *model, *edited);
    return answer_client(call, ask_of(call, *model));
}

// What context editing leaves, and what there was before it.
Result<RouteReply> count_message_tokens(Call& call) {
    PAL_CHECK(check_said(call));
    PAL_TRY(model, choose_model(call, call.text("model").value_or("")));
    if (call.field("context_management")) leave_network();
    PAL_TRY(edited, edit_request(call));
    if (!edited) return count_body(call, *model, nullptr);
    PAL_TRY(left, count_body(call, *model, &edited->body));
    if (left.status >= 300) return left;
    RouteReply before = left;
    if (edited->before != edited->body) {
        PAL_TRY(counted, count_body(call, *model, &edited->before));
        before = std::move(counted);
    }
    left.body = with_original(left.body, before.body);
    return left;
}

}  // namespace palimpsest
