// The first half of a turn: append what is new, compact if it is due, give the view. Whoever calls
// the model does it then; finish.cpp has the second half.
//
// Everything that `begin` writes is one atomic batch: what was said, the compaction if one was due,
// and the note of the call. With a key K the halves use K/in and K/out; a repeat of a finished turn
// finds the answer and needs no model call.
#include <algorithm>

#include "base/hash.h"
#include "base/ids.h"
#include "engine/calibrate.h"
#include "engine/call_note.h"
#include "engine/count.h"
#include "engine/edit.h"
#include "engine/recollect.h"
#include "engine/stopwatch.h"
#include "engine/turn_attempt.h"
#include "engine/turn_terms.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr int attempts_max = 16;
constexpr std::string_view resent_reason = "the client went back";

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

// The conversation's own system prompt, or else its agent's, is sent when the request brings none.
Result<std::vector<Message>> preamble_of(Memory::State& state, const Header& header,
                                         const BeginRequest& request, const Opening& opening,
                                         const TurnTerms& terms) {
    const std::string& own =
        request.header.system_prompt ? *request.header.system_prompt : header.system_prompt;
    const std::string& prompt = own.empty() ? terms.system_prompt : own;
    if (!opening.preamble.empty() || prompt.empty()) return opening.preamble;
    PAL_TRY(message, make_message(request.format, Role::system, prompt));
    PAL_TRY(count, count_message(*state.tokenizer, message));
    message.count = count;
    return std::vector<Message>{std::move(message)};
}

Item item_of(const Said& said, Seq seq) {
    Item item;
    item.range = {seq, seq};
    item.message = said.message;
    item.kind = kind_of_said(item.message);
    item.tokens = said.message.count.tokens;
    return item;
}

// The view as it will be once the new messages stand at its end.
View view_with(const HotView& hot, const Tokenizer& tokenizer, const std::vector<Said>& said) {
    std::vector<Item> more;
    for (const Said& one : said)
        more.push_back(recounted(tokenizer, item_of(one, hot.header.end + more.size() + 1)));
    Header header = hot.header;
    header.end = header.end + said.size();
    return extended(hot, header, std::move(more)).view();
}

// One try of begin, from where the conversation stands to the batch.
class Beginning {
public:
    Beginning(Memory::State& state, const BeginRequest& request, const Opening& opening,
              const TurnTerms& terms)
        : state_(state),
          name_(terms.place.name),
          request_(request),
          opening_(opening),
          terms_(terms) {}

    struct Mood {
        bool may_guess = true, may_compact = true, may_ask = true, may_lose = true;
    };
    Result<Attempt> prepare(Mood mood) {
        Attempt attempt;
        PAL_TRY(before, find_footing(state_, name_, mood.may_guess));
        attempt.before = std::move(before);
        attempt.calls = attempt.before.calls;
        const Header& header = attempt.before.view->header;
        if (terms_.goes_on) PAL_CHECK(check_still_asked(*attempt.before.view, terms_.asked));
        PAL_CHECK(hear_request(attempt));
        PAL_CHECK(choose_policy_and_preamble(header, attempt));
        if (attempt.in_force.policy && !attempt.heard.rewind_to && mood.may_lose)
            PAL_CHECK(plan_and_quote(mood, attempt));
        if (!attempt.recall_warning.empty())
            attempt.heard.warnings.push_back(attempt.recall_warning);
        PAL_TRY(started, start_batch(mood, attempt));
        // Rewound in a step of its own: what is due now is due for what is left.
        if (!started) {
            PAL_TRY(rewound, prepare({false, mood.may_compact, mood.may_ask}));
            rewound.heard.warnings.push_back(attempt.heard.warnings.back());
            return rewound;
        }
        if (attempt.planned) PAL_CHECK(write_plan(header, attempt));
        // Nothing new was said and nothing is sent: there is nothing to write.
        if (attempt.refused() && attempt.batch.entries.empty() && attempt.batch.patch.empty())
            return attempt;
        const std::size_t noted = attempt.preamble.size() - (attempt.injected ? 1 : 0);
        note_writer(attempt.calls.writers, header.end + 1,
                    state_.models->server_name(request_.model));
        if (state_.call_notes)
            add_call_note(request_, std::span(attempt.preamble).first(noted),
                          {.turn = attempt.heard.turn, .refused = attempt.refused()}, attempt.calls,
                          attempt.batch.entries);
        return attempt;
    }

private:
    // What is new of what the request says.
    Result<void> hear_request(Attempt& attempt) const {
        if (!request_.resend) {
            attempt.heard.said = opening_.said;
            attempt.heard.turn = request_.continues;
            return {};
        }
        PAL_TRY(heard, hear(state_, *attempt.before.view, request_.format, opening_.said));
        attempt.heard = std::move(heard);
        return {};
    }

