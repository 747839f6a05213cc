#include "engine/compact_document.h"

#include <algorithm>
#include <span>

#include "base/json_write.h"
#include "core/plan_numbers.h"
#include "engine/message_tools.h"
#include "engine/model_table.h"
#include "engine/pooled_tokenizer.h"
#include "engine/present.h"
#include "engine/reply_room.h"
#include "format/format_table.h"
#include "format/json_edit.h"
#include "format/mend_body.h"
#include "palimpsest/format.h"
#include "token/models.h"
#include "token/tool_tokens.h"

namespace palimpsest {
namespace {

constexpr std::string_view usual_model = "gpt-4o";  // By whose rules is counted otherwise.

struct OpenDocument {
    std::vector<Message> preamble = {};
    std::vector<Item> items = {};
    Budget budget = {};
    std::string model = {};
    ModelFacts facts = {};  // of a model that is known: what an edit must pay is asked of them
};

ModelMatch match_of(const DocumentOptions& options, std::string_view model) {
    return options.models ? options.models->match(model) : find_model(model);
}

// The prompt that stands beside the messages, counted as the message that services make of it.
std::uint64_t prompt_tokens(FormatId format, JsonValue body, const MessageTools& tools,
                            std::uint32_t per_message) {
    std::uint64_t sum = 0;
    for (const std::string_view name : {"system", "instructions"}) {
        const auto prompt = body.find(name);
        if (!prompt || prompt->is_null()) continue;
        const std::string raw(prompt->raw());
        const auto read =
            read_messages(format, make_bytes(R"([{"role":"system","content":)" + raw + "}]"));
        const auto counted = read && read->size() == 1 ? tools.rewrite(read->front(), {})
                                                       : Result<Message>(Message{});
        sum +=
            per_message + (counted && counted->raw ? counted->count.tokens : tools.count_text(raw));
    }
    return sum;
}

void set_budget(OpenDocument& out, JsonValue root, const DocumentOptions& options,
                const Tokenizer& tokenizer, const MessageTools& message_tools) {
    const ModelMatch match = match_of(options, out.model);
    const bool known = !out.model.empty() && match.known;
    const ModelSpec& counts = known ? *match.spec : *find_model(usual_model).spec;
    if (known) out.facts = facts_of(counts);
    Budget& budget = out.budget;
    budget.per_message = around_message(counts.overheads);
    budget.per_request =
        static_cast<std::uint32_t>(std::max(counts.overheads.per_request, std::int32_t{0}));
    budget.window = options.window;
    if (known && (budget.window == 0 || budget.window > counts.window_tokens))
        budget.window = counts.window_tokens;
    for (const Message& message : out.preamble)
        budget.system += message.count.tokens + budget.per_message;
    keep_reply_free(budget, root, counts);
    if (!root.is_object()) return;
    budget.system += prompt_tokens(options.format, root, message_tools, budget.per_message);
    if (const auto tools = root.find("tools"))
        budget.tools = tool_tokens(counts, tokenizer, tools->raw(), budget.system > 0).total();
}

Result<OpenDocument> open_document(JsonValue root, std::vector<Message> messages,
                                   const DocumentOptions& options, const Tokenizer& tokenizer,
                                   const MessageTools& tools) {
    OpenDocument out;
    out.model = options.model.empty() ? model_named_in(root) : options.model;
    Seq seq;
    for (Message& message : messages) {
        seq = seq + 1;
        PAL_TRY(counted, tools.rewrite(message, {}));
        if (out.items.empty() && counted.shape.role == Role::system) {
            out.preamble.push_back(std::move(counted));
            continue;
        }
        Item item;
        item.range = {seq, seq};
        item.tokens = counted.count.tokens;
        item.message = std::move(counted);
        out.items.push_back(std::move(item));
    }
    out.items = arrange(std::move(out.items));
    set_budget(out, root, options, tokenizer, tools);
    return out;
}

// The list in the place that the input had it.
std::string with_list(const Format& format, JsonValue root, std::string list) {
    if (!root.is_object()) return list;
    const auto place = find_body_list(format, root);
    return place ? with_member(root, place->field, std::move(list)) : list;
}

// What the messages take, as they are sent.
Result<std::uint64_t> tokens_of(std::span<const Message> messages, const MessageTools& tools,
                                std::uint32_t per_message) {
    std::uint64_t sum = std::uint64_t{per_message} * messages.size();
    for (const Message& message : messages) {
        PAL_TRY(counted, tools.rewrite(message, {}));
        sum += counted.count.tokens;
    }
    return sum;
}

struct Drawn {
    CompactedDocument document = {};
    std::vector<Message> messages = {};
    std::uint64_t added = 0;  // tokens of what repair put in
};

// A list that comes again is compacted as one that is kept would be: on what it was when it became
// too long, the last time it did. What came since stands behind it as it is.
struct Terms {
    Policy policy = {};
    std::size_t items = 0;  // of the list: so many are planned on
    std::uint64_t reserved = 0;
};

std::uint64_t tokens_with(std::span<const Item> items, const Budget& budget) {
    std::uint64_t sum = 0;
    for (const Item& item : items) sum += item.tokens + budget.per_message;
    return sum;
}

// From what was planned on all of the list; none where the steps are not known.
std::optional<Terms> last_step(const OpenDocument& open, const Policy& policy, const Plan& whole) {
    const auto trigger = trigger_tokens(policy.hard, open.budget.window);
    if (!trigger || whole.target >= *trigger || whole.used_before < *trigger) return std::nullopt;
    const std::uint64_t each = *trigger - whole.target;
    const std::uint64_t steps = (whole.used_before - *trigger) / each + 1;
    const std::uint64_t then = *trigger + (steps - 1) * each;
    std::uint64_t used = whole.used_before;
    Terms terms{.policy = policy, .items = open.items.size()};
    const std::span<const Item> items = open.items;
    const std::vector<Group> groups = find_groups(items);
    for (std::size_t g = groups.size(); g-- > 0;) {
        const std::uint64_t tokens = tokens_with(
            items.subspan(groups[g].first, groups[g].last + 1 - groups[g].first), open.budget);
        if (used < tokens + then) break;
        used -= tokens;
        terms.items = groups[g].first;
    }
    terms.policy.target = {.tokens = used - std::min(used, steps * each)};
    return terms;
}

// What came since the step, behind what is planned.
void add_rest(Plan& plan, std::span<const Item> rest, const Budget& budget) {
    const std::uint64_t with = tokens_with(rest, budget),
                        bare = with - budget.per_message * rest.size();
    plan.used_before += with;
    plan.used_after += with;
    plan.tokens_before += bare;
    plan.tokens_after += bare;
    plan.items.insert(plan.items.end(), rest.begin(), rest.end());
}

// With room for what repair will add.
Result<Drawn> draw_up(const OpenDocument& open, const DocumentOptions& options, const Terms& terms,
                      const MessageTools& tools) {
    const std::uint64_t reserved = terms.reserved;
    PlanInput input;
    input.items = std::span(open.items).first(terms.items);
    input.occasion.totals = totals_of(input.items);
    input.occasion.budget = open.budget;
    input.occasion.budget.system += reserved;
    input.occasion.preamble = open.preamble;
    input.occasion.model = open.facts;
    input.tools = &tools;
    input.want_items = true;
    Drawn out;
    Plan& plan = out.document.plan;
    plan = make_plan(input, terms.policy);
    if (plan.outcome == PlanOutcome::unreachable) return std::unexpected(unreachable_error(plan));
    const bool done = plan.outcome == PlanOutcome::done;
    if (done) add_rest(plan, std::span(open.items).subspan(terms.items), open.budget);
    std::vector<Message> view = open.preamble;
    const std::vector<Item>& shown = done ? plan.items : open.items;
    for (const Item& item : shown) view.push_back(item.message);
    PAL_TRY(repaired, repair(options.format, view, {.open_end = true}));
    for (const RepairNote& note : repaired.notes) out.document.repairs.push_back(note.what);
    out.document.open_end = !shown.empty() && find_groups(shown).back().open;
    out.messages = std::move(repaired.messages);
    if (!done || repaired.notes.empty()) return out;
    PAL_TRY(before, tokens_of(view, tools, open.budget.per_message));
    PAL_TRY(after, tokens_of(out.messages, tools, open.budget.per_message));
    out.added = after - std::min(after, before);
    return out;
}

// Repair may put words in, as in front of a view that lost its beginning: they must fit, too.
Result<Drawn> draw_up(const OpenDocument& open, const DocumentOptions& options,
                      const Policy& policy, const MessageTools& tools) {
    Terms terms{.policy = policy, .items = open.items.size()};
    PAL_TRY(drawn, draw_up(open, options, terms, tools));
    const auto step = options.comes_again && drawn.document.plan.outcome == PlanOutcome::done
                          ? last_step(open, policy, drawn.document.plan)
                          : std::nullopt;
    if (step) {
        auto stepped = draw_up(open, options, *step, tools);
        const bool fits = stepped && stepped->document.plan.outcome == PlanOutcome::done &&
                          stepped->document.plan.used_after <= stepped->document.plan.limit;
        if (fits) {
            terms = *step;
            drawn = *std::move(stepped);
        }
    }
    terms.reserved = drawn.added;
    const std::uint64_t reserved = drawn.added;
    if (reserved == 0) return drawn;
    if (drawn.document.plan.used_after + reserved > drawn.document.plan.limit) {
        PAL_TRY(again, draw_up(open, options, terms, tools));
        drawn = std::move(again);
        drawn.document.plan.used_before -= reserved;
        drawn.document.plan.used_after -= reserved;
        for (EditCost& cost : drawn.document.plan.costs)
            cost.prefix_tokens -= std::min(cost.prefix_tokens, reserved);
    }
    Plan& plan = drawn.document.plan;
    plan.used_after += drawn.added;
    if (plan.outcome == PlanOutcome::done) plan.explanation = numbers_in_words(plan);
    return drawn;
}

Result<CompactedDocument> compact_body(JsonValue root, std::string_view json,
                                       const DocumentOptions& options, const Tokenizer& tokenizer) {
    const auto tools = make_message_tools(tokenizer);
    PAL_CHECK(check_policy_size(options.policy));
    PAL_TRY(policy, parse_policy(options.policy));
    PAL_TRY(messages, read_messages(options.format, make_bytes(std::string(json))));
    PAL_TRY(open, open_document(root, std::move(messages), options, tokenizer, *tools));
    PAL_TRY(drawn, draw_up(open, options, policy, *tools));
    CompactedDocument out = std::move(drawn.document);
    out.json = mend_body(options.format,
                         with_list(format_of(options.format), root, write_list(drawn.messages)),
                         out.repairs);
    return out;
}

}  // namespace

Result<CompactedDocument> compact_document(std::string_view json, const DocumentOptions& options,
                                           const Tokenizer& tokenizer) {
    PAL_TRY(document, parse_json(json));
    return compact_body(document.root(), json, options, tokenizer);
}

Result<CompactedDocument> compact_document(std::string_view json, const DocumentOptions& options) {
    PAL_TRY(document, parse_json(json));
    std::string model = options.model.empty() ? model_named_in(document.root()) : options.model;
    if (model.empty()) model = usual_model;
    const ModelSpec& counts = *match_of(options, model).spec;
    PAL_TRY(tokenizer, open_tokenizer(counts.encoding));
    return compact_body(document.root(), json, options, PooledTokenizer(tokenizer, counts.images));
}

std::string plan_report(const Plan& plan) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("outcome", outcome_name(plan.outcome)).field("trigger", plan.trigger);
    out.key("tokens_before").number(plan.used_before).key("tokens_after").number(plan.used_after);
    out.key("target").number(plan.target).key("limit");
    plan.limit == UINT64_MAX ? out.null() : out.number(plan.limit);
    out.field("explanation", plan.explanation).key("edits").begin_array();
    for (const Edit& edit : plan.edits) write_edit(out, edit);
    out.end_array().key("cache_prefix_tokens").begin_array();
    for (const EditCost& cost : plan.costs) out.number(cost.prefix_tokens);
    out.end_array().end_object();
    return text;
}

}  // namespace palimpsest
