// simulate: replays recorded conversations call by call under each policy and counts what the calls
// would have cost with the provider's prompt cache.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "cli/cmd_compact.h"
#include "cli/documents.h"
#include "cli/recordings.h"
#include "core/simulate.h"
#include "engine/message_tools.h"
#include "engine/model_table.h"
#include "palimpsest/tokenizer.h"
#include "token/models.h"
#include "token/tool_tokens.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"policy", "JSON|NAME|FILE", "A policy to try; may be given several times.", true},
    {"prices", "NAME", "anthropic (default), openai, or a model with known prices."},
    {"window", "N", "The tokens that the model takes (default: the model's, or 200000)."},
    {"gap", "SECONDS", "Between calls, where the recording has no times."},
    {"format", "F", "Of the recordings: openai_chat (default), openai_responses, anthropic."},
    {"plot", "FILE.svg", "Draw the tokens of each call, one line for each policy."},
};

constexpr std::uint32_t per_message_tokens = 4, per_request_tokens = 3;
constexpr std::uint64_t default_window = 200'000;

struct Setup {
    FormatId format = FormatId::openai_chat;
    SimulateOptions options = {};
    const ModelSpec* model = nullptr;  // by whose rules tools are counted
    std::shared_ptr<const Tokenizer> tokenizer = {};
    std::unique_ptr<const MessageTools> tools = {};
};

Result<Setup> set_up(const Arguments& arguments, const ModelTable& models) {
    Setup setup;
    PAL_TRY(format, parse_format_name(arguments.get("format").value_or("openai_chat")));
    PAL_TRY(window, arguments.number("window"));
    PAL_TRY(gap, arguments.number("gap"));
    setup.format = format;
    setup.options.gap_s = static_cast<double>(gap.value_or(0));
    setup.options.budget.per_message = per_message_tokens;
    setup.options.budget.per_request = per_request_tokens;
    setup.options.budget.window = window.value_or(default_window);
    const std::string name = arguments.get("prices").value_or("anthropic");
    std::string_view encoding = "o200k_base";
    if (const PriceList* list = find_prices(name)) {
        setup.options.prices = *list;
        setup.model = models.match(name == "openai" ? "gpt-4.1" : "claude").spec;
    } else {
        const ModelMatch match = models.match(name);
        setup.options.prices = prices_of(facts_of(*match.spec));
        setup.model = match.spec;
        if (!match.known || setup.options.prices.name.empty())
            return fail(ErrorCode::invalid_request,
                        "there are no prices \"" + name +
                            "\"; there are anthropic, openai and models with known prices",
                        "prices");
        encoding = match.spec->encoding;
        if (!window) setup.options.budget.window = match.spec->window_tokens;
    }
    setup.options.model = facts_of(*setup.model);
    setup.options.is_sendable = [format](std::span<const Message> messages) {
        return render(format, messages).has_value();  // As it goes out, repaired.
    };
    PAL_TRY(tokenizer, open_tokenizer(encoding));
    setup.tokenizer = tokenizer;
    setup.tools = make_message_tools(*tokenizer);
    return setup;
}

// What a body sends with every call beside its messages: tools, and a system prompt in a field of
// its own.
std::uint64_t tokens_beside(std::string_view json, std::size_t preamble, const Setup& setup) {
    const auto document = parse_json(json);
    if (!document || !document->root().is_object()) return 0;
    std::uint64_t tokens = 0;
    for (const std::string_view name : {"system", "instructions"})
        if (const auto prompt = document->root().find(name); prompt && !prompt->is_null())
            tokens +=
                setup.tokenizer->count(prompt->is_string() ? prompt->string() : prompt->raw()) +
                per_message_tokens;
    const auto tools = document->root().find("tools");
    if (!tools) return tokens;
    const bool prompted = preamble > 0 || tokens > 0;
    return tokens + tool_tokens(*setup.model, *setup.tokenizer, tools->raw(), prompted).total();
}

Trace trace_of(Recording recording, const Setup& setup) {
    Trace trace;
    for (Said& one : recording.said) {
        if (trace.items.empty() && one.message.shape.role == Role::system) {
            trace.preamble.push_back(std::move(one.message));
            continue;
        }
        Item item;
        const Seq seq{trace.items.size() + 1};
        item.range = {seq, seq};
        item.tokens = one.message.count.tokens;
        item.at = one.at.value_or(Time{});
        item.message = std::move(one.message);
        trace.items.push_back(std::move(item));
    }
    trace.tools_tokens = tokens_beside(recording.body, trace.preamble.size(), setup);
    return trace;
}

Result<std::vector<Trace>> read_traces(const Arguments& arguments, const Setup& setup) {
    std::vector<Trace> traces;
    const std::vector<std::string> files = arguments.from(0);
    for (const std::string& file : files.empty() ? std::vector<std::string>{"-"} : files) {
        PAL_TRY(text, read_input(file));
        auto recordings = read_recordings(text, setup.format, *setup.tokenizer);
        if (!recordings) {
            Error error = std::move(recordings).error();
            error.message = file + ": " + error.message;
            return std::unexpected(std::move(error));
        }
        for (Recording& one : *recordings) traces.push_back(trace_of(std::move(one), setup));
    }
    return traces;
}

