#include "engine/compactor.h"

#include <algorithm>

#include "core/plan_numbers.h"
#include "engine/count.h"
#include "engine/message_tools.h"
#include "engine/present.h"
#include "engine/reply_room.h"
#include "engine/report.h"
#include "palimpsest/format.h"
#include "token/tool_tokens.h"

namespace palimpsest {
namespace {

std::uint64_t tokens_of(const Tokenizer& tokenizer, std::span<const Message> messages) {
    std::uint64_t sum = 0;
    for (const Message& message : messages) {
        if (message.count.scheme == tokenizer.scheme()) {
            sum += message.count.tokens;
        } else if (const auto count = count_message(tokenizer, message)) {
            sum += count->tokens;
        }
    }
    return sum;
}

// The edit that decides about the item: the strongest that covers it, of equals the later.
const Edit* edit_of(std::span<const Edit> edits, const Item& item) {
    const Edit* strongest = nullptr;
    for (const Edit& edit : edits)
        if (edit.range.contains(item.range.from) &&
            (!strongest || edit.treatment >= strongest->treatment))
            strongest = &edit;
    return item.pinned ? nullptr : strongest;
}

Result<Item> edited(const Item& item, const Edit& edit) {
    Item out = item;
    out.reason = edit.reason;
    out.tokens = edit.after.tokens;
    if (edit.treatment == Treatment::folded) {
        out.kind = ItemKind::summary;
        out.range = edit.range;
        out.tells = edit.range;
        PAL_TRY(message, make_message(edit.format, Role::user, view_of(edit.result)));
        out.message = std::move(message);
    } else {
        out.kind = edit.treatment == Treatment::cleared ? ItemKind::cleared : ItemKind::shortened;
        PAL_TRY(message, read_message(edit.format, edit.result));
        out.message = std::move(message);
    }
    out.message.count = edit.after;
    return out;
}

}  // namespace

Occasion make_occasion(Memory::State& state, const ViewTotals& totals, const CallState& calls,
                       const Beside& beside) {
    const Tokenizer& tokenizer = state.measures->tokenizer(beside.model);
    Occasion occasion;
    occasion.totals = totals;
    occasion.preamble = beside.preamble;
    occasion.items = beside.items;
    occasion.reported_tokens = calls.reported_tokens;
    if (calls.reported_tokens) occasion.usage = calls.usage;
    occasion.stalls = calls.stalls;
    occasion.now = state.clock();
    Budget& budget = occasion.budget;
    const ModelSpec& model = state.models->find(beside.model);
    if (!beside.model.empty()) {
        occasion.model = facts_of(model);
        budget.window = model.window_tokens;
        budget.per_message = around_message(model.overheads);
        budget.per_request =
            static_cast<std::uint32_t>(std::max(model.overheads.per_request, std::int32_t{0}));
    }
    keep_reply_free(budget, beside.parameters, model);
    budget.tools = tool_tokens(model, tokenizer, beside.tools, !beside.preamble.empty()).total();
    budget.system =
        tokens_of(tokenizer, beside.preamble) + budget.per_message * beside.preamble.size();
    return occasion;
}

Planned plan_compaction(Memory::State& state, const View& view, const Occasion& occasion,
                        const PolicyInForce& in_force, const Due& due,
                        const SummaryWait& patience) {
    const auto tools = make_message_tools(state.measures->tokenizer(occasion.model.name));
    PlanInput input;
    input.items = view.items;
    input.facts = view.items.facts();
    input.occasion = occasion;
    input.occasion.totals = view.totals;
    input.tools = tools.get();
    Planned planned;
    planned.in_force = in_force;
    planned.plan = make_plan(input, *in_force.policy, due);
    planned.budget = occasion.budget;
    planned.totals = view.totals;
    if (planned.plan.outcome == PlanOutcome::done)
        planned.bill = word_summaries(state, view, *tools, patience, planned.plan);
    planned.report = make_report(planned.plan, in_force, view, planned.budget, planned.bill);
    return planned;
}

void move_to(Planned& planned, const View& view) {
    Plan& plan = planned.plan;
    const std::uint64_t used_then = planned.budget.used(planned.totals),
                        used_now = planned.budget.used(view.totals);
    for (std::uint64_t* tokens : {&plan.tokens_before, &plan.tokens_after})
        *tokens = *tokens - planned.totals.tokens + view.totals.tokens;
    for (std::uint64_t* used : {&plan.used_before, &plan.used_after})
        *used = *used - used_then + used_now;
    planned.totals = view.totals;
    plan.explanation = numbers_in_words(plan);
    planned.report = make_report(plan, planned.in_force, view, planned.budget, planned.bill);
}

void make_room(Planned& planned, Seq at) {
    const auto move = [&](Seq& seq) { seq = seq >= at ? seq + 1 : seq; };
    for (Edit& edit : planned.plan.edits) {
        move(edit.range.from);
        move(edit.range.to);
    }
    move(planned.plan.first_changed);
    move(planned.report.first_changed);
}

Compaction told_of(const Planned& planned, Seq seq) {
    const Plan& plan = planned.plan;
    Compaction told;
    told.outcome = static_cast<Compaction::Outcome>(plan.outcome);
    told.seq = seq;
    told.edits = plan.edits;
    told.tokens_before = plan.tokens_before;
    told.tokens_after = plan.tokens_after;
    told.report = planned.report;
    return told;
}

CompactionEntry entry_of(const Planned& planned, Cause cause) {
    CompactionEntry entry;
    entry.cause = cause;
    entry.trigger = planned.plan.trigger;
    entry.policy = planned.in_force.policy->name;
    entry.tokens_before = planned.plan.tokens_before;
    entry.tokens_after = planned.plan.tokens_after;
    entry.edits = planned.plan.edits;
    return entry;
}

void announce(Memory::State& state, const ConversationId& name, const Compaction& compaction) {
    state.meters->count_compaction(compaction);
    if (!state.log) return;
    std::string line;
    JsonWriter out(line);
    out.begin_object().field("event", "conversation_compacted");
    out.field("conversation_id", name.id).key("compaction");
    write_compaction_line(out, compaction);
    out.end_object();
    state.log(line);
}

Result<View> with_edits(const View& view, std::span<const Edit> edits) {
    std::vector<Item> items;
    std::vector<const Edit*> shown;
    for (const Item& item : view.items) {
        const Edit* edit = edit_of(edits, item);
        if (edit && edit->treatment == Treatment::dropped) continue;
        if (!edit) {
            items.push_back(item);
            continue;
        }
        const bool folded = edit->treatment == Treatment::folded;
        if (folded && std::ranges::find(shown, edit) != shown.end()) continue;
        if (folded) shown.push_back(edit);
        PAL_TRY(made, edited(item, *edit));
        items.push_back(std::move(made));
    }
    View out = view;
    out.items = arrange(std::move(items));
    out.totals = totals_of(out.items);
    out.tokens = out.totals.tokens;
    out.preview = true;
    return out;
}

}  // namespace palimpsest
