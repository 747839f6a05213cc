// Random logs, policies and budgets, and what must hold of every plan over them. One seed is one
// case: the same seed gives the same case for ever.
#pragma once
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json_write.h"
#include "core/plan.h"
#include "engine/message_tools.h"
#include "palimpsest/format.h"
#include "palimpsest/tokenizer.h"

namespace palimpsest {

inline const MessageTools& approx_tools() {
    static const std::shared_ptr<const Tokenizer> tokenizer = approx_tokenizer();
    static const std::unique_ptr<const MessageTools> tools = make_message_tools(*tokenizer);
    return *tools;
}

struct RandomCase {
    FormatId format = FormatId::openai_chat;
    std::vector<Item> items = {};
    std::string policy = {};
    Occasion occasion = {};
};

class CaseMaker {
public:
    explicit CaseMaker(std::uint64_t seed) : random_(seed) {}

    RandomCase make() {
        RandomCase out;
        out.format = static_cast<FormatId>(1 + pick(3));
        const std::size_t turns = 1 + pick(6);
        for (std::size_t t = 0; t < turns; ++t) turn(out, t + 1 == turns);
        for (Item& item : out.items)
            if (pick(12) == 0) item.pinned = true;
        out.items = arrange(std::move(out.items));
        out.occasion.totals = totals_of(out.items);
        out.policy = policy();
        Budget& budget = out.occasion.budget;
        if (pick(4) > 0) budget.window = 40 + pick(1500);
        if (pick(3) == 0) budget.reply = pick(100);
        if (pick(3) == 0) budget.system = pick(60);
        if (pick(3) == 0) budget.tools = pick(60);
        budget.per_message = pick(5);
        out.occasion.explicitly = pick(6) == 0;
        out.occasion.overflow = pick(12) == 0;
        return out;
    }

