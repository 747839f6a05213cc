// What a service will charge for a request, and learning from what it did charge. For models with a
// public vocabulary the count is the answer; for the others each has a calibration, kept as a
// record of the store (space "calibration"), one per model and tokenizer.
#pragma once
#include <string_view>

#include "engine/state.h"
#include "token/estimator.h"
#include "token/request.h"

namespace palimpsest {

// What `begun` sends, by what services charge for.
Result<RequestCount> count_begun(const Memory::State& state, const Begun& begun);

// The tokens that the request is expected to take of the model's window; 0 without a model.
Result<std::uint64_t> expected_tokens(Memory::State& state, const Begun& begun);

// Learns from a reported number of input tokens. Nothing to learn: 0, an exact model, no model.
// Other processes may learn at the same time; none of their samples is lost.
Result<void> learn_usage(Memory::State& state, const Begun& begun, std::uint64_t reported);

// The stored calibration, or the one that every model starts with.
struct StoredCalibration {
    Calibration calibration;
    std::uint64_t version = 0;  // of the record; 0: there is none
};
Result<StoredCalibration> load_calibration(Store& store, const RecordKey& key,
                                           const ModelSpec& model);
Result<void> save_calibration(Store& store, const RecordKey& key, const StoredCalibration& learned);
RecordKey calibration_key(std::string_view tenant, std::string_view model,
                          std::string_view tokenizer);

}  // namespace palimpsest
