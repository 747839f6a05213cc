#include "engine/calibrations.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/json.h"
#include "base/json_write.h"

namespace palimpsest {
namespace {

constexpr int attempts_max = 8;
constexpr std::uint64_t quick_samples = 32;      // The first ones teach the most: they never wait.
constexpr std::size_t waiting_samples = 10'000;  // Of a store that cannot be written to.
constexpr std::size_t known_most = 1000;  // More, and those that nobody used lately are forgotten.

std::string write_state(const Calibration::State& state) {
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    writer.key("samples").number(state.samples);
    writer.key("error").number(state.error);
    writer.key("weights").begin_array();
    for (const double weight : state.weights) writer.number(weight);
    writer.end_array().key("spread").begin_array();
    for (const auto& row : state.spread)
        for (const double value : row) writer.number(value);
    writer.end_array().end_object();
    return out;
}

// Fills `out` from a list of just as many numbers.
template <class Out>
bool read_numbers(const std::optional<JsonValue>& list, Out first, std::size_t size) {
    if (!list || list->size() != size) return false;
    for (const JsonValue value : list->elements()) {
        if (!value.number()) return false;
        *first++ = *value.number();
    }
    return true;
}

// None when the record is of another form, such as an older one: learning starts anew.
std::optional<Calibration::State> read_state(std::string_view json) {
    const auto document = parse_json(json);
    if (!document) return {};
    const JsonValue root = document->root();
    constexpr std::size_t terms = Calibration::terms;
    Calibration::State state;
    std::array<double, terms * terms> spread{};
    const auto samples = root.find("samples");
    const auto error = root.find("error");
    if (!samples || !error || !samples->integer() || !error->number()) return {};
    if (!read_numbers(root.find("weights"), state.weights.begin(), terms)) return {};
    if (!read_numbers(root.find("spread"), spread.begin(), spread.size())) return {};
    for (std::size_t i = 0; i < spread.size(); ++i) state.spread[i / terms][i % terms] = spread[i];
    state.samples = static_cast<std::uint64_t>(std::max<std::int64_t>(*samples->integer(), 0));
    state.error = *error->number();
    return state;
}

Result<void> save_calibration(Store& store, const RecordKey& key,
                              const StoredCalibration& learned) {
    RecordWrite write;
    write.key = key;
    write.value = write_state(learned.calibration.state());
    write.expected = learned.version;
    PAL_CHECK(store.put_record(write));
    return {};
}

void learn_all(Calibration& calibration, const std::vector<CalibrationSample>& samples) {
    for (const CalibrationSample& sample : samples)
        calibration.learn(sample.count, sample.reported);
}

// The record as it is afterwards.
Result<Calibration> add_samples(Store& store, const RecordKey& key, const Calibration& start,
                                const std::vector<CalibrationSample>& samples) {
    for (int attempt = 1;; ++attempt) {
        PAL_TRY(stored, load_calibration(store, key, start));
        learn_all(stored.calibration, samples);
        const auto saved = save_calibration(store, key, stored);
        if (saved) return stored.calibration;
        if (saved.error().code != ErrorCode::conflict || attempt == attempts_max)
            return std::unexpected(saved.error());
    }
}

}  // namespace

RecordKey calibration_key(std::string_view tenant, std::string_view model,
                          std::string_view tokenizer) {
    return {std::string(tenant), "calibration", std::string(model) + " " + std::string(tokenizer)};
}

Result<StoredCalibration> load_calibration(Store& store, const RecordKey& key,
                                           const Calibration& start) {
    StoredCalibration stored{start, 0};
    const auto record = store.get_record(key);
    if (!record && record.error().code != ErrorCode::not_found)
        return std::unexpected(record.error());
    if (!record) return stored;
    stored.version = record->version;
    if (const auto state = read_state(record->value)) stored.calibration = Calibration(*state);
    return stored;
}

// The lock is held.
void Calibrations::take(const RecordKey& key, const Calibration& start, const Calibration& stored) {
    const Instant now = std::chrono::steady_clock::now();
    if (known_.size() >= known_most)
        std::erase_if(known_, [&](const auto& one) {
            return one.second.waiting.empty() && now - one.second.read > between_writes;
        });
    Known& known = known_.try_emplace(key, Known{start, stored}).first->second;
    known.start = start;
    known.calibration = stored;
    learn_all(known.calibration, known.waiting);
    known.read = now;
}

Result<Calibration> Calibrations::find(Store& store, const RecordKey& key,
                                       const Calibration& start) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(key);
        if (found != known_.end() &&
            std::chrono::steady_clock::now() - found->second.read < between_writes)
            return found->second.calibration;
    }
    PAL_TRY(stored, load_calibration(store, key, start));
    const std::lock_guard lock(mutex_);
    take(key, start, stored.calibration);
    return known_.at(key).calibration;
}

Result<Calibration> Calibrations::learn(Store& store, const RecordKey& key,
                                        const Calibration& start, const CalibrationSample& sample) {
    PAL_CHECK(find(store, key, start));
    bool due = false;
    Calibration learned = start;
    {
        const std::lock_guard lock(mutex_);
        Known& known = known_.at(key);
        known.calibration.learn(sample.count, sample.reported);
        if (known.waiting.size() < waiting_samples) known.waiting.push_back(sample);
        learned = known.calibration;
        due = learned.state().samples <= quick_samples ||
              std::chrono::steady_clock::now() - written_ > between_writes;
    }
    if (due) write(store);
    return learned;
}

void Calibrations::write(Store& store) {
    std::map<RecordKey, Known> waiting;
    {
        const std::lock_guard lock(mutex_);
        written_ = std::chrono::steady_clock::now();
        for (auto& [key, known] : known_) {
            if (known.waiting.empty()) continue;
            Known& out =
                waiting.try_emplace(key, Known{known.start, known.calibration}).first->second;
            out.waiting.swap(known.waiting);
        }
    }
    for (auto& [key, known] : waiting) {
        const auto saved = add_samples(store, key, known.start, known.waiting);
        const std::lock_guard lock(mutex_);
        if (saved) take(key, known.start, *saved);
        // Of an unknown outcome it may have been learned: rather once too few than twice.
        if (saved || saved.error().code == ErrorCode::outcome_unknown) continue;
        std::vector<CalibrationSample>& back = known_.at(key).waiting;
        back.insert(back.begin(), known.waiting.begin(), known.waiting.end());
    }
}

}  // namespace palimpsest
