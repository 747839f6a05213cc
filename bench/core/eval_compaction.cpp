// What policies save and cost on recorded agent conversations (PAL_DATA), against the limits that
// the default preset is held to. `eval_compaction POLICY...` measures the named ones instead.
#include <cstring>
#include <iostream>

#include "engine/message_tools.h"
#include "palimpsest/tokenizer.h"
#include "traces.h"

using namespace palimpsest;

namespace {

struct Suite {
    const char* name;
    const char* file;
    std::size_t join;
    std::uint64_t window;
};

bool sendable(std::span<const Message> messages) {
    const auto found = validate(FormatId::openai_chat, messages);
    return found && is_sendable(*found);
}

Simulation run(const std::vector<Trace>& traces, const Policy& policy, const PriceList& prices,
               std::uint64_t window, const MessageTools& tools) {
    SimulateOptions options;
    options.prices = prices;
    options.budget.window = window;
    options.budget.per_message = 4;
    options.is_sendable = sendable;
    Simulation sum;
    for (const Trace& trace : traces) add(sum, simulate(trace, policy, options, tools));
    return sum;
}

void print_row(const char* name, const Simulation& a, const Simulation& none_a, const Simulation& o,
               const Simulation& none_o) {
    std::printf("%-44.44s %5.1f%% %5.1f%% %6.3f %6.3f %6.2f%% %5llu/%-4llu %4llu %4llu %7llu\n",
                name, 100 - 100.0 * double(a.tokens) / double(none_a.tokens),
                100.0 * double(a.cached) / double(a.tokens), a.cost / none_a.cost,
                o.cost / none_o.cost, 100 * a.kept_share(), (unsigned long long)a.compacted,
                (unsigned long long)a.reached, (unsigned long long)a.invalid,
                (unsigned long long)a.unreachable, (unsigned long long)a.largest);
}

}  // namespace

int main(int argc, char** argv) {
    const char* data = std::getenv("PAL_DATA");
    if (!data) return 2;
    const auto tokenizer = exact_tokenizer();
    const auto tools = make_message_tools(*tokenizer);
    std::vector<Suite> suites;
    std::vector<const char*> names;
    for (int i = 1; i < argc; ++i) names.push_back(argv[i]);
    suites = {{"airline single", "tau_airline.jsonl.gz", 1, 6000},
              {"airline, 40 joined", "tau_airline.jsonl.gz", 40, 32000},
              {"coding single", "coding_agent_dev.jsonl.gz", 1, 12000},
              {"coding, all joined", "coding_agent_dev.jsonl.gz", 40, 12000}};
    if (const char* only = std::getenv("SUITE")) {
        suites = {suites[std::size_t(std::atoi(only))]};
        if (const char* window = std::getenv("WINDOW"))
            suites[0].window = std::strtoull(window, nullptr, 10);
    }
    if (names.empty()) names = {"balanced"};
    const auto none = parse_policy("none");
    for (const Suite& suite : suites) {
        const auto traces = read_traces(std::string(data) + "/" + suite.file, suite.join, *tools);
        const Simulation na = run(traces, *none, *find_prices("anthropic"), 0, *tools);
        const Simulation no = run(traces, *none, *find_prices("openai"), 0, *tools);
        std::printf("== %s, window %llu, %zu traces, %llu calls, %llu tokens\n", suite.name,
                    (unsigned long long)suite.window, traces.size(), (unsigned long long)na.calls,
                    (unsigned long long)na.tokens);
        std::printf("%-44s %6s %6s %6s %6s %7s %10s %4s %4s %7s\n", "policy", "saved", "hit",
                    "anth", "oai", "kept", "done/due", "inv", "unr", "largest");
        for (const char* name : names) {
            const auto policy = parse_policy(name);
            if (!policy) {
                std::printf("%s: %s\n", name, policy.error().message.c_str());
                return 1;
            }
            print_row(name, run(traces, *policy, *find_prices("anthropic"), suite.window, *tools),
                      na, run(traces, *policy, *find_prices("openai"), suite.window, *tools), no);
        }
    }
    return 0;
}
