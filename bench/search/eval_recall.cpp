// What recall costs on recorded agent conversations (PAL_DATA), joined so that much is out of the
// view: by words, and by words and vectors. At most a tenth more than the same policy without it.
//
//     eval_recall [TRACES]               of the first so many joined conversations; all unless
//     given
#include "../core/traces.h"
#include "cached_vectors.h"
#include "core/policy.h"
#include "engine/message_tools.h"
#include "palimpsest/tokenizer.h"

using namespace palimpsest;

namespace {

constexpr std::size_t joined = 40;
constexpr std::uint64_t window = 35'555;
constexpr double more_max = 1.10;
constexpr const char* without =
    R"({"triggers":{"hard":{"window_share":0.95}},"target":{"window_share":0.5},
"passes":[{"pass":"drop_oldest"}]})";
constexpr const char* with =
    R"({"triggers":{"hard":{"window_share":0.95}},"target":{"window_share":0.5},
"passes":[{"pass":"drop_oldest"}],"recall":{"tokens":1000}})";

struct Costs {
    double anthropic = 0, openai = 0;
};

Costs run(const std::vector<Trace>& traces, const char* policy, const EmbedTexts& embed,
          const MessageTools& tools) {
    Costs costs;
    const auto parsed = parse_policy(policy);
    if (!parsed) return costs;
    for (const char* name : {"anthropic", "openai"}) {
        SimulateOptions options;
        options.prices = *find_prices(name);
        options.budget.window = window;
        options.budget.per_message = 4;
        options.embed = embed;
        double& sum = *name == 'a' ? costs.anthropic : costs.openai;
        for (const Trace& trace : traces) sum += simulate(trace, *parsed, options, tools).cost;
    }
    return costs;
}

bool print(const char* name, const Costs& now, const Costs& before) {
    const double anthropic = now.anthropic / before.anthropic, openai = now.openai / before.openai;
    const bool good = anthropic <= more_max && openai <= more_max;
    std::printf("%-28s %.3f (anthropic) %.3f (openai) of the same without recall%s\n", name,
                anthropic, openai, good ? "" : "  FAILED");
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    const char* data = std::getenv("PAL_DATA");
    if (!data) return std::puts("skipped: PAL_DATA names no folder"), 0;
    const auto tokenizer = exact_tokenizer();
    const auto tools = make_message_tools(*tokenizer);
    auto traces = read_traces(std::string(data) + "/tau_airline.jsonl.gz", joined, *tools);
    if (argc > 1)
        traces.resize(std::min(traces.size(), static_cast<std::size_t>(std::atoi(argv[1]))));
    const Costs before = run(traces, without, {}, *tools);
    bool good = print("recall by words", run(traces, with, {}, *tools), before);
    if (const auto vectors = open_cached_vectors(argv[0])) {
        const EmbedTexts embed = [&](std::span<const std::string> texts, Embedded what) {
            return vectors->each_of(texts, what == Embedded::questions);
        };
        good =
            print("recall by words and vectors", run(traces, with, embed, *tools), before) && good;
    }
    return good ? 0 : 1;
}
