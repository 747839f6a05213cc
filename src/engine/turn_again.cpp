#include <algorithm>

#include "base/json.h"
#include "engine/calibrate.h"
#include "engine/turn_attempt.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

// The first seq of what the answer is for, as what was written then tells it.
Result<Seq> turn_of(Store& store, const BeginRequest& request, const Appended& stored) {
    if (request.continues != Seq{}) return request.continues;
    if (!request.resend) return stored.first;
    PAL_TRY(entries, read_lineage(store, stored.header, {.ranges = {{stored.first, stored.last}}}));
    for (const Entry& entry : entries)
        if (std::holds_alternative<MessageEntry>(entry.body)) return entry.seq;
    const Seq noted = noted_turn(entries);
    return noted == Seq{} ? stored.first : noted;
}

// The last entry of what was sent for the answer that ends there; 0: nothing notes it.
Result<Seq> sent_for(Store& store, const Header& header, Seq answer) {
    PAL_TRY(entries, read_lineage(store, header, {.ranges = {{answer + 1, answer + 1}}}));
    const auto* note = entries.empty() ? nullptr : std::get_if<NoteEntry>(&entries.front().body);
    if (!note || note->kind != "usage") return Seq{};
    PAL_TRY(body, parse_json(view_of(note->body)));
    const auto call = body.root().find("call");
    return Seq{static_cast<std::uint64_t>(call ? call->integer().value_or(0) : 0)};
}

}  // namespace

Begun begun_from(const BeginRequest& request, Attempt& attempt, const ConversationId& name,
                 const LogId& log, Seq turn) {
    Begun begun{.name = name,
                .key = request.write.key,
                .log = log,
                .turn = turn,
                .preamble = std::move(attempt.preamble),
                .injected = attempt.injected,
                .model = request.model,
                .tools = request.tools,
                .warnings = std::move(attempt.heard.warnings),
                .policy = attempt.in_force.text,
                .summaries = request.summaries};
    begun.of_other_models = of_other_writers(attempt.calls.writers);
    return begun;
}

Result<Begun> begun_earlier(Memory::State& state, const BeginRequest& request, Attempt& attempt,
                            const ConversationId& name, const Appended& stored) {
    const Header& header = stored.header;
    PAL_TRY(turn, turn_of(*state.store, request, stored));
    Begun begun = begun_from(request, attempt, name, header.log, turn);
    PAL_CHECK(add_answer(*state.store, header, stored.last, begun));
    Seq at = stored.last;
    if (begun.already) {
        PAL_TRY(sent, sent_for(*state.store, header, begun.already_at));
        at = std::max(at, sent);
    }
    PAL_TRY(loaded, load_view(*state.store, *state.tokenizer, header, at));
    begun.view = std::move(loaded.view);
    PAL_TRY(expected, expected_tokens(state, begun));
    begun.tokens_expected = expected;
    return begun;
}

Result<bool> is_too_much(Memory::State& state, const Begun& begun, const Attempt& attempt,
                         const BeginRequest& request) {
    // The attempt may have gone by what was kept in memory.
    PAL_TRY(in_force, state.policies->choose({.request = request.policy,
                                              .conversation = begun.view.header.policy,
                                              .agent = request.agent_policy}));
    if (!in_force.policy) return false;
    // What was reported since is of another view.
    Header then = begun.view.header;
    then.basis = begun.view.basis;
    PAL_TRY(calls_then, read_calls(*state.store, then, begun.view.seq));
    CallState calls = attempt.calls;
    calls.reported_tokens = calls_then.reported_tokens;
    calls.usage = calls_then.usage;
    const View view = recounted(state.measures->tokenizer(request.model), begun.view);
    const Occasion occasion = make_occasion(
        state, view.totals, calls,
        {request.model, request.tools, request.parameters, begun.preamble, view.items});
    return find_due(*in_force.policy, occasion).level == Level::hard;
}

Result<Asked> asked_in(Store& store, const Begun& begun, const Appended& stored) {
    Asked asked{.upto = stored.last};
    const Range said{std::min(begun.turn, stored.first), stored.last};
    PAL_TRY(entries, read_lineage(store, stored.header,
                                  {.ranges = {said}, .kinds = only(EntryKind::message)}));
    for (const Entry& entry : entries) {
        const auto& message = std::get<MessageEntry>(entry.body);
        if (message.message.shape.starts_turn()) asked.messages.clear();
        if (message.answers == Seq{}) asked.messages.push_back(entry.seq);
    }
    return asked;
}

Result<void> check_still_asked(const HotView& view, const Asked& asked) {
    std::size_t shown = 0;
    bool went_on = false;
    for (const Item& item : view.items) {
        const bool stands = item.kind != ItemKind::summary && item.kind != ItemKind::cleared;
        if (stands && std::ranges::binary_search(asked.messages, item.range.from)) ++shown;
        const Shape& shape = item.message.shape;
        went_on |=
            item.range.from > asked.upto && (shape.role == Role::assistant || shape.starts_turn());
    }
    if (shown == asked.messages.size() && !went_on) return {};
    return fail(ErrorCode::budget_unreachable,
                "what was sent the first time is too much for the policy by now, and the "
                "conversation went on since: it does not end with what was asked any more; say it "
                "again with a new key");
}

BeginRequest going_on(const BeginRequest& request, Seq turn) {
    BeginRequest next = request;
    next.messages = {};
    next.write = {.key = request.write.key, .if_absent = IfAbsent::fail};
    next.header = {};
    next.continues = turn;
    next.resend = false;
    return next;
}

}  // namespace palimpsest
