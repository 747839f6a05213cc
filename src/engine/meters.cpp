#include "engine/meters.h"

#include <fmt/format.h>

#include <algorithm>

namespace palimpsest {
namespace {

constexpr std::array<double, 8> token_limits = {1e3,    4e3,    1.6e4,  6.4e4,
                                                1.28e5, 2.56e5, 5.12e5, 1e6};
constexpr std::array<double, 8> second_limits = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1, 1, 10};
constexpr std::string_view step_names[] = {"begin", "finish", "upstream"};
constexpr std::string_view used_names[] = {"input", "cached", "cache_write", "output"};
constexpr std::string_view store_names[store_calls] = {
    "head",  "append",     "read",       "list",         "scrub",
    "erase", "get_record", "put_record", "list_records", "sweep"};

// The value is a row of a table or of the settings, never what a client wrote: a series stays for
// ever, and is shown to the admins of other tenants.
std::string label(std::string_view name, std::string_view value) {
    std::string out = std::string(name) + "=\"";
    for (const char c : value) {
        if (c == '"' || c == '\\') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out + "\"";
}

// The word for reports that a policy gives itself counts where it is one of ours.
std::string_view strategy_row(std::string_view strategy) {
    constexpr std::string_view rows[] = {"none", "trim", "compact", "summarize"};
    const auto row = std::ranges::find(rows, strategy);
    return row == std::end(rows) ? "own" : *row;
}

// Of triggers that are due together ("messages+turns") there are as many as clients think of.
std::string_view trigger_row(std::string_view trigger) {
    return trigger.contains('+') ? "all" : trigger;
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void counters(std::string& out, std::string_view name, std::string_view help,
              const std::map<std::string, std::uint64_t>& values) {
    head(out, name, "counter", help);
    for (const auto& [labels, value] : values)
        out += fmt::format("{}{{{}}} {}\n", name, labels, value);
}

}  // namespace

void Meters::add(Histogram& into, const Limits& limits, double value) {
    for (std::size_t i = 0; i < limits.size(); ++i) into.buckets[i] += value <= limits[i] ? 1 : 0;
    ++into.count;
    into.sum += value;
}

void Meters::write(std::string& out, std::string_view name, const std::string& labels,
                   const Histogram& histogram, const Limits& limits) {
    for (std::size_t i = 0; i < limits.size(); ++i)
        out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, limits[i],
                           histogram.buckets[i]);
    out += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, histogram.count);
    out += fmt::format("{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, histogram.sum, name,
                       labels, histogram.count);
}

void Meters::count_compaction(const Compaction& compaction) {
    const CompactionReport& report = compaction.report;
    const std::string labels = label("strategy", strategy_row(report.strategy)) + "," +
                               label("trigger", trigger_row(report.trigger));
    const std::lock_guard lock(mutex_);
    ++triggers_[labels];
    if (compaction.outcome != Compaction::Outcome::done) return;
    // What is cleared of tools counts as inputs and outputs, everything once.
    const auto cleared = std::ranges::count_if(compaction.edits, [](const Edit& edit) {
        return edit.treatment == Treatment::cleared && edit.pass != "clear_tool_inputs" &&
               edit.pass != "clear_tool_results";
    });
    const std::pair<std::string_view, std::uint64_t> kinds[] = {
        {"cleared", static_cast<std::uint64_t>(cleared)},
        {"shortened", report.shortened},
        {"folded", report.folded},
        {"dropped", report.dropped},
        {"input", report.cleared_inputs},
        {"output", report.cleared_outputs},
    };
    for (const auto& [kind, count] : kinds)
        if (count > 0) items_[label("kind", kind)] += count;
    add(tokens_[labels + "," + label("when", "before")], token_limits,
        static_cast<double>(compaction.tokens_before));
    add(tokens_[labels + "," + label("when", "after")], token_limits,
        static_cast<double>(compaction.tokens_after));
}

void Meters::count_injection(std::string_view result) {
    const std::lock_guard lock(mutex_);
    ++injections_[label("result", result)];
}

void Meters::count_call(const Usage& usage, double cost, bool missed) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t used[] = {usage.input, usage.cached, usage.cache_writes, usage.output};
    static_assert(std::size(used) == std::size(used_names));
    for (std::size_t i = 0; i < used_.size(); ++i) used_[i] += used[i];
    cost_ += cost;
    misses_ += missed ? 1 : 0;
}

void Meters::count_step(Step step, double seconds) {
    const std::lock_guard lock(mutex_);
    add(steps_[static_cast<std::size_t>(step)], second_limits, seconds);
}

void Meters::count_store(StoreCall call, std::optional<ErrorCode> error) {
    const auto at = static_cast<std::size_t>(call);
    store_calls_[at].fetch_add(1, std::memory_order_relaxed);
    if (!error || *error == ErrorCode::not_found) return;
    const std::string labels =
        label("operation", store_names[at]) + "," + label("code", error_info(*error).name);
    const std::lock_guard lock(mutex_);
    ++store_errors_[labels];
}

void Meters::set_estimate_error(std::string_view model, double error) {
    const std::lock_guard lock(mutex_);
    errors_[label("model", model)] = error;
}

void Meters::write_store(std::string& out) const {
    head(out, "memory_store_operations_total", "counter", "Calls of the store.");
    for (std::size_t i = 0; i < store_calls; ++i)
        out += fmt::format("memory_store_operations_total{{{}}} {}\n",
                           label("operation", store_names[i]), store_calls_[i].load());
    counters(out, "memory_store_errors_total", "Calls of the store that failed, by code.",
             store_errors_);
    head(out, "memory_jobs_waiting", "gauge",
         "Summaries that wait to be written, at the last look.");
    out += fmt::format("memory_jobs_waiting {}\n", jobs_.load());
}

std::string Meters::text() const {
    const std::lock_guard lock(mutex_);
    std::string out;
    counters(out, "memory_trigger_total", "Compactions that were due, by what was due.", triggers_);
    counters(out, "memory_compaction_items_total", "Messages that were edited, by how.", items_);
    head(out, "memory_tokens_before_after", "histogram",
         "Tokens of the view before and after a compaction.");
    for (const auto& [labels, histogram] : tokens_)
        write(out, "memory_tokens_before_after", labels, histogram, token_limits);
    counters(out, "memory_summary_injection_total",
             "Summaries of other conversations that were to be put in.", injections_);
    head(out, "memory_step_seconds", "histogram",
         "Time of the halves of a turn, and of the model, in between or alone.");
    for (std::size_t i = 0; i < steps_.size(); ++i)
        write(out, "memory_step_seconds", label("step", step_names[i]), steps_[i], second_limits);
    std::map<std::string, std::uint64_t> used;
    for (std::size_t i = 0; i < used_.size(); ++i) used[label("kind", used_names[i])] = used_[i];
    counters(out, "memory_tokens_total", "Tokens that providers reported and we read.", used);
    head(out, "memory_cost_dollars_total", "counter", "What they cost, where the price is known.");
    out += fmt::format("memory_cost_dollars_total {}\n", cost_);
    head(out, "memory_cache_misses_total", "counter",
         "Calls that should have hit the provider's cache and did not.");
    out += fmt::format("memory_cache_misses_total {}\n", misses_);
    head(out, "memory_estimate_error_ratio", "gauge",
         "Mean error of the tokens expected of models without a public vocabulary.");
    for (const auto& [labels, error] : errors_)
        out += fmt::format("memory_estimate_error_ratio{{{}}} {}\n", labels, error);
    write_store(out);
    return out;
}

}  // namespace palimpsest
