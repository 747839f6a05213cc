#include "core/simulate.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/summary.h"

namespace palimpsest {
namespace {

constexpr std::size_t argument_bytes_least = 4;  // Shorter values occur by chance.

// The scalars of a call's arguments as they would be written in a text.
void collect_values(const JsonValue& value, std::set<std::string>& out) {
    for (const JsonMember member : value.members()) collect_values(member.value, out);
    for (const JsonValue element : value.elements()) collect_values(element, out);
    if (value.is_string())
        out.insert(std::string(value.string()));
    else if (value.kind() == JsonKind::number)
        out.insert(std::string(value.raw()));
}

std::set<std::string> argument_values(const Message& message, const MessageTools& tools) {
    std::set<std::string> values;
    const auto content = tools.read(message);
    if (!content) return values;
    for (const ContentPart& part : content->parts) {
        if (part.kind != ContentKind::tool_call) continue;
        if (const auto document = parse_json(part.text)) collect_values(document->root(), values);
    }
    std::erase_if(values, [](const std::string& v) { return v.size() < argument_bytes_least; });
    return values;
}

class Replay {
public:
    Replay(const Trace& trace, const Policy& policy, const SimulateOptions& options,
           const MessageTools& tools)
        : trace_(trace),
          policy_(policy),
          options_(options),
          tools_(tools),
          cache_(options.prices),
          past_(options.embed) {
        options_.budget.tools = trace.tools_tokens;
        for (const Message& message : trace.preamble) {
            options_.budget.system += message.count.tokens + options.budget.per_message;
            Item item;
            item.message = message;
            preamble_text_ += flatten(item, tools);
        }
        sum_.traces = 1;
    }

    Simulation run() {
        for (std::size_t i = 0; i < trace_.items.size(); ++i) {
            const Item& said = trace_.items[i];
            if (is_call(i)) call(i);
            if (policy_.recall.tokens > 0)
                hear(said);
            else
                show(said);
            full_text_ += texts_.back().text;
        }
        sum_.reached = reached_ ? 1 : 0;
        sum_.compacted = sum_.compactions > 0 ? 1 : 0;
        return std::move(sum_);
    }

private:
    struct ItemText {
        const char* raw;
        std::string text;
    };

    // What was asked since the last call, and is to be known of the past only when that is quoted.
    struct Question {
        Quotable said = {};
        Time at = {};
        FormatId format = FormatId::openai_chat;
    };

    // Seqs are counted anew: what is recalled stands between messages of the recording.
    void show(Item item) {
        next_ = next_ + 1;
        item.range = {next_, next_};
        add_item(totals_, item);
        texts_.push_back({item.message.raw->data(), flatten(item, tools_)});
        items_.push_back(std::move(item));
    }

    std::string plain_text(const Message& message) const {
        std::string text;
        const auto content = tools_.read(message);
        if (!content) return text;
        for (const ContentPart& part : content->parts)
            if (part.kind == ContentKind::text || part.kind == ContentKind::tool_call ||
                part.kind == ContentKind::tool_result)
                text += std::string(part.text) + "\n";
        return text;
    }

    // A question leaves the seq before it to what is quoted for it.
    void hear(const Item& said) {
        remember();
        const Shape& shape = said.message.shape;
        if (shape.starts_turn()) next_ = next_ + 1;
        show(said);
        question_ =
            Question{{next_, shape.role, plain_text(said.message), said.message.fingerprint},
                     said.at,
                     said.message.format};
        if (!shape.starts_turn()) remember();
    }

    void remember() {
        if (question_) past_.add(question_->said, question_->at);
        question_.reset();
    }

    RecallInput recall_input() const {
        RecallInput input;
        const auto text_of = [&](const Message& message) { return plain_text(message); };
        input.shown = shown_seqs(items_, text_of);
        for (const Item& item : items_) {
            if (item.kind == ItemKind::recalled) input.quotations += text_of(item.message);
            if (item.kind == ItemKind::verbatim) input.shown_texts.insert(item.message.fingerprint);
        }
        input.read = [&](Seq seq) { return std::optional(past_.at(seq)); };
        input.count = [&](std::string_view text) { return tools_.count_text(text); };
        return input;
    }