    // The same with a policy that is due by the number of things and aims at tokens.
    RandomCase make_counting() {
        RandomCase out = make();
        out.occasion.explicitly = out.occasion.overflow = false;
        out.policy = "{\"triggers\":{" + counting_trigger() + "},\"target\":" + number(600) +
                     ",\"passes\":[" + pass();
        for (std::uint32_t n = pick(3); n > 0; --n) out.policy += "," + pass();
        out.policy += "]}";
        return out;
    }

private:
    std::uint32_t pick(std::uint32_t below) {
        return static_cast<std::uint32_t>(random_() % below);
    }
    std::string words(std::uint32_t most) {
        static constexpr const char* some[] = {"flight",  "HAT069",      "Please",   "the",
                                               "ünï",     "2024-05-20",  "file.txt", "ok?",
                                               "error\n", "mia_li_3668", "日本",     "x"};
        std::string out;
        for (std::uint32_t n = 1 + pick(most); n > 0; --n) out += std::string(some[pick(12)]) + " ";
        return out;
    }
    void add(RandomCase& out, const std::string& raw) {
        auto message = read_message(out.format, make_bytes(raw));
        if (!message) return;
        auto counted = approx_tools().rewrite(*message, {});
        Item item;
        const Seq seq{out.items.size() + 1 + extra_};
        extra_ += pick(3) == 0 ? 1 : 0;  // Other entries stand between messages.
        item.range = {seq, seq};
        item.tokens = counted->count.tokens;
        item.message = *std::move(counted);
        out.items.push_back(std::move(item));
    }
    void said(RandomCase& out, const char* role) {
        add(out, "{\"role\":\"" + std::string(role) +
                     "\",\"content\":" + json_string(words(pick(5) == 0 ? 200 : 30)) + "}");
    }
    void exchange(RandomCase& out, bool open) {
        const std::uint32_t calls = 1 + pick(3);
        std::vector<std::string> ids;
        std::string list;
        for (std::uint32_t n = 0; n < calls; ++n) {
            ids.push_back("call_" + std::to_string(++calls_));
            const std::string name = pick(2) == 0 ? "search" : "Read";
            const std::string arguments =
                "{\"q\":" + json_string(words(pick(6) == 0 ? 60 : 5)) + "}";
            std::string one;
            if (out.format == FormatId::openai_chat)
                one = "{\"id\":\"" + ids.back() + R"(","type":"function","function":{"name":")" +
                      name + "\",\"arguments\":" + json_string(arguments) + "}}";
            else if (out.format == FormatId::anthropic)
                one = R"({"type":"tool_use","id":")" + ids.back() + "\",\"name\":\"" + name +
                      "\",\"input\":" + arguments + "}";
            else
                add(out, R"({"type":"function_call","call_id":")" + ids.back() + "\",\"name\":\"" +
                             name + "\",\"arguments\":" + json_string(arguments) + "}");
            list += (n == 0 ? "" : ",") + one;
        }
        if (out.format == FormatId::openai_chat)
            add(out, R"({"role":"assistant","content":null,"tool_calls":[)" + list + "]}");
        if (out.format == FormatId::anthropic)
            add(out, R"({"role":"assistant","content":[)" + list + "]}");
        if (open) ids.resize(pick(calls));
        results(out, ids);
    }
    void results(RandomCase& out, const std::vector<std::string>& ids) {
        std::string list;
        for (const std::string& id : ids) {
            const bool failed = pick(6) == 0;
            const std::string text =
                json_string((failed ? "Error: " : "") + words(pick(3) == 0 ? 300 : 40));
            if (out.format == FormatId::openai_chat)
                add(out,
                    R"({"role":"tool","tool_call_id":")" + id + "\",\"content\":" + text + "}");
            else if (out.format == FormatId::openai_responses)
                add(out, R"({"type":"function_call_output","call_id":")" + id +
                             "\",\"output\":" + text + "}");
            else
                list += (list.empty() ? "" : ",") +
                        (R"({"type":"tool_result","tool_use_id":")" + id) +
                        "\",\"content\":" + text + (failed ? ",\"is_error\":true}" : "}");
        }
        if (!list.empty()) add(out, R"({"role":"user","content":[)" + list + "]}");
    }
    void turn(RandomCase& out, bool newest) {
        if (pick(10) == 0 && out.format != FormatId::anthropic) said(out, "system");
        said(out, "user");
        for (std::uint32_t n = pick(4); n > 0; --n) exchange(out, false);
        if (newest && pick(2) == 0) {
            if (pick(2) == 0) exchange(out, pick(3) == 0 && out.format == FormatId::openai_chat);
            return;
        }
        said(out, "assistant");
    }
    std::string number(std::uint32_t below) { return std::to_string(pick(below)); }
    std::string pass() {
        switch (pick(12)) {
            case 0:
                return R"({"pass":"clear_tool_results","keep_turns":)" + number(3) + "}";
            case 1:
                return R"({"pass":"clear_tool_results","keep_tool_uses":)" + number(4) +
                       R"(,"keep_identifiers":)" + number(8) + "}";
            case 2:
                return R"({"pass":"clear_tool_results","exclude_tools":["read"],"min_tokens":)" +
                       number(40) + "}";
            case 3:
                return R"({"pass":"clear_tool_inputs","keep_tool_uses":)" + number(3) + "}";
            case 4:
                return R"({"pass":"keep_last","messages":)" + number(12) + "}";
            case 5:
                return R"({"pass":"keep_last","turns":)" + number(5) + "}";
            case 6:
                return R"({"pass":"keep_last","tokens":)" + number(400) + "}";
            case 7:
                return R"({"pass":"shorten","max_tokens":)" + std::to_string(48 + pick(100)) + "}";
            case 8:
                return R"({"pass":"summarize","max_tokens":)" + std::to_string(10 + pick(80)) + "}";
            case 9:
                return R"({"pass":"summarize","mode":"rolling","batch":3,"max_tokens":20,"keep_turns":)" +
                       number(3) + "}";
            case 10:
                return R"({"pass":"drop_superseded"})";
            default:
                return pick(2) == 0 ? R"({"pass":"drop_oldest"})" : R"({"pass":"select_relevant"})";
        }
    }
    std::string counting_trigger() {
        const std::string messages = "\"messages\":" + number(14), turns = "\"turns\":" + number(4);
        switch (pick(6)) {
            case 0:
                return "\"tool_uses\":" + number(6);
            case 1:
                return "\"bytes\":" + number(6000);
            case 2:
                return messages + "," + turns;
            case 3:
                return "\"all\":[{" + messages + "},{" + turns + "}]";
            default:
                return pick(2) == 0 ? messages : turns;
        }
    }
    std::string policy() {
        if (pick(4) == 0) return "balanced";
        std::uint32_t most = 400;
        std::string triggers;
        if (pick(2) == 0) {
            most = pick(600);
            triggers = "\"tokens\":" + std::to_string(most);
        } else {
            triggers = "\"turns\":" + number(5);
        }
        if (pick(4) == 0) triggers = "\"window_share\":0.7";
        if (pick(6) == 0) triggers = "\"messages\":" + number(12);
        std::string out = "{\"triggers\":{" + triggers + "},\"passes\":[" + pass();
        for (std::uint32_t n = pick(3); n > 0; --n) out += "," + pass();
        out += "]";
        // A target above its trigger is refused.
        if (pick(2) == 0) out += ",\"target\":" + std::to_string(std::min(pick(400), most));
        if (pick(5) == 0) out += ",\"min_gain\":" + number(100);
        if (pick(6) == 0) out += R"(,"protect":{"turns":2})";
        return out + "}";
    }

    std::mt19937_64 random_;
    std::uint64_t calls_ = 0, extra_ = 0;
};

