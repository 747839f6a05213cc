// What models were found to charge: records of the store (space "calibration"), one per tenant,
// model and tokenizer, and what this process knows of them.
//
// A sample of a call is in force here at once and waits for the next write, which puts many of them
// into the record together: a turn need not wait for the disk for it. Other processes may write at
// the same time; none of their samples is lost. Those that still wait when a process is killed are.
#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/store.h"
#include "token/estimator.h"

namespace palimpsest {

// The stored calibration, or the one that its model starts with.
struct StoredCalibration {
    Calibration calibration;
    std::uint64_t version = 0;  // of the record; 0: there is none
};
Result<StoredCalibration> load_calibration(Store& store, const RecordKey& key,
                                           const Calibration& start);
RecordKey calibration_key(std::string_view tenant, std::string_view model,
                          std::string_view tokenizer);

struct CalibrationSample {
    RequestCount count = {};
    std::uint64_t reported = 0;
};

class Calibrations {
public:
    // As the store had it a few seconds ago at most, with what was learned here since.
    Result<Calibration> find(Store& store, const RecordKey& key, const Calibration& start);
    // Gives the calibration after it. Writes when it is time to.
    Result<Calibration> learn(Store& store, const RecordKey& key, const Calibration& start,
                              const CalibrationSample& sample);
    // What cannot be written now waits for the next time.
    void write(Store& store);

private:
    using Instant = std::chrono::steady_clock::time_point;
    struct Known {
        Calibration start, calibration;
        Instant read = {};
        std::vector<CalibrationSample> waiting = {};
    };
    void take(const RecordKey& key, const Calibration& start, const Calibration& stored);

    static constexpr auto between_writes = std::chrono::seconds(5);
    std::mutex mutex_;  // Guards all below.
    std::map<RecordKey, Known> known_;
    Instant written_ = std::chrono::steady_clock::now();
};

}  // namespace palimpsest
