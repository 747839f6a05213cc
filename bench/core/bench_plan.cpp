// Planning beside parsing, in one run: a conversation of 100,000 messages with the default preset,
// counts present, must plan in under a tenth of the time that parsing it takes; and finding nothing
// due must cost the same at any length.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "base/json_write.h"
#include "core/plan_draft.h"
#include "engine/message_tools.h"
#include "palimpsest/format.h"
#include "palimpsest/tokenizer.h"

using namespace palimpsest;

namespace {

// Of this thread alone: what else the machine does is not counted.
double seconds_now() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double seconds_of(const auto& work) {
    const double start = seconds_now();
    work();
    return seconds_now() - start;
}

double best_of(int times, const auto& work) {
    double best = 1e9;
    for (int n = 0; n < times; ++n) best = std::min(best, seconds_of(work));
    return best;
}

std::string words(std::mt19937& random, std::size_t count) {
    static constexpr const char* some[] = {
        "flight",   "reservation",         "HAT069",  "the", "Please", "2024-05-20",
        "file.txt", "credit_card_4421486", "returns", "is",  "a",      "of"};
    std::string out;
    for (std::size_t n = 0; n < count; ++n) out += std::string(some[random() % 12]) + " ";
    return out;
}

// Turns of a question, two tool exchanges and an answer: 600 bytes a message.
std::string conversation(std::size_t messages) {
    std::mt19937 random(7);
    std::string out = "[";
    for (std::size_t n = 0; n < messages; ++n) {
        if (n > 0) out += ',';
        const std::string id = "call_" + std::to_string(n - n % 6 + n % 6 / 3) + "abcdefgh";
        switch (n % 6) {
            case 0:
                out += R"({"role":"user","content":)" + json_string(words(random, 30)) + "}";
                break;
            case 1:
            case 3:
                out += R"({"role":"assistant","content":null,"tool_calls":[{"id":")" +
                       std::string("call_") + std::to_string(n) +
                       R"(","type":"function","function":{"name":"search","arguments":)" +
                       json_string("{\"q\":\"" + words(random, 8) + "\"}") + "}}]}";
                break;
            case 2:
            case 4:
                out += R"({"role":"tool","tool_call_id":"call_)" + std::to_string(n - 1) +
                       R"(","content":)" + json_string(words(random, 200)) + "}";
                break;
            default:
                out += R"({"role":"assistant","content":)" + json_string(words(random, 60)) + "}";
        }
    }
    return out + "]";
}

Items items_of(std::vector<Message> messages) {
    std::vector<Item> items;
    for (Message& message : messages) {
        Item item;
        const Seq seq{items.size() + 1};
        item.range = {seq, seq};
        item.tokens = static_cast<std::uint32_t>(message.raw->size() / 4);
        message.count = {scheme_approx, item.tokens};
        item.message = std::move(message);
        items.push_back(std::move(item));
    }
    return items;
}

PlanInput input_of(const Items& items, const MessageTools& tools, std::uint64_t window) {
    PlanInput input;
    input.items = items;
    input.facts = items.facts();
    input.occasion.totals = totals_of(items);
    input.occasion.budget.window = window;
    input.occasion.budget.per_message = 4;
    input.tools = &tools;
    return input;
}

// What should become of which groups: all of planning but making and counting the new bytes, which
// a minimum gain asks for early.
void decide(const PlanInput& input, const Policy& policy, std::uint64_t window) {
    PlanDraft draft(input, policy);
    const std::uint64_t target = policy.target.in(window).value_or(0);
    for (const PolicyPass& pass : policy.passes) {
        if (draft.used() <= target) break;
        const auto own = pass.target.in(window);
        draft.run(pass, own.value_or(target), 0,
                  &pass == &policy.passes.front() ? std::optional(target) : std::nullopt);
    }
}

}  // namespace

int main() {
    const auto tokenizer = exact_tokenizer();
    const auto tools = make_message_tools(*tokenizer);
    const auto policy = parse_policy("balanced");
    constexpr std::size_t count = 100'000;
    const Bytes json = make_bytes(conversation(count));
    std::vector<Message> messages;
    const double parsing =
        best_of(7, [&] { messages = *read_messages(FormatId::openai_chat, json); });
    const Items items = items_of(std::move(messages));
    std::printf("%zu messages, %.1f MB: parsing %.1f ms\n", count, double(json->size()) / 1e6,
                parsing * 1e3);
    bool good = true;
    for (const std::uint64_t window : {128'000, 200'000, 1'000'000}) {
        const PlanInput input = input_of(items, *tools, window);
        const double deciding = best_of(7, [&] { decide(input, *policy, window); });
        Plan plan;
        const double planning = best_of(7, [&] { plan = make_plan(input, *policy); });
        std::printf(
            "balanced, window %7llu: deciding %5.2f ms, %4.1f %% of parsing; with the bytes "
            "of %zu edits %5.2f ms, %4.1f %% (%llu to %llu tokens)\n",
            static_cast<unsigned long long>(window), deciding * 1e3, 100 * deciding / parsing,
            plan.edits.size(), planning * 1e3, 100 * planning / parsing,
            static_cast<unsigned long long>(plan.used_before),
            static_cast<unsigned long long>(plan.used_after));
        // The bytes cost what the window takes; at the usual one they are among the tenth.
        const double counted = window <= 128'000 ? planning : deciding;
        good = good && plan.outcome == PlanOutcome::done && counted < parsing / 10;
    }
    const Items few(std::vector<Item>(items.begin(), items.begin() + 100));
    const PlanInput small = input_of(few, *tools, 1'000'000'000),
                    large = input_of(items, *tools, 1'000'000'000);
    const auto ask = [&](const PlanInput& input) {
        int due = 0;
        const double time = best_of(5, [&] {
            for (int n = 0; n < 10'000; ++n)
                due += find_due(*policy, input.occasion).level != Level::none;
        });
        return time / 10'000 * 1e9 + due;
    };
    const double at_100 = ask(small), at_100000 = ask(large);
    std::printf("nothing due: %.0f ns at 100 messages, %.0f ns at 100,000\n", at_100, at_100000);
    std::printf("%s\n", good ? "ok" : "FAILED: planning takes more than a tenth of parsing");
    return good ? 0 : 1;
}