    // Before the question, from what is not shown any more, within so many tokens. False: nothing.
    bool quote(std::uint64_t room) {
        RecallBudget budget = policy_.recall;
        budget.tokens = std::min(budget.tokens, room);
        if (!question_ || budget.tokens == 0 || sum_.compactions == 0) return false;
        RecallInput input = recall_input();
        const auto found =
            past_.search(question_->said.text, recall_candidates + input.shown.size());
        input.candidates = found;
        const std::string quotation = quote_recalled(input, budget);
        if (quotation.empty()) return false;
        auto message = tools_.make_text(question_->format, Role::user, quotation);
        if (!message) return false;
        mark_recalled(*message);
        const Seq seq{question_->said.seq.value - 1};
        Item item;
        item.range = {seq, seq};
        item.kind = ItemKind::recalled;
        item.tokens = message->count.tokens;
        item.at = question_->at;
        item.message = *std::move(message);
        add_item(totals_, item);
        texts_.insert(texts_.begin() + place_of_question(),
                      {item.message.raw->data(), flatten(item, tools_)});
        items_.insert(items_.begin() + place_of_question(), std::move(item));
        return true;
    }

    void take_back_quotation() {
        const auto at = place_of_question() - 1;
        items_.erase(items_.begin() + at);
        texts_.erase(texts_.begin() + at);
        totals_ = totals_of(items_);
    }

    std::ptrdiff_t place_of_question() const {
        return std::ranges::lower_bound(items_, question_->said.seq, {},
                                        [](const Item& item) { return item.range.from; }) -
               items_.begin();
    }

    bool is_said_by_model(std::size_t i) const {
        return i < trace_.items.size() && trace_.items[i].message.shape.role == Role::assistant;
    }

    // In Responses an answer is several items: the first one is the call.
    bool is_call(std::size_t i) const {
        if (!is_said_by_model(i)) return false;
        return trace_.items[i].message.format != FormatId::openai_responses || i == 0 ||
               !is_said_by_model(i - 1);
    }

    double idle_before(const Item& next) {
        const Time last = std::exchange(last_call_, next.at);
        if (last == Time{} || next.at == Time{}) return options_.gap_s;
        return std::chrono::duration<double>(next.at - last).count();
    }

    Occasion occasion(const Item& next) const {
        Occasion out;
        out.totals = totals_;
        out.items = items_;
        out.budget = options_.budget;
        out.model = options_.model;
        out.preamble = trace_.preamble;
        out.stalls = stalls_;
        out.now = next.at;
        return out;
    }

    // As begin does it: what a compaction takes out before this call can be quoted in it, so the
    // plan comes first; and it can be the quotation that makes it too much.
    void compact_and_quote(const Item& next) {
        Due due = find_due(policy_, occasion(next));
        if (due.level == Level::none && quote(UINT64_MAX)) {
            due = find_due(policy_, occasion(next));
            if (due.level != Level::none) take_back_quotation();
        }
        if (due.level != Level::none) quote(compact(next, due));
        remember();
    }

    // The tokens that are free then.
    std::uint64_t compact(const Item& next, const Due& due) {
        PlanInput input;
        input.items = items_;
        input.occasion = occasion(next);
        input.tools = &tools_;
        input.want_items = true;
        reached_ = true;
        Plan plan = make_plan(input, policy_, due);
        if (plan.outcome == PlanOutcome::unreachable)
            ++sum_.unreachable;
        else
            note_progress(stalls_, policy_.print, due, plan.tokens_before,
                          plan.outcome == PlanOutcome::done);
        if (plan.outcome == PlanOutcome::done) {
            ++sum_.compactions;
            items_ = std::move(plan.items);
            totals_ = totals_of(items_);
            read_texts();
        }
        return plan.limit - std::min(plan.limit, plan.used_after);
    }

    // The texts of what is shown now; those that did not change are kept.
    void read_texts() {
        std::vector<ItemText> now;
        std::size_t at = 0;
        for (const Item& item : items_) {
            const char* raw = item.message.raw->data();
            std::size_t found = at;
            while (found < texts_.size() && texts_[found].raw != raw) ++found;
            if (found < texts_.size()) {
                now.push_back(std::move(texts_[found]));
                at = found + 1;
            } else {
                now.push_back({raw, flatten(item, tools_)});
            }
        }
        texts_ = std::move(now);
    }

