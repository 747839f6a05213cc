#include "engine/report.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "core/placeholder.h"
#include "core/strategy.h"
#include "engine/compactor.h"
#include "format/content.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

void add_once(std::vector<std::string>& list, std::string_view value) {
    if (std::ranges::find(list, value) == list.end()) list.emplace_back(value);
}

bool has_placeholder(const ContentPart& part) {
    const bool is_call = part.kind == ContentKind::tool_call;
    if (!is_call && part.kind != ContentKind::tool_result) return false;
    return part.text.contains(std::string(placeholder_mark) +
                              (is_call ? "tool input" : "tool output"));
}

// What of the message was cleared by earlier compactions.
Content cleared_before(const Message& message) {
    if (!view_of(message.raw).contains(placeholder_mark)) return {};
    return read_content_of(message).value_or(Content{});
}

// Whose inputs or outputs an edit took away: of calls and results that stayed in the message, or
// were cleared before, nothing is told.
void add_calls(CompactionReport& report, const Edit& edit, const Item& item) {
    const auto message = read_message(edit.format, edit.result);
    const auto content = message ? read_content_of(*message) : Result<Content>(Content{});
    if (!content) return;
    const Content before = cleared_before(item.message);
    std::uint64_t outputs = 0;
    for (const ContentPart& part : content->parts) {
        const auto is_old = [&](const ContentPart& old) {
            return old.kind == part.kind && old.id == part.id && has_placeholder(old);
        };
        if (!has_placeholder(part) || std::ranges::any_of(before.parts, is_old)) continue;
        part.kind == ContentKind::tool_call ? ++report.cleared_inputs : ++outputs;
        if (!part.id.empty()) add_once(report.call_ids, part.id);
        if (!part.tool.empty()) add_once(report.tool_names, part.tool);
    }
    // What a hosted tool gave may have no place for words.
    const bool hosted = item.message.shape.results.empty();
    if (edit.pass == "clear_tool_results" && hosted && outputs == 0) outputs = 1;
    report.cleared_outputs += outputs;
}

// Results carry only ids: names are found at the calls.
void add_tool_names(CompactionReport& report, const View& view) {
    if (report.call_ids.empty()) return;
    for (const Item& item : view.items) {
        const auto& calls = item.message.shape.calls;
        const bool one_of = std::ranges::any_of(calls, [&](const std::string& id) {
            return std::ranges::find(report.call_ids, id) != report.call_ids.end();
        });
        const auto parts = one_of ? read_parts(item.message) : Result<Parts>(Parts{});
        if (!parts) continue;
        for (const Part& part : parts->parts)
            if (const auto* call = std::get_if<ToolCall>(&part);
                call && std::ranges::find(report.call_ids, call->id) != report.call_ids.end())
                add_once(report.tool_names, call->name);
    }
}

void set_view(CompactionReport& report, const View& view) {
    report.messages_before = report.messages_after = view.totals.messages;
    report.turns_before = report.turns_after = view.totals.turns;
}

void count_edits(CompactionReport& report, std::span<const Edit> edits, const View& view) {
    for (const Edit& edit : edits)
        for (const Item& item : view.items) {
            if (!edit.range.contains(item.range.from)) continue;
            switch (edit.treatment) {
                case Treatment::cleared:
                    ++report.cleared;
                    add_calls(report, edit, item);
                    break;
                case Treatment::shortened:
                    ++report.shortened;
                    break;
                case Treatment::folded:
                    ++report.folded;
                    break;
                case Treatment::dropped:
                    ++report.dropped;
                    break;
                case Treatment::verbatim:
                    break;
            }
        }
    add_tool_names(report, view);
    if (const auto after = with_edits(view, edits)) {
        report.messages_after = after->totals.messages;
        report.turns_after = after->totals.turns;
    }
}

std::vector<std::string> names_in(const JsonValue& object, std::string_view field) {
    std::vector<std::string> names;
    const auto list = object.find(field);
    if (!list || !list->is_array()) return names;
    for (const JsonValue name : list->elements()) names.emplace_back(name.string());
    return names;
}

std::optional<std::uint64_t> number_in(const JsonValue& object, std::string_view field) {
    const auto value = object.find(field);
    const auto number = value ? value->integer() : std::nullopt;
    if (!number || *number < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*number);
}

