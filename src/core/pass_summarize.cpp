// summarize: folds the oldest turns into a summary that stands in their place.
//
// Folds whole turns, oldest first, until the target would be met with the summary counted; inside
// one long turn its oldest groups. Existing summaries are left alone as long as they are small.
#include <algorithm>

#include "core/pass_parameters.h"

namespace palimpsest {

Result<PassFunction> make_summarize(const JsonValue& parameters);

namespace {

struct Options {
    std::size_t keep_turns = 1;
    SummaryOrder order = {};
};

std::uint64_t tokens_in(const PassInput& input, const Group& group) {
    std::uint64_t sum = 0;
    for (std::size_t i = group.first; i <= group.last; ++i) sum += input.tokens[i];
    return sum;
}

PassResult fold(PassInput input, const Options& options) {
    if (!input.has_target) input.target = input.used / 2;
    PassResult result;
    if (!input.tools) return result;
    PlannedEdit edit;
    edit.treatment = Treatment::folded;
    edit.reason = "folded into a summary";
    edit.summary = options.order;
    edit.tokens_after = options.order.max_tokens;
    std::uint64_t used = input.used + options.order.max_tokens;
    for (const Turn& turn : input.turns) {
        if (used <= input.target) break;
        for (std::size_t g = turn.first; g <= turn.last; ++g) {
            if (input.shields[g] != Shield::none) continue;
            edit.groups.push_back(g);
            used -= tokens_in(input, input.groups[g]);
        }
    }
    result.not_enough_history = edit.groups.empty();
    if (!edit.groups.empty()) result.edits.push_back(std::move(edit));
    return result;
}

}  // namespace

Result<PassFunction> make_summarize(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {"keep_turns", "max_tokens", "model", "prefix"}));
    Options options;
    PAL_TRY(most, count_field(parameters, "max_tokens"));
    PAL_TRY(model, text_field(parameters, "model"));
    PAL_TRY(prefix, text_field(parameters, "prefix"));
    options.order.max_tokens = static_cast<std::uint32_t>(most.value_or(300));
    options.order.model = model.value_or("");
    options.order.prefix = prefix.value_or("[summary]");
    return PassFunction([options](const PassInput& input) { return fold(input, options); });
}

}  // namespace palimpsest