    // What a compaction takes out in this very turn can be quoted in it: the plan comes first.
    Result<void> plan_and_quote(Mood mood, Attempt& attempt) {
        Due due = mood.may_compact ? find_due_now(attempt) : Due{};
        if (due.level == Level::none) {
            quote_past(attempt);
            // It can be the quotation that makes it too much.
            if (mood.may_compact && attempt.quoted) due = find_due_now(attempt);
            if (due.level != Level::none) take_back_quotation(attempt);
        }
        tell_resting(due, attempt.heard.warnings);
        if (due.level == Level::none) return {};
        if (due.level == Level::soft && state_.background) {
            attempt.soft_due = true;
            quote_past(attempt);
            return {};
        }
        // What would be planned for a turn that was begun before nobody would write.
        PAL_TRY(earlier, find_earlier());
        attempt.earlier = std::move(earlier);
        if (attempt.earlier) return {};
        const View before = plan(due, mood, attempt);
        const Plan& plan = attempt.planned->plan;
        const auto room = [&](std::uint64_t used) {
            return plan.limit - std::min(plan.limit, used);
        };
        if (plan.outcome != PlanOutcome::done) {
            quote_past(attempt, room(plan.used_before));
        } else if (attempt.in_force.policy->recall.tokens > 0) {
            PAL_TRY(after, with_edits(before, plan.edits));
            const Header& header = attempt.before.view->header;
            quote_past({header, after.items}, room(plan.used_after), attempt);
            if (attempt.quoted) make_room(*attempt.planned, header.end + attempt.quoted_at + 1);
        }
        return {};
    }

    void quote_past(Attempt& attempt, std::uint64_t room = UINT64_MAX) {
        const HotView& view = *attempt.before.view;
        if (attempt.in_force.policy->recall.tokens > 0)
            quote_past({view.header, view.items, shows_all(view)}, room, attempt);
    }

    // Once for each question. A turn goes on without it when the past cannot be searched.
    void quote_past(const Sight& sight, std::uint64_t room, Attempt& attempt) {
        RecallBudget budget = attempt.in_force.policy->recall;
        budget.tokens = std::min(budget.tokens, room);
        if (budget.tokens == 0) return;
        auto quoted = recollect(state_, sight, attempt.heard.said, budget);
        attempt.recall_warning =
            quoted ? quoted->warning : "nothing was recalled: " + quoted.error().message;
        if (!quoted || !quoted->quotation) return;
        auto& said = attempt.heard.said;
        const auto question = std::find_if(said.rbegin(), said.rend(), [](const Said& one) {
            return one.message.shape.starts_turn();
        });
        const auto at = said.insert(question.base() - 1, *std::move(quoted->quotation));
        attempt.quoted = true;
        attempt.quoted_at = static_cast<std::size_t>(at - said.begin());
    }

    static void take_back_quotation(Attempt& attempt) {
        auto& said = attempt.heard.said;
        said.erase(said.begin() + static_cast<std::ptrdiff_t>(attempt.quoted_at));
        attempt.quoted = false;
        attempt.recall_warning.clear();
    }

