// What policies save and cost on recorded agent conversations (PAL_DATA), in a table, and whether
// the default preset stays within its limits. Cost 1.00 is no compaction with prompt caching.
//
//     eval_compaction                    the table; exit status 1 when a limit is missed
//     eval_compaction POLICY...          these policies instead
//     eval_compaction sweep              the table of docs/POLICIES.md
#include <cstring>

#include "engine/message_tools.h"
#include "palimpsest/tokenizer.h"
#include "traces.h"

using namespace palimpsest;

namespace {

// `trigger` is the number of tokens at which a policy that fires at nine tenths of the window does.
struct Suite {
    const char* name;
    const char* file;
    std::size_t join;
    std::uint64_t trigger;
    double cost_max;  // of the default preset, anthropic
    double kept_least;
};
constexpr Suite suites[] = {
    {"airline, single", "tau_airline.jsonl.gz", 1, 6000, 1.00, 0.99},
    {"airline, 40 joined", "tau_airline.jsonl.gz", 40, 32000, 0.60, 0.995},
    {"coding, single", "coding_agent_dev.jsonl.gz", 1, 2700, 0.75, 0},
    {"coding, joined", "coding_agent_dev.jsonl.gz", 40, 12000, 0.75, 0},
};

constexpr const char* usual[] = {
    "balanced",
    "window_half",
    "trim",
    R"({"name":"clear, keep 3","triggers":{"window_share":0.9},"passes":[{"pass":"clear_tool_results",
"keep_tool_uses":3,"target":0}]})",
    R"({"name":"clear, keep 3, at least a quarter","triggers":{"window_share":0.9},"passes":[
{"pass":"clear_tool_results","keep_tool_uses":3,"target":0,"min_gain":{"window_share":0.25}}]})",
    R"({"name":"clear with identifiers, a quarter","triggers":{"window_share":0.9},"passes":[
{"pass":"clear_tool_results","keep_tool_uses":3,"target":0,"keep_identifiers":40,
"min_gain":{"window_share":0.25}}]})",
    R"({"name":"older than 2 turns, every call","triggers":{"turns":2},"passes":[
{"pass":"clear_tool_results","keep_turns":2,"min_tokens":0,"target":0}]})",
    R"({"name":"fold to 40 %, 300 tokens","triggers":{"window_share":0.9},"target":{"window_share":0.4},
"passes":[{"pass":"summarize","max_tokens":300}]})",
    R"({"name":"select relevant to half","triggers":{"window_share":0.9},"target":{"window_share":0.5},
"passes":[{"pass":"select_relevant"}]})",
    R"({"name":"sliding window, every call","triggers":{"window_share":0.9},"target":{"window_share":0.89},
"passes":[{"pass":"drop_oldest"}]})",
};

bool sendable(std::span<const Message> messages) {
    const auto found = validate(FormatId::openai_chat, messages);
    return found && is_sendable(*found);
}

struct Both {
    Simulation anthropic = {}, openai = {};
};

Both run(const std::vector<Trace>& traces, const Policy& policy, std::uint64_t window,
         const MessageTools& tools) {
    Both out;
    for (Simulation* sum : {&out.anthropic, &out.openai}) {
        SimulateOptions options;
        options.prices = *find_prices(sum == &out.anthropic ? "anthropic" : "openai");
        options.budget.window = window;
        options.budget.per_message = 4;
        options.is_sendable = sendable;
        for (const Trace& trace : traces) add(*sum, simulate(trace, policy, options, tools));
    }
    return out;
}

void print_row(const std::string& name, const Both& now, const Both& none) {
    const Simulation& a = now.anthropic;
    std::printf("%-36.36s %6.1f %% %6.1f %% %6.3f %6.3f %7.2f %% %5llu of %-4llu %7llu %7llu\n",
                name.c_str(), 100 - 100.0 * double(a.tokens) / double(none.anthropic.tokens),
                100.0 * double(a.cached) / double(a.tokens), a.cost / none.anthropic.cost,
                now.openai.cost / none.openai.cost, 100 * a.kept_share(),
                static_cast<unsigned long long>(a.compacted),
                static_cast<unsigned long long>(a.reached),
                static_cast<unsigned long long>(a.invalid + now.openai.invalid),
                static_cast<unsigned long long>(a.largest));
}

