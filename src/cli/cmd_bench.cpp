// bench: how fast this store is on this machine. Works in conversations of its own, whose names
// begin with "pal-bench-", and erases them, also when a step fails.
#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/ids.h"
#include "cli/command.h"
#include "palimpsest/format.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr Flag flags[] = {
    {"seconds", "N", "How long each step runs, 1 to 600; default: 2."},
    {"writers", "N", "How many write at once in the step with many, 1 to 256; default: 16."},
};

struct Step {
    std::string name;
    std::size_t threads;
    // One operation of that thread.
    std::function<Result<void>(std::size_t thread)> run;
};

struct Speed {
    std::string name = {};
    double per_second = 0, p50_ms = 0, p99_ms = 0;
    std::size_t count = 0;
};

double quantile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

Result<Speed> measure(const Step& step, std::chrono::seconds duration) {
    std::mutex mutex;
    std::vector<double> all;
    std::optional<Error> failed;
    const auto start = SteadyClock::now();
    const auto work = [&](std::size_t thread) {
        std::vector<double> own;
        while (SteadyClock::now() - start < duration) {
            const auto before = SteadyClock::now();
            Result<void> done = step.run(thread);
            own.push_back(
                std::chrono::duration<double, std::milli>(SteadyClock::now() - before).count());
            const std::lock_guard lock(mutex);
            if (!done && !failed) failed = std::move(done).error();
            if (failed) break;
        }
        const std::lock_guard lock(mutex);
        all.insert(all.end(), own.begin(), own.end());
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < step.threads; ++t) threads.emplace_back(work, t);
    }
    if (failed) return std::unexpected(*std::move(failed));
    const double took = std::chrono::duration<double>(SteadyClock::now() - start).count();
    std::ranges::sort(all);
    return Speed{step.name, static_cast<double>(all.size()) / took, quantile(all, 0.5),
                 quantile(all, 0.99), all.size()};
}

std::string said(std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += "what was said here ";
    return R"({"role":"user","content":")" + text.substr(0, bytes) + "\"}";
}

// What is measured. `names[0]` is that of the step with one writer.
std::vector<Step> steps_of(Memory& memory, const std::vector<ConversationId>& names) {
    const auto append = [&memory, &names,
                         message = said(1000)](std::size_t thread) -> Result<void> {
        PAL_CHECK(memory.append(names[thread], {.messages = message}));
        return {};
    };
    const auto turn = [&memory, &names, message = said(100)](std::size_t) -> Result<void> {
        PAL_TRY(begun, memory.begin(names[0], {.messages = message, .model = "echo"}));
        PAL_TRY(answer, make_message(FormatId::openai_chat, Role::assistant, "An answer."));
        PAL_CHECK(memory.finish(begun, {.message = std::move(answer)}));
        return {};
    };
    const auto read = [&memory, &names](std::size_t) -> Result<void> {
        PAL_CHECK(memory.log(names[0], {.limit = 20, .newest_first = true}));
        return {};
    };
    return {{"append 1 KB, one writer", 1, append},
            {fmt::format("append 1 KB, {} writers", names.size()), names.size(), append},
            {"turn (begin and finish)", 1, turn},
            {"newest 20 entries", 1, read}};
}

Result<std::vector<Speed>> measure_all(Memory& memory, const std::vector<ConversationId>& names,
                                       std::chrono::seconds duration) {
    std::vector<Speed> speeds;
    for (const Step& step : steps_of(memory, names)) {
        PAL_TRY(speed, measure(step, duration));
        speeds.push_back(std::move(speed));
    }
    return speeds;
}

void print_speeds(Output& out, const std::vector<Speed>& speeds) {
    Table table({"WHAT", "PER SECOND", "P50 MS", "P99 MS"});
    for (const Speed& speed : speeds)
        table.add({speed.name, fmt::format("{:.0f}", speed.per_second),
                   fmt::format("{:.3f}", speed.p50_ms), fmt::format("{:.3f}", speed.p99_ms)});
    table.print(out);
}

void write_speed(JsonWriter& json, const Speed& speed) {
    json.begin_object().field("what", speed.name).key("per_second").number(speed.per_second);
    json.key("p50_ms").number(speed.p50_ms).key("p99_ms").number(speed.p99_ms);
    json.key("count").number(speed.count).end_object();
}

}  // namespace

extern const Flags bench_flags;
const Flags bench_flags = flags;

Result<int> run_bench(Invocation& call) {
    PAL_TRY(seconds, parse_count(call.arguments, "seconds", 2, 600));
    PAL_TRY(writers, parse_count(call.arguments, "writers", 16, 256));
    const std::string mark = "pal-bench-" + hex(random_log_id()).substr(0, 12);
    std::vector<ConversationId> names;
    for (std::uint64_t n = 0; n < writers; ++n)
        names.push_back({call.settings.tenant, mark + "-" + std::to_string(n)});
    auto speeds = measure_all(*call.memory, names, std::chrono::seconds(seconds));
    for (const ConversationId& name : names)
        if (const auto erased = call.memory->erase(name);
            !erased && erased.error().code != ErrorCode::not_found)
            return std::unexpected(erased.error());
    if (!speeds) return std::unexpected(std::move(speeds).error());
    if (!call.json()) print_speeds(call.out, *speeds);
    if (call.json())
        for (const Speed& speed : *speeds) print_json(call.out, write_speed, speed);
    return 0;
}

}  // namespace palimpsest
