// One turn: begin (append what is new, compact if it is due, give the view) and finish (append the
// answer). Whoever calls the model does it in between.
//
// Everything that `begin` writes is one atomic batch: what was said, the compaction if one was due,
// and the note of the call. With a key K the halves use K/in and K/out; a repeat of a finished turn
// finds the answer and needs no model call.
#include <algorithm>

#include "base/hash.h"
#include "base/ids.h"
#include "core/plan.h"
#include "core/policy.h"
#include "engine/calibrate.h"
#include "engine/call_note.h"
#include "engine/count.h"
#include "engine/edit.h"
#include "engine/input.h"
#include "engine/load.h"
#include "engine/message_tools.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr int attempts_max = 16;

struct Opening {
    std::vector<Message> preamble = {};
    std::vector<Said> said = {};
};

// A leading run of system messages is sent with the call and noted, but is not part of the log.
Opening split_preamble(std::vector<Said> all) {
    Opening opening;
    auto first = std::find_if(all.begin(), all.end(), [](const Said& one) {
        return one.message.shape.role != Role::system;
    });
    for (auto one = all.begin(); one != first; ++one)
        opening.preamble.push_back(std::move(one->message));
    opening.said.assign(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    return opening;
}

// The conversation's own system prompt is sent when the request brings none.
Result<std::vector<Message>> preamble_of(const Header& header, const BeginRequest& request,
                                         const Opening& opening) {
    const std::string& prompt =
        request.header.system_prompt ? *request.header.system_prompt : header.system_prompt;
    if (!opening.preamble.empty() || prompt.empty()) return opening.preamble;
    PAL_TRY(message, make_message(request.format, Role::system, prompt));
    return std::vector<Message>{std::move(message)};
}

// The view as it will be once the new messages stand at its end.
View view_with(const HotView& hot, const Header& header, const std::vector<Said>& said) {
    std::vector<Item> more;
    for (std::size_t i = 0; i < said.size(); ++i) {
        Item item;
        item.range = {hot.seq + i + 1, hot.seq + i + 1};
        item.message = said[i].message;
        item.tokens = said[i].message.count.tokens;
        more.push_back(std::move(item));
    }
    return extended(hot, hot.seq + said.size(), std::move(more)).view(header);
}

struct DuePlan {
    Plan plan = {};
    Policy policy = {};
};

// Sums only: the same cost at any length.
Occasion occasion_of(const HotView& hot, const std::vector<Said>& said) {
    Occasion occasion;
    occasion.totals = hot.totals;
    for (const Said& one : said) {
        Item item;
        item.message = one.message;
        item.tokens = one.message.count.tokens;
        add_item(occasion.totals, item);
    }
    return occasion;
}

Result<std::optional<DuePlan>> compaction_due(Memory::State& state, const HotView& hot,
                                              const Header& header, const Opening& opening,
                                              std::string_view policy_json) {
    if (policy_json.empty()) return std::nullopt;
    PAL_TRY(policy, parse_policy(policy_json));
    PlanInput input;
    input.occasion = occasion_of(hot, opening.said);
    const Due due = find_due(policy, input.occasion);
    if (due.level == Level::none) return std::nullopt;
    const View view = view_with(hot, header, opening.said);
    const auto tools = make_message_tools(*state.tokenizer);
    input.items = view.items;
    input.tools = tools.get();
    Plan plan = make_plan(input, policy, due);
    if (plan.outcome != PlanOutcome::done) return std::nullopt;
    return DuePlan{std::move(plan), std::move(policy)};
}

// The facts of messages that are part of the same batch and therefore not in the store yet.
std::vector<MessageFact> facts_of(const Header& header, const std::vector<Said>& said) {
    std::vector<MessageFact> facts;
    for (std::size_t i = 0; i < said.size(); ++i)
        facts.push_back({header.end + i + 1, said[i].message.count.tokens});
    return facts;
}

Result<Body> compaction_body(Memory::State& state, const Header& header, const Opening& opening,
                             const DuePlan& due) {
    CompactionEntry entry;
    entry.cause = Cause::policy;
    entry.trigger = due.plan.trigger;
    entry.policy = due.policy.name;
    entry.tokens_before = due.plan.tokens_before;
    entry.tokens_after = due.plan.tokens_after;
    entry.edits = due.plan.edits;
    return with_basis(*state.store, *state.tokenizer, header, header.end + opening.said.size(),
                      std::move(entry), facts_of(header, opening.said));
}

Fingerprint digest_of(const BeginRequest& request) {
    Hasher hasher;
    hasher.field("begin");
    for (const std::string_view part :
         {request.messages, format_name(request.format), std::string_view(request.tools),
          std::string_view(request.model), std::string_view(request.parameters),
          std::string_view(request.policy)})
        hasher.field(part);
    return hasher.digest();
}

// The answer that an earlier attempt of this turn stored, if it came that far.
Result<std::optional<Entry>> find_answer(Store& store, const Header& header, Seq turn) {
    ReadQuery query{.ranges = {{turn + 1, header.end}}, .kinds = only(EntryKind::message)};
    if (query.ranges.front().empty()) return std::nullopt;
    PAL_TRY(entries, read_lineage(store, header, query));
    for (Entry& entry : entries)
        if (std::get<MessageEntry>(entry.body).answers == turn) return std::move(entry);
    return std::nullopt;
}

struct Attempt {
    Batch batch = {};
    HotViewPtr before = {};  // the view that the batch goes behind
    CallTexts texts = {};
    std::vector<Message> preamble = {};
    std::optional<DuePlan> due = {};
};

Result<Header> head_or_empty(Store& store, const ConversationId& name) {
    auto header = store.head(name);
    if (header || header.error().code != ErrorCode::not_found) return header;
    Header empty;
    empty.name = name;
    return empty;
}

Result<CallTexts> texts_of(Memory::State& state, const Header& header, const HotView& hot) {
    if (hot.texts) return *hot.texts;
    return known_texts(*state.store, header);
}

// What is sent: the view behind the batch, which stays hot with what the next call note needs.
Result<View> view_behind(Memory::State& state, Attempt& attempt, const Appended& appended) {
    // Also for a repeat: what the note of the call says was sent is what is sent.
    if (appended.again) {
        PAL_TRY(loaded, load_view(*state.store, *state.tokenizer, appended.header, appended.last));
        return std::move(loaded.view);
    }
    HotView before = *attempt.before;
    if (appended.created) {
        before.log = appended.header.log;
        before.epoch = appended.header.epoch;
    }
    HotViewPtr now = after_write(before, appended.header, appended.first, attempt.batch.entries);
    if (!now) {
        PAL_TRY(current, current_view(state, appended.header));
        now = current;
    }
    HotView kept = *now;
    settle_texts(attempt.texts, appended.first);
    if (state.call_notes) kept.texts = std::move(attempt.texts);
    View view = kept.view(appended.header);
    state.hot->put(std::make_shared<const HotView>(std::move(kept)));
    return view;
}

Result<Attempt> prepare(Memory::State& state, const ConversationId& name,
                        const BeginRequest& request, const Opening& opening, bool may_compact) {
    PAL_TRY(header, head_or_empty(*state.store, name));
    const std::string policy = !request.policy.empty() ? request.policy
                               : request.header.policy ? *request.header.policy
                                                       : header.policy;
    Attempt attempt;
    Batch& batch = attempt.batch;
    batch.key = request.write.key.empty() ? "" : request.write.key + "/in";
    batch.digest = digest_of(request);
    batch.expected_end = request.write.expected_end;
    batch.if_absent = request.write.if_absent;
    batch.patch = request.header;
    for (const Said& one : opening.said)
        batch.entries.push_back({MessageEntry{.message = one.message}, one.at});
    PAL_TRY(before, current_view(state, header));
    PAL_TRY(due, compaction_due(state, *before, header, opening, may_compact ? policy : ""));
    if (due) {
        // The plan names seqs of this very batch, so the end must not move under it.
        batch.expected_end = request.write.expected_end.value_or(header.end);
        batch.expected_basis = header.basis;
        batch.expected_epoch = header.epoch;
        if (!header.log.empty()) batch.expected_log = header.log;
        PAL_TRY(body, compaction_body(state, header, opening, *due));
        batch.entries.push_back({std::move(body), {}});
    }
    attempt.due = std::move(due);
    PAL_TRY(preamble, preamble_of(header, request, opening));
    attempt.preamble = std::move(preamble);
    if (state.call_notes) {
        PAL_TRY(texts, texts_of(state, header, *before));
        add_call_note(request, attempt.preamble, texts, batch.entries);
        attempt.texts = std::move(texts);
    }
    attempt.before = std::move(before);
    return attempt;
}

Compaction report(const DuePlan& due, Seq seq) {
    return {Compaction::Outcome::done, seq, due.plan.edits, due.plan.tokens_before,
            due.plan.tokens_after};
}

}  // namespace

