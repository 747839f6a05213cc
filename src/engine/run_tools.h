// Running tools: calls in, results out. Nothing a tool does leaves this as anything but a result.
#pragma once
#include <span>
#include <vector>

#include "engine/tool_calls.h"

namespace palimpsest {

// A call that may run: its tool is known and its arguments fit.
struct ReadyCall {
    PendingCall call = {};
    const Tool* tool = nullptr;
};

// What becomes of a call without running it: null, or the result that says why it cannot run.
std::optional<CallResult> refuse_call(const PendingCall& call, const Tool* tool);

// Neighbours that may be started together: all parallel, or all idempotent.
std::vector<std::vector<ReadyCall>> split_waves(std::vector<ReadyCall> calls);

// The results in the order of the calls. Parallel ones run at the same time.
std::vector<CallResult> run_wave(std::span<const ReadyCall> wave, const ChatOptions& options,
                                 const std::stop_token& stop);

}  // namespace palimpsest