    // Of the answer that begins there, in all its items; each value counts once.
    std::set<std::string> values_of_answer(std::size_t first) const {
        std::set<std::string> values;
        for (std::size_t i = first; i == first || (is_said_by_model(i) && !is_call(i)); ++i)
            values.merge(argument_values(trace_.items[i].message, tools_));
        return values;
    }

    void count_arguments(std::size_t answer) {
        for (const std::string& value : values_of_answer(answer)) {
            if (preamble_text_.find(value) != std::string::npos) {
                ++sum_.arguments;
                ++sum_.arguments_kept;
                continue;
            }
            if (full_text_.find(value) == std::string::npos) continue;
            ++sum_.arguments;
            sum_.arguments_kept +=
                sum_.compactions == 0 ||
                        std::ranges::any_of(texts_,
                                            [&](const ItemText& text) {
                                                return text.text.find(value) != std::string::npos;
                                            })
                    ? 1
                    : 0;
        }
    }

    void call(std::size_t at) {
        const Item& answer = trace_.items[at];
        const std::uint64_t before = sum_.unreachable;
        compact_and_quote(answer);
        // A policy that does nothing leaves it too large as well.
        const Budget budget = budget_under(policy_, options_.budget);
        if (sum_.unreachable == before && budget.used(totals_) > budget.limit()) ++sum_.unreachable;
        std::vector<CacheBlock> request;
        request.push_back({1, static_cast<std::uint32_t>(options_.budget.fixed())});
        for (const Item& item : items_)
            request.push_back({reinterpret_cast<std::uintptr_t>(item.message.raw->data()),
                               item.tokens + options_.budget.per_message});
        const CallCost cost = cache_.call(request, idle_before(answer));
        ++sum_.calls;
        sum_.tokens += cost.tokens;
        sum_.cached += cost.cached;
        sum_.written += cost.written;
        sum_.cost += cost.cost;
        sum_.largest = std::max(sum_.largest, cost.tokens);
        sum_.tokens_per_call.push_back(static_cast<std::uint32_t>(cost.tokens));
        count_arguments(at);
        check_sendable();
    }

    void check_sendable() {
        if (!options_.is_sendable || sum_.compactions == checked_) return;
        checked_ = sum_.compactions;  // Between compactions the view only grows at its end.
        std::vector<Message> messages = trace_.preamble;
        for (const Item& item : items_) messages.push_back(item.message);
        if (!options_.is_sendable(messages)) ++sum_.invalid;
    }

    const Trace& trace_;
    const Policy& policy_;
    SimulateOptions options_;
    const MessageTools& tools_;
    PromptCache cache_;
    std::vector<Item> items_;
    ViewTotals totals_;
    std::vector<Stall> stalls_;
    std::vector<ItemText> texts_;
    std::string preamble_text_, full_text_;
    Seq next_ = {};
    SimulatedPast past_;
    std::optional<Question> question_;
    Time last_call_ = {};
    std::uint64_t checked_ = 0;
    bool reached_ = false;
    Simulation sum_;
};

}  // namespace

void add(Simulation& sum, const Simulation& one) {
    if (sum.traces == 0) sum.tokens_per_call = one.tokens_per_call;
    sum.calls += one.calls;
    sum.tokens += one.tokens;
    sum.cached += one.cached;
    sum.written += one.written;
    sum.largest = std::max(sum.largest, one.largest);
    sum.cost += one.cost;
    sum.compactions += one.compactions;
    sum.unreachable += one.unreachable;
    sum.invalid += one.invalid;
    sum.arguments += one.arguments;
    sum.arguments_kept += one.arguments_kept;
    sum.traces += one.traces;
    sum.reached += one.reached;
    sum.compacted += one.compacted;
}

Simulation simulate(const Trace& trace, const Policy& policy, const SimulateOptions& options,
                    const MessageTools& tools) {
    return Replay(trace, policy, options, tools).run();
}

}  // namespace palimpsest