std::vector<Message> Begun::request() const {
    std::vector<Message> out = preamble;
    for (const Item& item : view.items) out.push_back(item.message);
    return out;
}

Result<Begun> Memory::begin(const ConversationId& name, const BeginRequest& request) {
    PAL_CHECK(check_name(name));
    PAL_TRY(all, read_said(request.messages, request.format, *state_->tokenizer,
                           state_->message_bytes_max));
    Opening opening = split_preamble(std::move(all));
    for (int tries = 1;; ++tries) {
        // After so many lost races what was said is stored all the same; compaction can wait.
        PAL_TRY(attempt, prepare(*state_, name, request, opening, tries < attempts_max));
        auto appended = state_->store->append(name, attempt.batch);
        if (!appended) {
            const bool moved = appended.error().code == ErrorCode::conflict && attempt.due &&
                               !request.write.expected_end;
            if (moved && tries < attempts_max) continue;
            return std::unexpected(std::move(appended).error());
        }
        Begun begun{.name = name,
                    .key = request.write.key,
                    .log = appended->header.log,
                    .turn = appended->first,
                    .preamble = std::move(attempt.preamble),
                    .model = request.model,
                    .tools = request.tools};
        PAL_TRY(view, view_behind(*state_, attempt, *appended));
        begun.view = std::move(view);
        PAL_TRY(expected, expected_tokens(*state_, begun));
        begun.tokens_expected = expected;
        if (attempt.due && !appended->again)
            begun.compaction = report(*attempt.due, appended->first + opening.said.size());
        if (appended->again) {
            PAL_TRY(answer, find_answer(*state_->store, appended->header, begun.turn));
            if (answer) {
                begun.already = std::get<MessageEntry>(answer->body).message;
                begun.already_interrupted = std::get<MessageEntry>(answer->body).interrupted;
                begun.already_at = answer->seq;
            }
        }
        return begun;
    }
}