// ---- what must hold -----------------------------------------------------------------------------

inline std::string same_plans(const Plan& a, const Plan& b) {
    if (a.outcome != b.outcome || a.edits.size() != b.edits.size()) return "two plans differ";
    for (std::size_t e = 0; e < a.edits.size(); ++e)
        if (a.edits[e].range != b.edits[e].range ||
            view_of(a.edits[e].result) != view_of(b.edits[e].result))
            return "two plans differ in an edit";
    return {};
}

inline std::string kept_fault(const RandomCase& one, const std::vector<Item>& after) {
    std::map<Seq, const Item*> shown;
    for (const Item& item : after)
        if (item.kind != ItemKind::summary) shown[item.range.from] = &item;
    const std::vector<Group> groups = find_groups(one.items);
    for (const Group& group : groups)
        for (std::size_t i = group.first; i <= group.last; ++i) {
            const auto at = shown.find(one.items[i].range.from);
            const bool stays = group.pinned || group.open || &group == &groups.back();
            if (stays && at == shown.end()) return "a message that must stay is gone";
            if ((group.pinned || group.open) && at->second->message.raw != one.items[i].message.raw)
                return "a message that must stay as it is was changed";
        }
    for (std::size_t i = one.items.size(); i-- > 0;) {
        const Shape& shape = one.items[i].message.shape;
        if (shape.role != Role::user || (!shape.results.empty() && !shape.text)) continue;
        return shown.contains(one.items[i].range.from) ? "" : "the latest user message is gone";
    }
    return {};
}

inline std::string order_fault(const RandomCase& one, const std::vector<Item>& after) {
    std::map<Seq, std::size_t> place;
    for (std::size_t i = 0; i < one.items.size(); ++i) place[one.items[i].range.from] = i;
    std::size_t last = 0;
    for (const Item& item : after) {
        if (item.kind == ItemKind::summary) continue;
        const std::size_t at = place.at(item.range.from);
        if (at < last) return "the order changed";
        last = at;
    }
    return {};
}

