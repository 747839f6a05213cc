// What a service will charge for a request, and learning from what it did charge. For models with a
// public vocabulary the count is the answer; each of the others has a calibration.
#pragma once
#include "engine/state.h"
#include "token/request.h"

namespace palimpsest {

// What `begun` sends, by what services charge for.
Result<RequestCount> count_begun(const Memory::State& state, const Begun& begun);

// The tokens that the request is expected to take of the model's window; 0 without a model.
Result<std::uint64_t> expected_tokens(Memory::State& state, const Begun& begun);

// Learns from a reported number of input tokens. Nothing to learn: 0, an exact model, no model.
Result<void> learn_usage(Memory::State& state, const Begun& begun, std::uint64_t reported);

}  // namespace palimpsest