    // False: the conversation was rewound and must be looked at anew.
    Result<bool> start_batch(Mood mood, Attempt& attempt) {
        Batch& batch = attempt.batch;
        const Header& header = attempt.before.view->header;
        batch.key = batch_key();
        batch.digest = terms_.digest;
        batch.if_absent = request_.write.if_absent;
        batch.patch = request_.header;
        if (attempt.heard.rewind_to) {
            if (mood.may_compact && is_due_after_rewind(attempt)) {
                PAL_TRY(first_time, rewind_first(*attempt.heard.rewind_to));
                if (first_time) return false;
            }
            PAL_TRY(body, with_basis(*state_.store, *state_.tokenizer, header, header.end,
                                     rewind_entry(header, *attempt.heard.rewind_to)));
            batch.entries.push_back({std::move(body), {}});
        }
        // Whoever plans on what the log has, or quotes it, must not find another one. New words
        // may.
        const bool judged =
            terms_.goes_on || (request_.resend && (mood.may_lose || attempt.heard.rewind_to));
        if (attempt.before.guessed || judged || attempt.quoted) expect_footing(batch, header);
        if (request_.write.expected_end) batch.expected_end = request_.write.expected_end;
        for (const Said& one : attempt.heard.said)
            batch.entries.push_back({MessageEntry{.message = one.message}, one.at});
        return true;
    }

    static RewindEntry rewind_entry(const Header& header, Seq to) {
        return {to, header.end, std::string(resent_reason), {}};
    }

    bool is_due_after_rewind(const Attempt& attempt) const {
        if (!attempt.in_force.policy) return false;
        // A summary of what goes goes with it, and what it stood for comes back.
        const Seq to = *attempt.heard.rewind_to;
        if (std::ranges::any_of(attempt.before.view->items, [&](const Item& item) {
                return item.kind == ItemKind::summary && item.range.from <= to &&
                       to < item.range.to;
            }))
            return true;
        const HotViewPtr measured = state_.measures->view(request_.model, attempt.before.view);
        ViewTotals totals;
        for (const Item& item : measured->items)
            if (item.range.from <= to) add_item(totals, item);
        const auto left = std::span<const Item>(measured->items).first(totals.messages);
        return find_due(*attempt.in_force.policy, occasion_of(left, totals, attempt)).level !=
               Level::none;
    }

    std::string batch_key() const {
        const std::string& key = request_.write.key;
        return key.empty() || terms_.goes_on ? "" : key + "/in";
    }

    // What an earlier attempt with this key stored; none: there was none. A key is looked at before
    // the incarnation, so a batch for a log that cannot exist asks and writes nothing.
    Result<std::optional<Appended>> find_earlier() const {
        Batch question{.key = batch_key(), .digest = terms_.digest, .expected_log = LogId{}};
        question.if_absent = IfAbsent::fail;
        if (question.key.empty()) return std::nullopt;
        auto found = state_.store->append(name_, question);
        if (found) return std::optional(*std::move(found));
        const ErrorCode code = found.error().code;
        if (code == ErrorCode::conflict || code == ErrorCode::not_found) return std::nullopt;
        return std::unexpected(std::move(found).error());
    }

    // False: this turn was begun before, and what it took back then is gone already.
    Result<bool> rewind_first(Seq to) const {
        PAL_TRY(earlier, find_earlier());
        if (earlier) return false;
        PAL_TRY(written, write_edit(state_, name_, {}, "resend",
                                    [&](const Header& header, std::vector<Draft>&) -> Result<Body> {
                                        return rewind_entry(header, to);
                                    }));
        return !written.again;
    }

    Result<void> choose_policy_and_preamble(const Header& header, Attempt& attempt) {
        const std::string& own = request_.header.policy ? *request_.header.policy : header.policy;
        PAL_TRY(in_force, state_.policies->choose({.request = request_.policy,
                                                   .conversation = own,
                                                   .agent = request_.agent_policy}));
        PAL_CHECK(check_summary_models(in_force, request_.summaries));
        attempt.in_force = std::move(in_force);
        PAL_TRY(preamble, preamble_of(state_, header, request_, opening_, terms_));
        attempt.preamble = std::move(preamble);
        if (!attempt.in_force.policy || !attempt.in_force.policy->injection.on) return {};
        PAL_TRY(source, choose_source(state_, header, attempt.calls, *attempt.in_force.policy));
        attempt.calls.injected = source;
        if (!source) return {};
        PAL_TRY(message, read_source_message(*state_.store, *source, request_.format));
        if (!message) return {};
        PAL_TRY(count, count_message(*state_.tokenizer, *message));
        message->count = count;
        attempt.preamble.push_back(*std::move(message));
        attempt.injected = true;
        return {};
    }

