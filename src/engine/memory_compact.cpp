// The facade's compactions: asked for by hand, previewed, after the provider refused a request as
// too long, and told again from the log.
#include <algorithm>

#include "base/hash.h"
#include "base/ids.h"
#include "engine/calibrate.h"
#include "engine/call_note.h"
#include "engine/edit.h"
#include "engine/next_request.h"
#include "engine/turn.h"
#include "palimpsest/memory.h"
#include "palimpsest/model.h"
#include "store/lineage.h"
#include "store/rules.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr int shrinks_max = 4;  // Each lost one means that somebody else wrote.

Result<PolicyInForce> some_policy(Result<PolicyInForce> found, const Header& header) {
    PAL_TRY(in_force, std::move(found));
    if (in_force.policy) return std::move(in_force);
    return fail(ErrorCode::invalid_request,
                "'" + header.name.id +
                    "' has no policy; name one, as in \"balanced\" or "
                    R"({"passes":[{"pass":"keep_last","turns":20}]})",
                "policy");
}

void bound_window(Budget& budget, std::optional<std::uint64_t> most) {
    if (most && (budget.window == 0 || *most < budget.window)) budget.window = *most;
}

// What was asked for by hand: the policy, and the limit that it comes to.
std::string digest_by_hand(const PolicyInForce& in_force, const Budget& budget) {
    const std::uint64_t limit = budget_under(*in_force.policy, budget).limit();
    const Fingerprint print = hash_bytes(std::to_string(limit) + " " + in_force.text);
    return fmt::format("{:016x}{:016x}", print.high, print.low);
}

// The compaction that was asked for by hand in the same way, if nothing was said since and nothing
// else was edited; 0: none. More would go each time, though there is room.
Result<Seq> find_same_by_hand(Store& store, const Header& header, std::string_view digest) {
    if (header.basis == Seq{}) return Seq{};
    PAL_TRY(entries, read_lineage(store, header, {.ranges = {{header.basis, header.end}}}));
    const auto* note = entries.size() > 1 ? std::get_if<NoteEntry>(&entries[1].body) : nullptr;
    if (!note || !std::holds_alternative<CompactionEntry>(entries.front().body)) return Seq{};
    const bool said = std::ranges::any_of(
        entries, [](const Entry& one) { return std::holds_alternative<MessageEntry>(one.body); });
    return !said && digest_in(*note) == digest ? header.basis : Seq{};
}

Result<Planned> plan_by_hand(Memory::State& state, const Header& header,
                             const PolicyInForce& in_force, const CompactOptions& options) {
    PAL_TRY(footing, footing_of(state, header));
    PAL_TRY(sent, sent_beside(state, header, footing.calls, options.model));
    const HotViewPtr measured = state.measures->view(sent.model, footing.view);
    Occasion occasion =
        make_occasion(state, measured->totals, footing.calls, sent.beside(measured->items));
    occasion.explicitly = true;
    bound_window(occasion.budget, options.window);
    Due due = find_due(*in_force.policy, occasion);
    Seq same;
    if (is_by_choice(*in_force.policy, due, occasion)) {
        PAL_TRY(found,
                find_same_by_hand(*state.store, header, digest_by_hand(in_force, occasion.budget)));
        same = found;
    }
    if (same != Seq{}) due = {};
    const SummaryWait wait{.time = options.preview ? Duration::zero() : state.summary_deadline,
                           .terms = options.summaries};
    Planned planned = plan_compaction(state, measured->view(), occasion, in_force, due, wait);
    if (same != Seq{})
        planned.report.explanation =
            "nothing was said since the compaction at seq " + std::to_string(same.value) +
            "; a smaller window, or a policy with a lower target, takes more";
    // What is thrown away again is not paid for.
    if (options.preview && state.summarizer && !planned.plan.summaries.empty())
        planned.report.explanation +=
            "; a preview asks no model: the text of a summary, and its tokens, are of the one that "
            "is made offline";
    return planned;
}

// {"window": N} as a budget: what would be sent.
Result<View> preview(Memory::State& state, const View& usual, const PolicyInForce& in_force,
                     const ViewOptions& options) {
    PAL_TRY(calls, read_calls(*state.store, usual.header, usual.seq));
    PAL_TRY(sent, sent_beside(state, usual.header, calls, options.model));
    const View view = recounted(state.measures->tokenizer(sent.model), usual);
    Occasion occasion = make_occasion(state, view.totals, calls, sent.beside(view.items));
    bound_window(occasion.budget, options.window);
    const Due due = find_due(*in_force.policy, occasion);
    if (due.level == Level::none) return view;
    const Planned planned = plan_compaction(state, view, occasion, in_force, due, {});
    const Plan& plan = planned.plan;
    if (plan.outcome == PlanOutcome::unreachable) return std::unexpected(unreachable_error(plan));
    if (plan.outcome != PlanOutcome::done) return view;
    return with_edits(view, plan.edits);
}

}  // namespace