// What the default preset is held to.
bool within_limits(const Suite& suite, const Both& now, const Both& none) {
    const Simulation& a = now.anthropic;
    const bool good = a.cost <= suite.cost_max * none.anthropic.cost + 1e-9 &&
                      a.kept_share() >= suite.kept_least &&
                      double(a.compacted) >= 0.8 * double(a.reached) && a.reached > 0;
    if (!good) std::printf("FAILED: %s is over its limits\n", suite.name);
    return good;
}

std::vector<std::string> sweep_policies() {
    std::vector<std::string> out;
    for (const double target : {0.3, 0.4, 0.5, 0.6})
        for (const int summary : {200, 400, 600})
            for (const double drop : {0.5, 0.75}) {
                char text[600];
                std::snprintf(
                    text, sizeof text,
                    R"({"name":"target %.1f, summary %d, drop above %.2f",)"
                    R"("triggers":{"window_share":0.9},"target":{"window_share":%.2f},"passes":[)"
                    R"({"pass":"clear_tool_results","keep_tool_uses":3,"keep_identifiers":40,)"
                    R"("min_tokens":100,"min_gain":{"window_share":0.3},"target":0},)"
                    R"({"pass":"summarize","max_tokens":%d},)"
                    R"({"pass":"drop_oldest","target":{"window_share":%.2f}}]})",
                    target, summary, drop, target, summary, drop);
                out.push_back(text);
            }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    const char* data = std::getenv("PAL_DATA");
    if (!data) {
        std::puts("PAL_DATA names no folder");
        return 2;
    }
    const auto tokenizer = exact_tokenizer();
    const auto tools = make_message_tools(*tokenizer);
    std::vector<std::string> policies(argv + 1, argv + argc);
    const bool sweep = argc == 2 && std::strcmp(argv[1], "sweep") == 0;
    if (sweep) policies = sweep_policies();
    if (argc == 1) policies.assign(std::begin(usual), std::end(usual));
    const auto none = parse_policy("none");
    bool good = true;
    for (const Suite& suite : suites) {
        const auto traces = read_traces(std::string(data) + "/" + suite.file, suite.join, *tools);
        const std::uint64_t window = suite.trigger * 10 / 9;
        const Both without = run(traces, *none, 0, *tools);
        std::printf("\n%s: %zu conversations, %llu calls, %llu tokens; window %llu, trigger %llu\n",
                    suite.name, traces.size(),
                    static_cast<unsigned long long>(without.anthropic.calls),
                    static_cast<unsigned long long>(without.anthropic.tokens),
                    static_cast<unsigned long long>(window),
                    static_cast<unsigned long long>(suite.trigger));
        std::printf("%-36s %8s %8s %6s %6s %9s %13s %7s %7s\n", "policy", "saved", "hit", "anth",
                    "oai", "kept", "compacted", "invalid", "largest");
        for (const std::string& text : policies) {
            const auto policy = parse_policy(text);
            if (!policy) {
                std::printf("%s: %s\n", text.c_str(), policy.error().message.c_str());
                return 1;
            }
            const Both now = run(traces, *policy, window, *tools);
            print_row(policy->name.empty() ? text : policy->name, now, without);
            if (policy->name == "balanced") good = within_limits(suite, now, without) && good;
            if (now.anthropic.invalid + now.openai.invalid > 0) {
                std::puts("FAILED: invalid requests");
                good = false;
            }
        }
    }
    std::printf("\n%s\n", good ? "ok" : "FAILED");
    return good ? 0 : 1;
}