    // `totals` of the view, to which what is said now is added.
    Occasion occasion_of(std::span<const Item> view, ViewTotals totals,
                         const Attempt& attempt) const {
        const Tokenizer& tokenizer = state_.measures->tokenizer(request_.model);
        for (const Said& one : attempt.heard.said)
            add_item(totals, recounted(tokenizer, item_of(one, {})));
        return make_occasion(
            state_, totals, attempt.calls,
            {request_.model, request_.tools, request_.parameters, attempt.preamble, view});
    }

    Due find_due_now(const Attempt& attempt) const {
        const HotViewPtr measured = state_.measures->view(request_.model, attempt.before.view);
        return find_due(*attempt.in_force.policy,
                        occasion_of(measured->items, measured->totals, attempt));
    }

    // Gives what is planned on: the view with what is said now.
    View plan(const Due& due, Mood mood, Attempt& attempt) {
        const HotViewPtr measured = state_.measures->view(request_.model, attempt.before.view);
        const SummaryWait patience{.time = mood.may_ask ? state_.summary_deadline : Duration{},
                                   .terms = request_.summaries};
        View view =
            view_with(*measured, state_.measures->tokenizer(request_.model), attempt.heard.said);
        attempt.planned =
            plan_compaction(state_, view, occasion_of(measured->items, measured->totals, attempt),
                            attempt.in_force, due, patience);
        const Plan& plan = attempt.planned->plan;
        if (plan.outcome != PlanOutcome::unreachable)
            attempt.rests = note_progress(attempt.calls.stalls, attempt.in_force.policy->print, due,
                                          plan.tokens_before, plan.outcome == PlanOutcome::done);
        return view;
    }

    // Once the batch has what was said.
    Result<void> write_plan(const Header& header, Attempt& attempt) {
        if (attempt.planned->plan.outcome != PlanOutcome::done) return {};
        attempt.calls.reported_tokens.reset();
        // The plan names seqs of this very batch, so the end must not move under it.
        expect_footing(attempt.batch, header);
        if (request_.write.expected_end) attempt.batch.expected_end = request_.write.expected_end;
        return add_compaction(state_, header, *attempt.planned, Cause::policy, attempt.heard.said,
                              attempt.batch.entries);
    }

    Memory::State& state_;
    const ConversationId& name_;
    const BeginRequest& request_;
    const Opening& opening_;
    const TurnTerms& terms_;
};

// The first seq of what the answer is for.
Seq turn_of(const BeginRequest& request, const Attempt& attempt, Seq first) {
    if (request.continues != Seq{}) return request.continues;
    if (!request.resend) return first;
    if (attempt.heard.said.empty() && attempt.heard.turn != Seq{}) return attempt.heard.turn;
    return first + (attempt.heard.rewind_to ? 1 : 0);
}

Result<Begun> begun_of(Memory::State& state, const BeginRequest& request, Attempt& attempt,
                       std::span<const Draft> written, WrittenBatch stored,
                       const ConversationId& name) {
    const Appended& appended = stored.appended;
    // What reads or writes the store next goes by what is there.
    if (stored.storing && (attempt.planned || attempt.soft_due)) {
        PAL_CHECK(stored.storing->wait());
        stored.storing.reset();
    }
    Begun begun = begun_from(request, attempt, name, appended.header.log,
                             turn_of(request, attempt, appended.first));
    settle_texts(attempt.calls.texts, appended.first);
    if (state.call_notes) {
        attempt.calls.last = appended.last;
        attempt.calls.last_at = appended.header.updated;
    }
    PAL_TRY(view,
            settle(state, attempt.before, attempt.calls, appended, written, stored.storing.get()));
    begun.view = std::move(view);
    if (attempt.soft_due)
        PAL_CHECK(put_job(state, appended.header, attempt.in_force.text, request.model));
    PAL_CHECK(tell_compaction(state, attempt, appended.first + attempt.heard.said.size(), begun));
    if (begun.compaction)
        PAL_CHECK(keep_newest_summary(state, appended.header, begun.compaction->seq,
                                      begun.compaction->edits));
    PAL_TRY(expected, expected_tokens(state, begun));
    begun.tokens_expected = expected;
    begun.storing = std::move(stored.storing);
    return begun;
}

Result<Begun> begin_at(Memory::State& state, const BeginRequest& request, const Opening& opening,
                       const TurnTerms& terms);

