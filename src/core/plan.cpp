#include "core/plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "core/pass.h"
#include "core/plan_after.h"
#include "core/plan_draft.h"
#include "core/plan_numbers.h"

namespace palimpsest {
namespace {

constexpr int rounds_max = 16;  // Each one ends nearer to the target or is the last.

// The view as it comes out of a round, and all edits that led to it.
struct Outline {
    std::vector<Item> own = {};  // empty while nothing was changed
    std::span<const Item> items = {};
    std::vector<ItemFacts> facts = {};  // of the items that came in, if they came without
    std::vector<Edit> edits = {};
    std::vector<SummaryOrder> summaries = {};  // ranges name the edits
    std::uint64_t used = 0;
    bool not_enough = false;
    bool stale = false;     // `items` are those before the last round
    bool in_vain = false;   // the last round was thought to free something and could not
    bool in_order = false;  // the items that came in stand in the order of their seqs
    std::string refusal = {};
};

// Takes out the edits that a later round replaced. What a round made is ascending and disjoint. The
// reason of a pass that took the same again is the one that it had of the view.
void erase_covered(std::vector<Edit>& edits, std::vector<PlanDraft::Made>& made) {
    std::erase_if(edits, [&](const Edit& old) {
        const auto after = std::ranges::upper_bound(
            made, old.range.from, {}, [](const PlanDraft::Made& m) { return m.edit.range.from; });
        if (after == made.begin()) return false;
        Edit& later = std::prev(after)->edit;
        const bool covered = old.range.to <= later.range.to && later.treatment >= old.treatment;
        const bool same = old.range == later.range && old.treatment == later.treatment;
        if (covered && same && old.pass == later.pass) later.reason = old.reason;
        return covered;
    });
}

bool is_wanted(const PolicyPass& pass, const Occasion& occasion) {
    return pass.when.kind == Trigger::Kind::never ||
           due_in(pass.when, Level::hard, occasion).level != Level::none;
}

// It takes away what is oldest until the policy's target is met.
bool removes_oldest(const PolicyPass& pass) {
    return pass.removes_oldest && pass.target.empty() && pass.when.kind == Trigger::Kind::never;
}

// How many passes come before the last such one; none: there is none behind any.
std::size_t before_last_removing(std::span<const PolicyPass> passes) {
    const auto last = std::ranges::find_if(passes.rbegin(), passes.rend(), removes_oldest);
    return last == passes.rend() ? 0 : static_cast<std::size_t>(passes.rend() - last) - 1;
}

// One round of passes; false when there is nothing more to gain from another.
bool run_round(Outline& outline, const PlanInput& input, const Policy& policy,
               std::span<const PolicyPass> passes, std::optional<std::uint64_t> target,
               bool look_ahead = false) {
    const std::uint64_t window = input.occasion.budget.window;
    PlanInput now = input;
    now.items = outline.items;
    if (outline.items.data() != input.items.data()) {
        now.facts = {};
        now.occasion.items = outline.items;
        now.occasion.totals = totals_of(outline.items);
    }
    PlanDraft draft(now, policy);
    if (outline.items.data() == input.items.data()) outline.in_order = draft.in_order();
    const std::size_t goes_on_below = look_ahead ? before_last_removing(passes) : 0;
    for (std::size_t p = 0; p < passes.size(); ++p) {
        const PolicyPass& pass = passes[p];
        if (target && draft.used() <= *target) break;
        if (!is_wanted(pass, input.occasion)) continue;
        const auto own = pass.target.in(window);
        const auto stop = own ? own : target;
        const auto later = p < goes_on_below ? target : std::nullopt;
        if (!draft.run(pass, stop, pass.min_gain.in(window).value_or(0), later)) {
            outline.refusal = draft.refusal();
            return false;
        }
    }
    outline.not_enough |= draft.not_enough_history();
    std::vector<PlanDraft::Made> made = draft.finish();
    if (outline.facts.empty() && input.facts.empty()) outline.facts = std::move(draft).take_facts();
    outline.in_vain = made.empty() && draft.used() < outline.used;
    if (made.empty()) return false;
    const std::uint64_t used = used_after(outline.used, made, input.occasion.budget.per_message);
    const bool again = used < outline.used && target && used > *target;
    outline.used = used;
    erase_covered(outline.edits, made);
    for (const PlanDraft::Made& one : made)
        if (one.summary) outline.summaries.push_back(*one.summary);
    // Copying the items is the dearest part: only who looks at them again pays for it.
    const std::uint64_t enough =
        std::min(target.value_or(UINT64_MAX), input.occasion.budget.limit());
    outline.stale = used <= enough && !input.want_items;
    if (!outline.stale) {
        outline.own = items_after(outline.items, made, input.tools);
        outline.items = outline.own;
    }
    for (PlanDraft::Made& one : made) outline.edits.push_back(std::move(one.edit));
    return again;
}

// What no policy has to name: a view that fits is always found. Once something must be dropped it
// goes down to the target, so that it is not due again at the next call.
std::vector<PolicyPass> last_resort(const Policy& policy, std::optional<std::uint64_t> target) {
    if (!policy.last_resort.empty()) return policy.last_resort;
    std::vector<PolicyPass> passes;
    for (const std::string_view name : {"drop_oldest", "shorten"})
        for (const PassKind& kind : pass_kinds())
            if (kind.name == name) {
                const auto json = parse_json("{}");
                auto run = kind.make(json->root());
                PAL_ASSERT(run.has_value());
                passes.push_back({.name = std::string(name), .run = *std::move(run)});
            }
    if (target) passes.front().target.tokens = *target;
    return passes;
}

// Of an `all` every part: "messages+turns".
bool counts_things(std::string_view trigger) {
    constexpr std::string_view names[] = {"messages",  "turns",  "reasoning_turns",
                                          "tool_uses", "images", "bytes"};
    const std::size_t plus = trigger.find('+');
    if (std::ranges::find(names, trigger.substr(0, plus)) == std::end(names)) return false;
    return plus == std::string_view::npos || counts_things(trigger.substr(plus + 1));
}

// By the policy alone: its target, or three quarters of the trigger that fired.
std::optional<std::uint64_t> usual_target(const Policy& policy, const Due& due,
                                          const Occasion& occasion, std::uint64_t used) {
    std::optional<std::uint64_t> target = policy.target.in(occasion.budget.window);
    if (target || !due.at_tokens) return target;
    target = *due.at_tokens - *due.at_tokens / 4;
    // The provider counts otherwise than we do: the same share of our count.
    if (due.trigger == "reported_tokens" && occasion.reported_tokens.value_or(0) > 0)
        target =
            static_cast<std::uint64_t>(static_cast<double>(*target) * static_cast<double>(used) /
                                       static_cast<double>(*occasion.reported_tokens));
    return target;
}

// As is_by_choice(), under the policy's budget.
bool has_room(const Policy& policy, const Due& due, const Occasion& occasion, std::uint64_t used) {
    const auto target = usual_target(policy, due, occasion, used);
    const bool room = used > 0 && (!target || *target >= used);
    return due.trigger == "explicit" && room && used <= occasion.budget.limit();
}

// A quarter goes then. Passes that say themselves how much they leave do so.
bool is_gentle(const Policy& policy, const Due& due, const Occasion& occasion, std::uint64_t used) {
    const bool stops = !policy.target.empty() || due.at_tokens ||
                       std::ranges::any_of(policy.passes, removes_oldest);
    return stops && has_room(policy, due, occasion, used);
}

// Without the passes that drop, where there are others: what must not go for want of room stays.
Policy without_drops(const Policy& policy) {
    Policy gentle = policy;
    std::erase_if(gentle.passes, [](const PolicyPass& pass) { return pass.name == "drop_oldest"; });
    return gentle.passes.empty() ? policy : gentle;
}

// None: every pass does all that it can.
std::optional<std::uint64_t> choose_target(const Policy& policy, const Due& due,
                                           const Occasion& occasion, std::uint64_t used) {
    std::optional<std::uint64_t> target = usual_target(policy, due, occasion, used);
    // There are too many of something, not too many tokens: a target that is met says nothing.
    if (counts_things(due.trigger) && target && *target >= used) target.reset();
    if (is_gentle(policy, due, occasion, used))
        target = used - std::max<std::uint64_t>(used / 4, 1);
    // An overflow says that the count was too low: the target must lie below what was sent.
    if (due.trigger == "overflow") target = std::min(target.value_or(used), used - used / 4);
    if (target) target = std::min(*target, occasion.budget.limit());
    return target;
}

// Rounds until the target is met; for triggers that do not count tokens, until they are not due
// any more, whether or not fewer tokens than the target are left. Ends when a round brings nothing.
void run_passes(Outline& outline, PlanInput input, const Policy& policy, const Due& due,
                std::optional<std::uint64_t> target) {
    const bool counts = !due.at_tokens && due.trigger != "explicit" && due.trigger != "overflow";
    input.want_items |= counts;
    std::span<const PolicyPass> passes = policy.passes;
    for (int round = 0; round < rounds_max; ++round) {
        const std::uint64_t before = outline.used;
        const bool again = run_round(outline, input, policy, passes, target, round == 0);
        if (outline.used < before) passes = policy.passes;  // The first may find something anew.
        if (again) continue;
        // What later passes were thought to take they could not, because it is protected.
        const bool above = target && outline.used > *target && outline.refusal.empty();
        if (round == 0 && above) continue;
        if (above && outline.in_vain && passes.size() > 1) {
            passes = passes.subspan(1);  // It kept the others from being asked.
            continue;
        }
        const bool met = target && outline.used <= *target && counts_things(due.trigger);
        if (!counts || !outline.refusal.empty() || (outline.used >= before && !met)) return;
        Occasion now = input.occasion;
        now.items = outline.items;
        now.totals = totals_of(outline.items);
        if (find_due(policy, now).trigger != due.trigger) return;
        // As in choose_target(), which the same policy asked again would begin with.
        if (met) target.reset();
    }
}

bool counts_things(const Trigger& trigger) {
    if (trigger.kind == Trigger::Kind::condition) return counts_things(trigger.name);
    return std::ranges::any_of(trigger.parts,
                               [](const Trigger& part) { return counts_things(part); });
}

// What fired is met; of the policy's own triggers one that counts things may be due still. It is
// seen to at once: the same policy asked again would change nothing.
void run_counts_due(Outline& outline, const PlanInput& input, const Policy& policy,
                    std::string last) {
    for (int round = 0; outline.refusal.empty() && round < rounds_max; ++round) {
        Occasion now = input.occasion;
        now.items = outline.items;
        now.totals = totals_of(outline.items);
        const Due next = due_in(policy.hard, Level::hard, now);
        if (next.level == Level::none || next.trigger == last || !counts_things(next.trigger))
            return;
        run_passes(outline, input, policy, next, choose_target(policy, next, now, outline.used));
        last = next.trigger;
    }
}

// What is due, and in the end what no policy has to name.
void run_all_due(Outline& outline, PlanInput input, const Policy& policy, const Due& due,
                 std::optional<std::uint64_t> target) {
    const std::uint64_t limit = input.occasion.budget.limit();
    const bool looks_again = due.trigger != "explicit" && counts_things(policy.hard);
    input.want_items |= looks_again;
    run_passes(outline, input, policy, due, target);
    if (looks_again) run_counts_due(outline, input, policy, due.trigger);
    if (!outline.refusal.empty() || outline.used <= limit) return;
    PAL_ASSERT(!outline.stale);
    const std::vector<PolicyPass> passes = last_resort(policy, target);
    const auto make_fit = [&](const Policy& by) {
        for (int round = 0; round < rounds_max && outline.used > limit; ++round)
            if (!run_round(outline, input, by, passes, limit)) break;
    };
    make_fit(policy);
    if (!outline.refusal.empty()) return;
    Policy bare = policy;
    bare.protect.run_start = false;  // Only for the limit: the target is not worth a run's start.
    make_fit(bare);
    if (looks_again) run_counts_due(outline, input, policy, {});
}

// Whether there is less of it: of tokens, or of messages and media that count none.
bool frees_something(const Plan& plan) {
    if (plan.used_after < plan.used_before) return true;
    return std::ranges::any_of(plan.edits, [&](const Edit& edit) {
        return edit.pass == "clear_media" ||
               (edit.treatment >= Treatment::folded && plan.used_after == plan.used_before);
    });
}

void set_outcome(Plan& plan, const Outline& outline, const Policy& policy, const Budget& budget) {
    const std::uint64_t gain = plan.used_before - std::min(plan.used_before, plan.used_after);
    const std::uint64_t least = policy.min_gain.in(budget.window).value_or(0);
    if (!outline.refusal.empty()) {
        plan.outcome = PlanOutcome::unreachable;
        plan.explanation = outline.refusal + ": " + numbers_in_words(plan);
    } else if (plan.used_after > plan.limit) {
        plan.outcome = PlanOutcome::unreachable;
        const bool enough = plan.floor <= plan.limit && !policy.last_resort.empty();
        plan.explanation =
            enough
                ? "the policy's last_resort leaves " + std::to_string(plan.used_after) + " tokens"
                : "what must stay takes " + std::to_string(plan.floor) + " tokens";
        const bool by_answer = !plan.little_room.empty() && plan.floor <= budget.window / 2;
        if (by_answer) plan.blamed = budget.reply_field;
        plan.explanation +=
            ", the limit is " + std::to_string(plan.limit) + "; " +
            (by_answer ? plan.little_room
                       : "unpin something, send fewer tools, or use a model with a larger window");
    } else if (plan.edits.empty()) {
        plan.outcome =
            outline.not_enough ? PlanOutcome::not_enough_history : PlanOutcome::no_progress;
        plan.explanation = "nothing could be taken out: " + numbers_in_words(plan);
    } else if (!frees_something(plan)) {
        plan.outcome = PlanOutcome::no_progress;
        plan.explanation = "the request would not become smaller: " + numbers_in_words(plan);
    } else if (plan.used_before <= plan.limit && gain < least) {
        plan.outcome = PlanOutcome::no_progress;
        plan.explanation = "it would free " + std::to_string(gain) + " tokens, the minimum is " +
                           std::to_string(least);
    } else {
        plan.outcome = PlanOutcome::done;
        plan.explanation = numbers_in_words(plan);
    }
}

// Where the answer alone is why there is little room: a usual one leaves half of the window.
std::string little_room(const Budget& budget) {
    if (budget.window == 0 || budget.reply <= budget.window / 2) return {};
    const std::string_view field = budget.reply_field.empty() ? "an answer of" : budget.reply_field;
    return std::string(field) + " " + std::to_string(budget.reply) + " leaves " +
           std::to_string(budget.limit()) + " of the window of " + std::to_string(budget.window) +
           ": ask for a shorter answer";
}

// One order for each fold that stands. What an earlier round folded a later one may have folded
// again: the newest order of a range is the one whose text stands there.
void order_summaries(Plan& plan, const std::vector<SummaryOrder>& ordered, const Policy& policy) {
    for (std::size_t e = 0; e < plan.edits.size(); ++e) {
        if (plan.edits[e].treatment != Treatment::folded) continue;
        const auto newest = std::find_if(
            ordered.rbegin(), ordered.rend(),
            [&](const SummaryOrder& order) { return order.range == plan.edits[e].range; });
        if (newest == ordered.rend()) continue;
        SummaryOrder& order = plan.summaries.emplace_back(*newest);
        order.edit = e;
        if (order.model.empty()) order.model = policy.summarizer_model;
    }
}

}  // namespace

std::string_view outcome_name(PlanOutcome outcome) {
    constexpr std::string_view names[] = {"not_due", "done", "not_enough_history", "no_progress",
                                          "unreachable"};
    return names[static_cast<std::size_t>(outcome)];
}

Error unreachable_error(std::uint64_t floor, std::string_view explanation, std::string param) {
    const std::string what =
        floor == 0 ? "the policy ends the turn: " : "the request cannot be made to fit: ";
    return {ErrorCode::budget_unreachable, what + std::string(explanation), std::move(param)};
}

Error unreachable_error(const Plan& plan) {
    return unreachable_error(plan.floor, plan.explanation, plan.blamed);
}

std::uint64_t first_byte_of(std::span<const Item> items, std::size_t item) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < item; ++i) bytes += view_of(items[i].message.raw).size();
    return bytes;
}