Result<Finished> Memory::finish(const Begun& begun, const Answer& answer) {
    const Role role = answer.message.shape.role;
    if (role != Role::assistant && role != Role::other)
        return fail(
            ErrorCode::unprocessable,
            "an answer is an assistant's message, this is a " + std::string(role_name(role)) + "'s",
            "message");
    PAL_CHECK(
        check_message_size(answer.message, state_->message_bytes_max, "the answer", "message"));
    Batch batch;
    batch.key = begun.key.empty() ? "" : begun.key + "/out";
    batch.digest = hash_bytes("finish " + begun.key);  // any answer of this turn will do
    batch.expected_log = begun.log;
    batch.if_absent = IfAbsent::fail;
    MessageEntry entry{
        .message = answer.message, .interrupted = answer.interrupted, .answers = begun.turn};
    PAL_TRY(count, count_message(*state_->tokenizer, entry.message));
    entry.message.count = count;
    batch.entries.push_back({std::move(entry), {}});
    if (state_->call_notes) batch.entries.push_back({usage_note(answer, begun.view.seq), {}});
    PAL_TRY(done, state_->store->append(begun.name, batch));
    if (!done.again) keep_hot(*state_, done.header, done.first, batch.entries);
    // The answer is stored: that nothing could be learned from it must not fail the turn.
    if (!done.again) (void)learn_usage(*state_, begun, answer.usage.input);
    return Finished{done.first, done.header};
}

Result<PastCall> Memory::past_call(const ConversationId& name, Seq note) {
    PAL_TRY(header, head(name));
    PAL_TRY(entry, read_entry(*state_->store, header, note));
    PAL_TRY(call, read_call_note(*state_->store, header, entry));
    PAL_TRY(loaded, load_view(*state_->store, *state_->tokenizer, header, note));
    call.view = std::move(loaded.view);
    return std::move(call);
}

}  // namespace palimpsest