// What the seed's event tells of its strategy object.
void add_strategy(CompactionReport& report, std::string_view policy_text) {
    const auto given = parse_json(policy_text);
    if (!given || !given->root().is_object() || !is_strategy(given->root())) return;
    const std::string usual = with_usual_names(given->root()).value_or("{}");
    const auto document = parse_json(usual);
    if (!document || !document->root().find("mode")) return;
    const JsonValue root = document->root();
    const std::string_view mode = root.find("mode")->string();
    const auto kept = number_in(root, "keep_last_user_turns"),
               most = number_in(root, "max_user_turns");
    if (mode == "compact") report.keep_turns = number_in(root, "compact_keep").value_or(2);
    if (mode == "trim") report.keep_turns = kept ? kept : most;
    if (mode == "summarize") report.keep_turns = kept.value_or(1);
    report.trigger_turns = mode == "compact" ? number_in(root, "compact_trigger_turns") : most;
    if (report.trigger == "tokens" || report.trigger == "remaining_pct")
        report.trigger = report.level == "soft" ? "token_soft_budget" : "token_budget";
    const auto inputs = root.find("compact_clear_tool_inputs");
    report.clear_tool_inputs = inputs && inputs->boolean().value_or(false);
    report.excluded_tools = names_in(root, "compact_exclude_tools");
    report.included_tools = names_in(root, "compact_include_tools");
    std::ranges::sort(report.excluded_tools);
    std::ranges::sort(report.included_tools);
}

// One set of names for notes, events and logs: the seed's where it has one, the others are ours.
template <class Value>
struct Field {
    std::string_view name;
    Value CompactionReport::* field;
};
using Report = CompactionReport;
constexpr Field<std::string> texts[] = {
    {"strategy", &Report::strategy},      {"policy", &Report::policy},
    {"trigger_reason", &Report::trigger}, {"level", &Report::level},
    {"summarizer", &Report::summarizer},  {"explanation", &Report::explanation},
};
constexpr Field<std::uint64_t> numbers[] = {
    {"compacted_inputs", &Report::cleared_inputs},
    {"compacted_outputs", &Report::cleared_outputs},
    {"total_items_before", &Report::messages_before},
    {"total_items_after", &Report::messages_after},
    {"turns_before", &Report::turns_before},
    {"turns_after", &Report::turns_after},
    {"cleared", &Report::cleared},
    {"shortened", &Report::shortened},
    {"folded", &Report::folded},
    {"dropped", &Report::dropped},
    {"request_before", &Report::used_before},
    {"request_after", &Report::used_after},
    {"target", &Report::target},
    {"limit", &Report::limit},
    {"floor", &Report::floor},
    {"first_byte_changed", &Report::first_byte},
    {"prefix_tokens", &Report::prefix_tokens},
    {"summary_calls", &Report::summary_calls},
    {"summary_input_tokens", &Report::summary_input},
    {"summary_output_tokens", &Report::summary_output},
};
constexpr Field<std::optional<std::uint64_t>> options[] = {
    {"keep_turns", &Report::keep_turns},
    {"trigger_turns", &Report::trigger_turns},
    {"token_budget", &Report::token_budget},
    {"token_soft_budget", &Report::token_soft_budget},
};
constexpr Field<std::vector<std::string>> lists[] = {
    {"compacted_call_ids", &Report::call_ids},
    {"compacted_tool_names", &Report::tool_names},
    {"excluded_tools", &Report::excluded_tools},
    {"included_tools", &Report::included_tools},
};

}  // namespace

CompactionReport make_report(const Plan& plan, const PolicyInForce& in_force, const View& view,
                             const Budget& budget, const Bill& bill) {
    CompactionReport report;
    const Policy& policy = *in_force.policy;
    report.strategy = policy.strategy;
    report.policy = policy.name;
    report.trigger = plan.trigger;
    report.level = level_name(plan.level);
    set_view(report, view);
    report.used_before = plan.used_before;
    report.used_after = plan.used_after;
    report.target = plan.target;
    report.limit = plan.limit == Budget{}.limit() ? 0 : plan.limit;
    report.floor = plan.floor;
    report.first_changed = plan.first_changed;
    report.explanation = plan.explanation;
    const std::uint64_t window = budget_under(policy, budget).window;
    report.token_budget = trigger_tokens(policy.hard, window);
    report.token_soft_budget = trigger_tokens(policy.soft, window);
    add_strategy(report, in_force.text);
    if (plan.outcome != PlanOutcome::done) return report;
    count_edits(report, plan.edits, view);
    report.first_byte = plan.first_byte;
    std::size_t first_item = SIZE_MAX;
    for (const EditCost& cost : plan.costs)
        if (cost.first_item != SIZE_MAX && cost.first_item <= first_item) {
            first_item = cost.first_item;
            report.prefix_tokens = cost.prefix_tokens;
        }
    for (const EditCost& cost : plan.costs) report.edit_prefixes.push_back(cost.prefix_tokens);
    report.summarizer = bill.summarizer;
    report.summary_calls = bill.sum.calls;
    report.summary_input = bill.sum.usage.input;
    report.summary_output = bill.sum.usage.output;
    report.summary_cost = bill.sum.cost;
    if (!bill.trouble.empty())
        report.explanation += (report.explanation.empty() ? "" : "; ") +
                              ("a deterministic summary stands: " + bill.trouble);
    else if (!bill.remark.empty())
        report.explanation += (report.explanation.empty() ? "" : "; ") + bill.remark;
    return report;
}