Budget budget_under(const Policy& policy, Budget budget) {
    if (policy.window_tokens > 0 && (budget.window == 0 || policy.window_tokens < budget.window))
        budget.window = policy.window_tokens;
    if (budget.reply_is_usual) budget.reply = std::min(budget.reply, budget.window / 2);
    if (budget.reply == 0) {
        budget.reply = policy.reply_tokens;
        budget.reply_field = "reply_tokens";
    }
    return budget;
}

Due find_due(const Policy& policy, const Occasion& asked) {
    if (policy.is_none()) return {};
    Occasion occasion = asked;
    occasion.budget = budget_under(policy, asked.budget);
    const auto at_tokens = trigger_tokens(policy.hard, occasion.budget.window);
    if (occasion.explicitly) return {Level::hard, "explicit", at_tokens};
    if (occasion.overflow) return {Level::hard, "overflow", at_tokens};
    const std::uint64_t limit = occasion.budget.limit();
    Due due = occasion.budget.used(occasion.totals) > limit
                  ? Due{Level::hard, "window", at_tokens.value_or(limit)}
                  : due_awake(policy.hard, Level::hard, occasion, policy.print);
    if (due.level == Level::none) due = due_awake(policy.soft, Level::soft, occasion, policy.print);
    add_resting(policy.hard, Level::hard, occasion, policy.print, due.resting);
    add_resting(policy.soft, Level::soft, occasion, policy.print, due.resting);
    return due;
}