Result<View> preview_view(Memory::State& state, const View& view, const ViewOptions& options) {
    PAL_TRY(in_force, policy_of(state, view.header, options.policy));
    if (!in_force.policy) {
        PAL_TRY(policy, state.policies->read("\"balanced\""));
        in_force = {"\"balanced\"", policy};
    }
    return preview(state, view, in_force, options);
}

Result<Compaction> Memory::compact(const ConversationId& name, const CompactOptions& options,
                                   const WriteOptions& write) {
    PAL_TRY(header, head(name));
    PAL_TRY(in_force, some_policy(policy_of(*state_, header, options.policy), header));
    PAL_CHECK(check_summary_models(in_force, options.summaries));
    if (options.preview) {
        PAL_CHECK(check_expected(header, true, {.expected_end = write.expected_end}));
        PAL_TRY(planned, plan_by_hand(*state_, header, in_force, options));
        return told_of(planned);
    }
    std::optional<Planned> planned;
    const std::string request = "compact " + in_force.text;
    auto done = write_edit(*state_, name, write, request,
                           [&](const Header& now, std::vector<Draft>& behind) -> Result<Body> {
                               PAL_TRY(made, plan_by_hand(*state_, now, in_force, options));
                               planned = std::move(made);
                               if (planned->plan.outcome != PlanOutcome::done)
                                   return fail(ErrorCode::not_found, "nothing to do");
                               const std::string digest = digest_by_hand(in_force, planned->budget);
                               behind.push_back({report_note(planned->report, digest), {}});
                               return entry_of(*planned, Cause::request);
                           });
    if (done && done->again) return find_compaction(name, done->first);
    const bool planned_nothing = planned && planned->plan.outcome != PlanOutcome::done;
    if (!done && !planned_nothing) return std::unexpected(std::move(done).error());
    Compaction told = told_of(*planned, done ? done->first : Seq{});
    announce(*state_, name, told);
    if (done) PAL_CHECK(keep_newest_summary(*state_, done->header, told.seq, told.edits));
    return told;
}

Result<Compaction> Memory::find_compaction(const ConversationId& name, Seq seq) {
    PAL_TRY(header, head(name));
    PAL_TRY(entries, read_lineage(*state_->store, header, {.ranges = {{seq, seq + 1}}}));
    const auto* body =
        entries.empty() ? nullptr : std::get_if<CompactionEntry>(&entries.front().body);
    if (!body || entries.front().seq != seq)
        return fail(ErrorCode::not_found,
                    "there is no compaction at seq " + std::to_string(seq.value), "seq");
    Compaction told{.outcome = Compaction::Outcome::done,
                    .seq = seq,
                    .edits = body->edits,
                    .tokens_before = body->tokens_before,
                    .tokens_after = body->tokens_after};
    const auto* note = entries.size() > 1 ? std::get_if<NoteEntry>(&entries[1].body) : nullptr;
    if (note) told.report = read_report_note(*note);
    return told;
}

Result<Begun> Memory::shrink(const Begun& begun) {
    if (begun.shrunk)
        return fail(ErrorCode::budget_unreachable,
                    "the request was made smaller once and is still too long for the model");
    PAL_CHECK(begun.stored());
    for (int tries = 1;; ++tries) {
        PAL_TRY(footing, find_footing(*state_, begun.name, false));
        const Header& header = footing.view->header;
        PAL_TRY(in_force, some_policy(state_->policies->read_chosen(begun.policy), header));
        const HotViewPtr measured = state_->measures->view(begun.model, footing.view);
        Occasion occasion =
            make_occasion(*state_, measured->totals, footing.calls,
                          {begun.model, begun.tools, {}, begun.preamble, measured->items});
        occasion.overflow = true;
        const Planned planned = plan_compaction(
            *state_, measured->view(), occasion, in_force, find_due(*in_force.policy, occasion),
            {.time = tries == 1 ? state_->summary_deadline : Duration::zero(),
             .terms = begun.summaries});
        const Plan& plan = planned.plan;
        if (plan.outcome != PlanOutcome::done || plan.used_after >= plan.used_before)
            return fail(ErrorCode::budget_unreachable,
                        "the provider refused the request as too long and it cannot be made "
                        "smaller: " +
                            std::string(outcome_name(plan.outcome)) +
                            (plan.explanation.empty() ? "" : ", " + plan.explanation));
        Batch batch;
        expect_footing(batch, header);
        batch.if_absent = IfAbsent::fail;
        PAL_CHECK(add_compaction(*state_, header, planned, Cause::overflow, {}, batch.entries));
        auto done = state_->store->append(begun.name, batch);
        if (!done && done.error().code == ErrorCode::conflict && tries < shrinks_max) continue;
        if (!done) return std::unexpected(std::move(done).error());
        CallState calls = footing.calls;
        calls.reported_tokens.reset();
        Begun smaller = begun;
        smaller.shrunk = true;
        PAL_TRY(view, settle(*state_, footing, calls, *done, batch.entries));
        smaller.view = std::move(view);
        smaller.compaction = told_of(planned, done->first);
        announce(*state_, begun.name, *smaller.compaction);
        PAL_TRY(expected, expected_tokens(*state_, smaller));
        smaller.tokens_expected = expected;
        return smaller;
    }
}

}  // namespace palimpsest