inline std::string pair_fault(const RandomCase& one, const std::vector<Item>& after) {
    const auto ids = [](const std::vector<Item>& items) {
        std::pair<std::multiset<std::string>, std::multiset<std::string>> out;
        for (const Item& item : items) {
            out.first.insert(item.message.shape.calls.begin(), item.message.shape.calls.end());
            out.second.insert(item.message.shape.results.begin(), item.message.shape.results.end());
        }
        return out;
    };
    const auto before = ids(one.items), now = ids(after);
    for (const std::string& id : now.second)
        if (!now.first.contains(id)) return "a result without its call";
    for (const std::string& id : now.first)
        if (before.second.contains(id) && !now.second.contains(id))
            return "a call without its result";
    return {};
}

inline std::string send_fault(const RandomCase& one, const std::vector<Item>& after, bool all) {
    std::vector<Message> messages;
    for (const Item& item : after) messages.push_back(item.message);
    for (int n = 1; n <= 3; ++n) {
        const auto format = static_cast<FormatId>(n);
        if (format != one.format && !all) continue;
        const auto rendered = render(format, messages);
        if (!rendered) return "not sendable: " + rendered.error().message;
    }
    return {};
}

inline std::string sum_fault(const Plan& plan, const std::vector<Item>& after,
                             const Budget& budget) {
    const ViewTotals totals = totals_of(after);
    if (totals.tokens != plan.tokens_after) return "tokens_after is not what is shown";
    if (budget.used(totals) != plan.used_after) return "used_after is not what is shown";
    return {};
}

// A second plan finds nothing to do. Not asked of compactions by hand and after an overflow, which
// always take something.
inline std::string again_fault(const PlanInput& input, const Policy& policy, const Plan& plan) {
    if (input.occasion.explicitly || input.occasion.overflow) return {};
    PlanInput again = input;
    again.items = plan.items;
    again.occasion.totals = totals_of(plan.items);
    const Plan second = make_plan(again, policy);
    if (second.outcome != PlanOutcome::done) return {};
    return "not idempotent: " + second.trigger + ": " + second.edits.front().pass + ": " +
           second.explanation;
}

// What is wrong with the case; "" is good.
inline std::string check_case(const RandomCase& one, std::uint64_t seed,
                              PlanOutcome* outcome = nullptr) {
    const auto policy = parse_policy(one.policy);
    if (!policy) return one.policy + ": " + policy.error().message;
    PlanInput input;
    input.items = one.items;
    input.occasion = one.occasion;
    input.tools = &approx_tools();
    input.want_items = true;
    const Plan plan = make_plan(input, *policy);
    if (outcome) *outcome = plan.outcome;
    const Items kept(one.items);  // with facts that need not be found
    PlanInput same = input;
    same.items = kept;
    same.facts = kept.facts();
    if (std::string fault = same_plans(plan, make_plan(same, *policy)); !fault.empty())
        return fault;
    const Budget budget = budget_under(*policy, one.occasion.budget);
    if (plan.outcome == PlanOutcome::unreachable && plan.used_before <= budget.limit())
        return "unreachable although it fitted";
    if (plan.outcome != PlanOutcome::done) {
        if (plan.outcome != PlanOutcome::unreachable && plan.used_before > budget.limit())
            return "over the limit and not said to be unreachable";
        return plan.edits.empty() ? "" : "edits without being done";
    }
    if (plan.used_after > budget.limit()) return "done, but over the limit";
    for (const std::string& fault :
         {kept_fault(one, plan.items), order_fault(one, plan.items), pair_fault(one, plan.items),
          sum_fault(plan, plan.items, budget), send_fault(one, plan.items, seed % 8 == 0)})
        if (!fault.empty()) return fault;
    return again_fault(input, *policy, plan);
}

inline std::string check_case(std::uint64_t seed, PlanOutcome* outcome = nullptr) {
    return check_case(CaseMaker(seed).make(), seed, outcome);
}

}  // namespace palimpsest
