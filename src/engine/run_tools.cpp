#include "engine/run_tools.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/json.h"
#include "base/json_schema.h"
#include "base/utf8.h"

namespace palimpsest {
namespace {

constexpr std::size_t raw_shown_max = 1024;
constexpr std::size_t threads_max = 16;

using Run = std::function<Result<std::string>(std::string_view, std::stop_token)>;

CallResult error_result(const PendingCall& call, std::string_view text) {
    return {call.id, "Error: " + std::string(text), true};
}

std::string_view arguments_of(const PendingCall& call) {
    // Some servers send nothing for a tool without parameters.
    return call.arguments.find_first_not_of(" \t\r\n") == std::string::npos
               ? std::string_view("{}")
               : std::string_view(call.arguments);
}

Result<std::string> guarded(const Run& run, std::string_view arguments, std::stop_token stop) {
    try {
        return run(arguments, std::move(stop));
    } catch (const std::exception& thrown) {
        return fail(ErrorCode::internal, thrown.what());
    } catch (...) {
        return fail(ErrorCode::internal, "the tool threw something that is not an exception");
    }
}

// What a tool's own thread and whoever waits for it share. It outlives both.
struct Running {
    std::mutex mutex = {};
    std::condition_variable ended = {};
    std::optional<Result<std::string>> result = {};
    std::stop_source stop = {};
};

Result<std::string> run_within(const Tool& tool, std::string_view arguments,
                               const std::stop_token& stop) {
    const auto running = std::make_shared<Running>();
    const std::stop_callback pass_on(stop, [&] { running->stop.request_stop(); });
    std::thread([running, run = tool.run, text = std::string(arguments)] {
        auto result = guarded(run, text, running->stop.get_token());
        const std::scoped_lock lock(running->mutex);
        running->result = std::move(result);
        running->ended.notify_all();
    }).detach();
    std::unique_lock lock(running->mutex);
    if (running->ended.wait_for(lock, tool.timeout, [&] { return running->result.has_value(); }))
        return *std::move(running->result);
    lock.unlock();
    running->stop.request_stop();
    return fail(ErrorCode::unavailable, "no result within " + std::to_string(tool.timeout.count()) +
                                            " ms; the tool was asked to stop");
}

CallResult run_one(const ReadyCall& ready, const ChatOptions& options,
                   const std::stop_token& stop) {
    const std::string_view arguments = arguments_of(ready.call);
    auto done = ready.tool->timeout > Duration::zero() ? run_within(*ready.tool, arguments, stop)
                                                       : guarded(ready.tool->run, arguments, stop);
    if (!done) return error_result(ready.call, done.error().message);
    if (done->size() > options.result_bytes_max)
        return error_result(
            ready.call, "the result has " + std::to_string(done->size()) + " bytes, at most " +
                            std::to_string(options.result_bytes_max) + " are taken; ask for less");
    return {ready.call.id, std::move(*done), false};
}

bool together(const ReadyCall& a, const ReadyCall& b) {
    return (a.tool->parallel && b.tool->parallel) || (a.tool->idempotent && b.tool->idempotent);
}

}  // namespace

std::optional<CallResult> refuse_call(const PendingCall& call, const Tool* tool) {
    if (!tool) return error_result(call, "tool not found");
    const auto malformed = [&](const Error& error) {
        return error_result(call,
                            "the arguments are malformed, the tool was not run: " + error.message +
                                "; what came: " + to_utf8(call.arguments.substr(0, raw_shown_max)));
    };
    const auto arguments = parse_json(arguments_of(call));
    if (!arguments) return malformed(arguments.error());
    if (!arguments->root().is_object())
        return malformed({ErrorCode::invalid_request, "a JSON object is expected"});
    if (tool->schema.empty()) return std::nullopt;
    const auto schema = parse_json(tool->schema);
    if (!schema) return std::nullopt;  // Checked before the turn began.
    const auto fits = check_own_schema(schema->root(), arguments->root());
    return fits ? std::nullopt : std::optional(malformed(fits.error()));
}

std::vector<std::vector<ReadyCall>> split_waves(std::vector<ReadyCall> calls) {
    std::vector<std::vector<ReadyCall>> waves;
    for (ReadyCall& ready : calls) {
        if (waves.empty() || !together(waves.back().back(), ready)) waves.emplace_back();
        waves.back().push_back(std::move(ready));
    }
    return waves;
}

std::vector<CallResult> run_wave(std::span<const ReadyCall> wave, const ChatOptions& options,
                                 const std::stop_token& stop) {
    std::vector<CallResult> results(wave.size());
    std::size_t next = 0;
    while (next < wave.size()) {
        std::size_t end = next + 1;
        if (wave[next].tool->parallel)
            while (end < wave.size() && end - next < threads_max && wave[end].tool->parallel) ++end;
        std::vector<std::jthread> threads;
        for (std::size_t i = next + 1; i < end; ++i)
            threads.emplace_back([&, i] { results[i] = run_one(wave[i], options, stop); });
        results[next] = run_one(wave[next], options, stop);
        threads.clear();
        next = end;
    }
    return results;
}

}  // namespace palimpsest