Result<Begun> begin_again(Memory::State& state, const BeginRequest& request, const Opening& opening,
                          const TurnTerms& terms, Attempt& attempt, const Appended& stored) {
    PAL_TRY(begun, begun_earlier(state, request, attempt, terms.place.name, stored));
    if (begun.already) return std::move(begun);
    PAL_TRY(too_much, is_too_much(state, begun, attempt, request));
    if (!too_much) return std::move(begun);
    if (terms.place.taken) return turn_taken(terms.place.name);
    TurnTerms further = terms;
    further.goes_on = true;
    PAL_TRY(asked, asked_in(*state.store, begun, stored));
    further.asked = std::move(asked);
    PAL_TRY(next, begin_at(state, going_on(request, begun.turn), {.preamble = opening.preamble},
                           further));
    next.warnings.insert(next.warnings.begin(), begun.warnings.begin(), begun.warnings.end());
    return std::move(next);
}

Result<Begun> begin_at(Memory::State& state, const BeginRequest& request, const Opening& opening,
                       const TurnTerms& terms) {
    const ConversationId& name = terms.place.name;
    const bool repeats = terms.place.taken;
    Beginning beginning(state, request, opening, terms);
    for (int tries = 1;; ++tries) {
        // After so many lost races what was said is stored all the same: compaction can wait, and
        // of what others say meanwhile nothing is taken back.
        auto prepared =
            beginning.prepare({.may_guess = tries == 1 && !terms.place.exclusive && !terms.goes_on,
                               .may_compact = tries < attempts_max && !repeats,
                               .may_ask = tries <= 2,
                               .may_lose = tries < attempts_max});
        // What was kept in memory may be of a conversation that is gone.
        if (!prepared && prepared.error().code == ErrorCode::not_found && tries == 1) continue;
        PAL_TRY(attempt, std::move(prepared));
        if (attempt.earlier)
            return begin_again(state, request, opening, terms, attempt, *attempt.earlier);
        if (attempt.refused() && attempt.batch.entries.empty() && attempt.batch.patch.empty()) {
            if (!attempt.before.guessed) return refuse(state, name, *attempt.planned);
            continue;
        }
        const auto batch = std::make_shared<const Batch>(std::move(attempt.batch));
        auto stored =
            store_batch(*state.store, name, batch, request.ahead && !terms.place.exclusive);
        if (stored && stored->appended.again) {
            if (stored->storing) PAL_CHECK(stored->storing->wait());
            return begin_again(state, request, opening, terms, attempt, stored->appended);
        }
        if (stored)
            return begun_of(state, request, attempt, batch->entries, *std::move(stored), name);
        const bool plans = (attempt.planned || request.resend || attempt.quoted || terms.goes_on) &&
                           !request.write.expected_end;
        const bool again = stored.error().code == ErrorCode::conflict &&
                           (attempt.before.guessed || plans) && tries < attempts_max;
        if (!again) return std::unexpected(std::move(stored).error());
    }
}

}  // namespace

Result<Begun> Memory::begin(const ConversationId& name, const BeginRequest& request) {
    const Stopwatch watch;
    PAL_CHECK(check_name(name));
    PAL_TRY(all, read_said(request.messages, request.format, *state_->tokenizer,
                           state_->message_bytes_max));
    const Opening opening = split_preamble(std::move(all));
    PAL_TRY(terms, find_terms(*this, *state_, name, request, opening));
    const TurnPlace& place = terms.place;
    auto begun = begin_at(*state_, terms.filled ? *terms.filled : request, opening, terms);
    if (place.taken && !begun && begun.error().code == ErrorCode::conflict)
        return turn_taken(place.name);
    // A turn that did not begin, or is over already, holds nobody up.
    const bool over = !begun || (begun->already && !has_calls(*begun->already, {}));
    if (place.fresh && over)
        keep_turn(*state_, {.name = place.name, .turn = seq_max, .exclusive = true}, true);
    if (!begun) return begun;
    begun->exclusive = place.exclusive;
    if (!place.warning.empty()) begun->warnings.push_back(place.warning);
    state_->meters->count_step(Meters::Step::begin, watch.seconds());
    begun->ready = std::chrono::steady_clock::now();
    return begun;
}

}  // namespace palimpsest
