#include <map>
#include <set>
#include <sstream>

#include "core/cache_model.h"
#include "core/summary.h"
#include "palimpsest/format.h"
#include "scenarios/scenario.h"

namespace palimpsest {
namespace {

std::string shown(const Item& item) {
    const std::string range =
        std::to_string(item.range.from.value) +
        (item.range.from == item.range.to ? "" : "-" + std::to_string(item.range.to.value));
    switch (item.kind) {
        case ItemKind::cleared:
            return "c" + range;
        case ItemKind::shortened:
            return "h" + range;
        case ItemKind::summary:
            return "s" + range;
        case ItemKind::verbatim:
        case ItemKind::recalled:
            break;
    }
    return range;
}

// "1-3 5": runs of verbatim items are joined.
std::string view_of_items(const std::vector<Item>& items) {
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        std::size_t last = i;
        while (items[i].kind == ItemKind::verbatim && last + 1 < items.size() &&
               items[last + 1].kind == ItemKind::verbatim &&
               items[last + 1].range.from == items[last].range.from + 1)
            ++last;
        out += out.empty() ? "" : " ";
        out += last == i ? shown(items[i])
                         : shown(items[i]) + "-" + std::to_string(items[last].range.to.value);
        i = last;
    }
    return out;
}

const Item* item_at(const std::vector<Item>& items, std::uint64_t seq) {
    for (const Item& item : items)
        if (item.range.contains(Seq{seq})) return &item;
    return nullptr;
}

std::string content_text(const Item& item) {
    std::string text;
    const auto content = word_tools().read(item.message);
    if (!content) return text;
    for (const ContentPart& part : content->parts)
        text += (text.empty() ? "" : "\n") + std::string(part.text);
    return text;
}

struct Checked {
    Plan plan;
    std::vector<Item> items;
};

// What was found for one expectation; equal to what is asked when all is well.
std::string found(const Checked& checked, const Expectation& expected) {
    std::string rest = expected.rest;
    const std::string& word = expected.word;
    if (word == "outcome") return std::string(outcome_name(checked.plan.outcome));
    if (word == "trigger") return checked.plan.trigger;
    if (word == "level") return std::string(level_name(checked.plan.level));
    if (word == "view") return view_of_items(checked.items);
    if (word == "summaries") return std::to_string(checked.plan.summaries.size());
    if (word == "floor") return std::to_string(checked.plan.floor);
    if (word == "after") return std::to_string(checked.plan.used_after);
    if (word == "first_changed") return std::to_string(checked.plan.first_changed.value);
    if (word == "used") {
        const std::uint64_t most = std::stoull(rest.substr(3));
        return checked.plan.used_after <= most ? rest : std::to_string(checked.plan.used_after);
    }
    const std::size_t space = rest.find(' ');
    const Item* item = item_at(checked.items, std::stoull(rest.substr(0, space)));
    const std::string wanted = rest.substr(space + 1);
    if (!item) return "not shown";
    const std::string text = content_text(*item);
    const bool has = text.find(wanted) != std::string::npos;
    const bool good = word == "equals" ? text == wanted : word == "text" ? has : !has;
    return good ? rest : "\"" + text + "\"";
}

std::string pairs_fault(const std::vector<Item>& items) {
    std::multiset<std::string> calls, results;
    for (const Item& item : items) {
        calls.insert(item.message.shape.calls.begin(), item.message.shape.calls.end());
        results.insert(item.message.shape.results.begin(), item.message.shape.results.end());
    }
    for (const std::string& id : results)
        if (!calls.contains(id)) return "result " + id + " without its call\n";
    return {};
}

std::string always(const Scenario& scenario, const Policy& policy, const Checked& checked) {
    std::string faults = pairs_fault(checked.items);
    std::vector<Message> messages;
    for (const Item& item : checked.items) messages.push_back(item.message);
    const auto rendered = render(scenario.format, messages, {.open_end = true});
    if (!rendered) faults += "not sendable: " + rendered.error().message + "\n";
    PlanInput again;
    again.items = checked.items;
    again.occasion = scenario.occasion;
    again.occasion.explicitly = again.occasion.overflow = false;
    again.occasion.totals = totals_of(checked.items);
    again.tools = &word_tools();
    const Plan second = make_plan(again, policy);
    if (checked.plan.outcome == PlanOutcome::done && !second.edits.empty())
        faults += "a second plan has " + std::to_string(second.edits.size()) + " edits (" +
                  second.trigger + ": " + second.edits.front().reason + ")\n";
    return faults;
}

}  // namespace

std::string check_scenario(const Scenario& scenario) {
    if (!scenario.fault.empty()) return scenario.fault;
    const auto policy = parse_policy(scenario.policy);
    for (const Expectation& expected : scenario.expected)
        if (expected.word == "refused")
            return policy ? "the policy was accepted"
                   : policy.error().param == expected.rest
                       ? ""
                       : "refused for " + policy.error().param + ": " + policy.error().message;
    if (!policy) return policy.error().message;
    PlanInput input;
    input.items = scenario.items;
    input.occasion = scenario.occasion;
    input.tools = &word_tools();
    input.want_items = true;
    Checked checked{make_plan(input, *policy), scenario.items};
    if (checked.plan.outcome == PlanOutcome::done) checked.items = checked.plan.items;
    std::string faults;
    if (scenario.expected.empty()) faults = "nothing is expected\n";
    for (const Expectation& expected : scenario.expected) {
        const std::string got = found(checked, expected);
        if (got != expected.rest)
            faults += "line " + std::to_string(expected.line) + ": " + expected.word +
                      " should be \"" + expected.rest + "\", is \"" + got + "\" (" +
                      checked.plan.explanation + ")\n";
    }
    return faults + always(scenario, *policy, checked);
}

}  // namespace palimpsest
