#include "engine/calibrate.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"
#include "engine/count.h"

namespace palimpsest {
namespace {

constexpr int attempts_max = 8;

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

std::uint32_t tools_in(std::string_view json) {
    const auto document = parse_json(json.empty() ? "[]" : json);
    return document ? static_cast<std::uint32_t>(document->root().size()) : 0;
}

Result<void> add_message(const Tokenizer& tokenizer, const Message& message, RequestCount& count) {
    Count tokens = message.count;
    if (tokens.scheme != tokenizer.scheme()) {
        PAL_TRY(counted, count_message(tokenizer, message));
        tokens = counted;
    }
    count.messages += tokens.tokens;
    ++count.shape.messages;
    count.shape.calls += static_cast<std::uint32_t>(message.shape.calls.size());
    count.shape.results += static_cast<std::uint32_t>(message.shape.results.size());
    return {};
}

// What the view costs was summed when it was made: a long one is not walked for it.
ViewTotals totals_for(const Memory::State& state, const Begun& begun) {
    const Tokenizer& tokenizer = state.measures->tokenizer(begun.model);
    if (&tokenizer == state.tokenizer.get()) return begun.view.totals;
    const HotViewPtr hot = state.hot->find(begun.name);
    const bool same = hot && !begun.view.preview && hot->leads_to(begun.view.header) &&
                      hot->header.end == begun.view.seq;
    return same ? state.measures->view(begun.model, hot)->totals
                : recounted(tokenizer, begun.view).totals;
}

void add_view(const ViewTotals& sent, RequestCount& count) {
    count.shape.messages += static_cast<std::uint32_t>(sent.messages);
    count.shape.calls += static_cast<std::uint32_t>(sent.calls);
    count.shape.results += static_cast<std::uint32_t>(sent.results);
    count.messages += sent.tokens;
}

}  // namespace

Result<RequestCount> count_begun(const Memory::State& state, const Begun& begun) {
    const ModelSpec& model = state.models->find(begun.model);
    const Tokenizer& tokenizer = state.measures->tokenizer(begun.model);
    RequestCount count;
    for (const Message& message : begun.preamble) PAL_CHECK(add_message(tokenizer, message, count));
    add_view(totals_for(state, begun), count);
    count.shape.tools = tools_in(begun.tools);
    if (count.shape.tools != 0) count.tools = tokenizer.count(begun.tools);
    const Overheads& added = model.overheads;
    const auto times = [](std::uint64_t number, std::int32_t each) {
        return number * static_cast<std::uint64_t>(std::max(each, 0));
    };
    count.overhead = times(1, added.per_request) + times(count.shape.messages, added.per_message) +
                     times(count.shape.calls, added.per_call) +
                     times(count.shape.results, added.per_result);
    if (count.shape.tools != 0) count.tool_overhead = times(1, added.tools);
    return count;
}

RecordKey calibration_key(std::string_view tenant, std::string_view model,
                          std::string_view tokenizer) {
    return {std::string(tenant), "calibration", std::string(model) + " " + std::string(tokenizer)};
}

Result<StoredCalibration> load_calibration(Store& store, const RecordKey& key,
                                           const ModelSpec& model) {
    StoredCalibration stored{Calibration(model), 0};
    const auto record = store.get_record(key);
    if (!record && record.error().code != ErrorCode::not_found)
        return std::unexpected(record.error());
    if (!record) return stored;
    stored.version = record->version;
    if (const auto state = read_state(record->value)) stored.calibration = Calibration(*state);
    return stored;
}

Result<void> save_calibration(Store& store, const RecordKey& key,
                              const StoredCalibration& learned) {
    RecordWrite write;
    write.key = key;
    write.value = write_state(learned.calibration.state());
    write.expected = learned.version;
    PAL_TRY(version, store.put_record(write));
    (void)version;
    return {};
}

Result<std::uint64_t> expected_tokens(Memory::State& state, const Begun& begun) {
    if (begun.model.empty()) return 0;
    const ModelSpec& model = state.models->find(begun.model);
    PAL_TRY(count, count_begun(state, begun));
    if (model.exact) return count.total();
    const RecordKey key = calibration_key(begun.name.tenant, begun.model, state.tokenizer->name());
    PAL_TRY(stored, load_calibration(*state.store, key, model));
    return stored.calibration.estimate(count);
}

Result<void> learn_usage(Memory::State& state, const Begun& begun, std::uint64_t reported) {
    if (reported == 0 || begun.model.empty()) return {};
    const ModelSpec& model = state.models->find(begun.model);
    if (model.exact) return {};
    PAL_TRY(count, count_begun(state, begun));
    const RecordKey key = calibration_key(begun.name.tenant, begun.model, state.tokenizer->name());
    for (int attempt = 1;; ++attempt) {
        PAL_TRY(stored, load_calibration(*state.store, key, model));
        stored.calibration.learn(count, reported);
        state.meters->set_estimate_error(begun.model, stored.calibration.state().error);
        const auto saved = save_calibration(*state.store, key, stored);
        if (saved || saved.error().code != ErrorCode::conflict || attempt == attempts_max)
            return saved;
    }
}

}  // namespace palimpsest