bool is_by_choice(const Policy& policy, const Due& due, const Occasion& asked) {
    Occasion occasion = asked;
    occasion.budget = budget_under(policy, asked.budget);
    return has_room(policy, due, occasion, occasion.budget.used(occasion.totals));
}

Plan make_plan(const PlanInput& input, const Policy& policy) {
    Occasion occasion = input.occasion;
    occasion.items = input.items;
    return make_plan(input, policy, find_due(policy, occasion));
}

Plan make_plan(const PlanInput& asked, const Policy& given, const Due& due) {
    PlanInput input = asked;
    input.occasion.items = asked.items;
    input.occasion.stalls.clear();  // What is due was said: nothing of it rests meanwhile.
    input.occasion.budget = budget_under(given, asked.occasion.budget);
    const Budget& budget = input.occasion.budget;
    const bool gentle = is_gentle(given, due, input.occasion, budget.used(input.occasion.totals));
    const std::optional<Policy> less = gentle ? std::optional(without_drops(given)) : std::nullopt;
    const Policy& policy = less ? *less : given;
    Plan plan;
    plan.level = due.level;
    plan.trigger = due.trigger;
    plan.tokens_before = plan.tokens_after = input.occasion.totals.tokens;
    plan.used_before = plan.used_after = budget.used(input.occasion.totals);
    plan.limit = budget.limit();
    plan.little_room = little_room(budget);
    if (due.level == Level::none) return plan;
    const auto target = choose_target(policy, due, input.occasion, plan.used_before);
    plan.target = target.value_or(0);
    Outline outline;
    outline.items = input.items;
    outline.used = plan.used_before;
    run_all_due(outline, input, policy, due, target);
    plan.used_after = outline.used;
    if (plan.used_after > plan.limit && outline.refusal.empty()) {
        PlanInput now = input;
        now.items = outline.items;
        if (now.items.data() != input.items.data()) now.facts = {};
        plan.floor = PlanDraft(now, policy).floor();
    }
    plan.edits = std::move(outline.edits);
    if (asked.want_items) plan.items = std::move(outline.own);
    set_outcome(plan, outline, policy, budget);
    if (plan.outcome != PlanOutcome::done) {
        plan.edits.clear();
        plan.items.clear();
        plan.used_after = plan.used_before;
        return plan;
    }
    set_numbers(plan, input,
                outline.facts.empty() ? input.facts : std::span<const ItemFacts>(outline.facts),
                outline.in_order);
    if (!pays(plan, policy, input.occasion)) return plan;
    order_summaries(plan, outline.summaries, policy);
    return plan;
}

Plan make_plan(const View& view, const Policy& policy, bool explicitly) {
    PlanInput input;
    input.items = view.items;
    input.occasion.totals = totals_of(view.items);
    input.occasion.explicitly = explicitly;
    return make_plan(input, policy);
}

}  // namespace palimpsest