CompactionReport make_report(const CompactionEntry& entry, const View& view) {
    CompactionReport report;
    report.strategy = "own";
    report.trigger = entry.trigger;
    report.level = level_name(Level::hard);
    set_view(report, view);
    report.used_before = entry.tokens_before;
    report.used_after = entry.tokens_after;
    count_edits(report, entry.edits, view);
    const auto first = std::ranges::find_if(view.items, [&](const Item& item) {
        return std::ranges::any_of(
            entry.edits, [&](const Edit& edit) { return edit.range.contains(item.range.from); });
    });
    if (first != view.items.end()) {
        const auto at = static_cast<std::size_t>(first - view.items.begin());
        report.first_changed = first->range.from;
        report.first_byte = first_byte_of(view.items, at);
        for (auto item = view.items.begin(); item != first; ++item)
            report.prefix_tokens += item->tokens;
    }
    const bool folds = std::ranges::any_of(
        entry.edits, [](const Edit& edit) { return edit.treatment == Treatment::folded; });
    if (folds) report.summarizer = "caller";
    report.explanation = "edits of the caller's own";
    return report;
}

Error unreachable_error(const Compaction& compaction) {
    return unreachable_error(compaction.report.floor, compaction.report.explanation);
}

void write_report_fields(JsonWriter& out, const CompactionReport& report) {
    for (const auto& [name, field] : texts) out.field(name, report.*field);
    for (const auto& [name, field] : numbers) out.key(name).number(report.*field);
    for (const auto& [name, field] : options) {
        out.key(name);
        report.*field ? out.number(*(report.*field)) : out.null();
    }
    for (const auto& [name, field] : lists) {
        out.key(name).begin_array();
        for (const std::string& value : report.*field) out.string(value);
        out.end_array();
    }
    out.key("cache_prefix_tokens").begin_array();
    for (const std::uint64_t tokens : report.edit_prefixes) out.number(tokens);
    out.end_array();
    out.key("compacted_count")
        .number(report.cleared + report.shortened + report.folded + report.dropped);
    out.key("clear_tool_inputs").boolean(report.clear_tool_inputs);
    out.key("first_changed").number(report.first_changed.value);
    out.key("summary_cost").number(report.summary_cost);
}

NoteEntry report_note(const CompactionReport& report, std::string_view digest) {
    std::string body;
    JsonWriter out(body);
    out.begin_object();
    write_report_fields(out, report);
    if (!digest.empty()) out.field("digest", digest);
    out.end_object();
    return {"compaction", make_bytes(std::move(body))};
}

std::string digest_in(const NoteEntry& note) {
    const auto document = parse_json(view_of(note.body));
    const auto digest = document ? document->root().find("digest") : std::nullopt;
    return note.kind == "compaction" && digest ? std::string(digest->string()) : std::string();
}

CompactionReport read_report_note(const NoteEntry& note) {
    CompactionReport report;
    const auto document = parse_json(view_of(note.body));
    if (note.kind != "compaction" || !document) return report;
    const JsonValue root = document->root();
    for (const auto& [name, field] : texts)
        if (const auto value = root.find(name)) report.*field = value->string();
    for (const auto& [name, field] : numbers) report.*field = number_in(root, name).value_or(0);
    for (const auto& [name, field] : options) report.*field = number_in(root, name);
    for (const auto& [name, field] : lists) report.*field = names_in(root, name);
    if (const auto prefixes = root.find("cache_prefix_tokens"))
        for (const JsonValue tokens : prefixes->elements())
            report.edit_prefixes.push_back(
                static_cast<std::uint64_t>(tokens.integer().value_or(0)));
    const auto inputs = root.find("clear_tool_inputs");
    report.clear_tool_inputs = inputs && inputs->boolean().value_or(false);
    report.first_changed = Seq{number_in(root, "first_changed").value_or(0)};
    if (const auto cost = root.find("summary_cost"))
        report.summary_cost = cost->number().value_or(0);
    return report;
}

}  // namespace palimpsest