struct Row {
    std::string name = {};
    Simulation sum = {};
};

std::string rounded(double value, const char* format) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

void print_table(Output& out, const std::vector<Row>& rows, const Setup& setup) {
    Table table({"POLICY", "CALLS", "TOKENS", "CACHED", "UNCACHED", "WRITTEN", "COST", "RATIO",
                 "LARGEST", "COMPACTIONS", "KEPT", "INVALID", "TOO LARGE"});
    for (const Row& row : rows) {
        const Simulation& s = row.sum;
        const bool writes = setup.options.prices.fresh > 1;
        table.add({row.name, std::to_string(s.calls), std::to_string(s.tokens),
                   std::to_string(s.cached), std::to_string(s.fresh()),
                   std::to_string(writes ? s.written : 0), rounded(s.cost, "%.0f"),
                   rounded(s.cost / std::max(rows.front().sum.cost, 1e-9), "%.3f"),
                   std::to_string(s.largest), std::to_string(s.compactions),
                   s.arguments == 0 ? "-" : rounded(100 * s.kept_share(), "%.2f%%"),
                   std::to_string(s.invalid), std::to_string(s.unreachable)});
    }
    table.print(out);
    out.line(
        "COST in tokens read without a cache; RATIO to the first row; KEPT: arguments of later "
        "calls still to be seen; TOO LARGE: calls that the policy could not make fit.");
}

void write_row(JsonWriter& out, const Row& row, const Setup& setup, double none_cost) {
    const Simulation& s = row.sum;
    const bool writes = setup.options.prices.fresh > 1;
    out.begin_object().field("policy", row.name).field("prices", setup.options.prices.name);
    out.key("conversations").number(s.traces).key("calls").number(s.calls);
    out.key("input_tokens").number(s.tokens).key("cached_tokens").number(s.cached);
    out.key("uncached_tokens").number(s.fresh());
    out.key("cache_writes").number(writes ? s.written : std::uint64_t{0});
    out.key("cost").number(s.cost).key("cost_ratio").number(s.cost / std::max(none_cost, 1e-9));
    out.key("largest_request").number(s.largest).key("compactions").number(s.compactions);
    out.key("reached_trigger").number(s.reached).key("compacted").number(s.compacted);
    out.key("arguments").number(s.arguments).key("arguments_kept").number(s.arguments_kept);
    out.key("kept_share").number(s.kept_share());
    out.key("unreachable").number(s.unreachable).key("invalid_requests").number(s.invalid);
    out.key("tokens_per_call").begin_array();
    for (const std::uint32_t tokens : s.tokens_per_call) out.number(std::uint64_t{tokens});
    out.end_array().end_object();
}

Result<void> write_plot(const std::string& path, const std::vector<Row>& rows) {
    std::vector<PlotLine> lines;
    for (const Row& row : rows) lines.push_back({row.name, row.sum.tokens_per_call});
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << plot_svg(lines, "Tokens of each call");
    file.flush();
    if (!file)
        return fail(ErrorCode::invalid_request, "cannot write '" + path + "'; is its folder there?",
                    "plot");
    return {};
}

}  // namespace

extern const Flags simulate_flags;
const Flags simulate_flags = flags;

Result<int> run_simulate(Invocation& call) {
    const ModelTable models(call.settings.models, {});
    PAL_TRY(setup, set_up(call.arguments, models));
    std::vector<std::string> texts = call.arguments.all("policy");
    if (texts.empty()) texts = {"balanced"};
    std::erase(texts, "none");
    texts.insert(texts.begin(), "none");  // What the others are compared with.
    std::vector<Policy> policies;
    for (const std::string& text : texts) {
        PAL_TRY(json, policy_argument(text));
        PAL_CHECK(check_policy_size(json));
        PAL_TRY(policy, parse_policy(json));
        const bool taken = std::ranges::any_of(
            policies, [&](const Policy& other) { return other.name == policy.name; });
        if (policy.name.empty()) policy.name = "policy " + std::to_string(policies.size());
        if (taken) policy.name += " " + std::to_string(policies.size());
        policies.push_back(std::move(policy));
    }
    PAL_TRY(traces, read_traces(call.arguments, setup));
    std::vector<Row> rows;
    for (const Policy& policy : policies) {
        Row row{policy.name, {}};
        for (const Trace& trace : traces)
            add(row.sum, simulate(trace, policy, setup.options, *setup.tools));
        rows.push_back(std::move(row));
    }
    if (const auto path = call.arguments.get("plot")) PAL_CHECK(write_plot(*path, rows));
    if (!call.json()) print_table(call.out, rows, setup);
    for (const Row& row : rows)
        if (call.json()) {
            std::string text;
            JsonWriter out(text);
            write_row(out, row, setup, rows.front().sum.cost);
            call.out.json_line(std::move(text));
        }
    return 0;
}

}  // namespace palimpsest
