#include "engine/calibrate.h"

#include <algorithm>

#include "base/json.h"
#include "engine/count.h"
#include "token/tool_tokens.h"

namespace palimpsest {
namespace {

std::uint32_t tools_in(std::string_view json) {
    const auto document = parse_json(json.empty() ? "[]" : json);
    return document ? static_cast<std::uint32_t>(document->root().size()) : 0;
}

// Messages were counted with what is around calls and results. What it is is learned for models
// that are estimated, so there it stands beside them.
void set_calls_apart(const Overheads& added, RequestCount& count) {
    const std::uint64_t counted = calls_in_blocks.per_call * count.shape.calls +
                                  calls_in_blocks.per_result * count.shape.results;
    count.messages -= std::min(count.messages, counted);
    const auto times = [](std::uint64_t number, std::int32_t each) {
        return number * static_cast<std::uint64_t>(std::max(each, 0));
    };
    count.overhead +=
        times(count.shape.calls, added.per_call) + times(count.shape.results, added.per_result);
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
    const ToolTokens tools = tool_tokens(model, tokenizer, begun.tools, !begun.preamble.empty());
    count.tools = tools.declared;
    count.tool_overhead = tools.having;
    const Overheads& added = model.overheads;
    count.overhead = static_cast<std::uint64_t>(std::max(added.per_request, 0)) +
                     around_message(added) * count.shape.messages;
    if (!model.exact) set_calls_apart(added, count);
    return count;
}

Result<std::uint64_t> expected_tokens(Memory::State& state, const Begun& begun) {
    if (begun.model.empty()) return 0;
    const ModelSpec& model = state.models->find(begun.model);
    PAL_TRY(count, count_begun(state, begun));
    if (model.exact) return count.total();
    const RecordKey key = calibration_key(begun.name.tenant, begun.model, state.tokenizer->name());
    PAL_TRY(calibration, state.calibrations->find(*state.store, key, Calibration(model)));
    return calibration.estimate(count);
}

Result<void> learn_usage(Memory::State& state, const Begun& begun, std::uint64_t reported) {
    if (reported == 0 || begun.model.empty()) return {};
    const ModelSpec& model = state.models->find(begun.model);
    if (model.exact) return {};
    PAL_TRY(count, count_begun(state, begun));
    const RecordKey key = calibration_key(begun.name.tenant, begun.model, state.tokenizer->name());
    PAL_TRY(learned,
            state.calibrations->learn(*state.store, key, Calibration(model), {count, reported}));
    state.meters->set_estimate_error(model.name.empty() ? "other" : model.name,
                                     learned.state().error);
    return {};
}

}  // namespace palimpsest
