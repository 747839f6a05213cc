// select_relevant: keeps what the latest question is about, by BM25 over the conversation itself,
// and drops the rest, down to the target.
//
// The choice is an entry of the log like any other and stands until the next compaction: it is
// never made anew at every call, which would cost the provider's cache each time.
#include <algorithm>

#include "core/bm25.h"
#include "core/pass_parameters.h"
#include "core/summary.h"

namespace palimpsest {

Result<PassFunction> make_select_relevant(const JsonValue& parameters);

namespace {

std::string latest_question(const PassInput& input) {
    for (std::size_t i = input.items.size(); i-- > 0;) {
        const Item& item = input.items[i];
        if (item.kind != ItemKind::summary && item.message.shape.role == Role::user &&
            item.message.shape.text)
            return flatten(item, *input.tools);
    }
    return {};
}

PassResult select(const PassInput& given, std::size_t keep_turns) {
    PassResult result;
    if (!given.tools) return result;
    PassInput input = given;
    if (!input.has_target) input.target = input.used / 2;
    const std::size_t recent = keep_turns == 0 ? input.groups.size()
                               : keep_turns >= input.turns.size()
                                   ? 0
                                   : input.turns[input.turns.size() - keep_turns].first;
    std::vector<std::string> texts(input.groups.size());
    std::vector<std::uint64_t> sizes(input.groups.size());
    for (std::size_t g = 0; g < input.groups.size(); ++g)
        for (std::size_t i = input.groups[g].first; i <= input.groups[g].last; ++i) {
            texts[g] += flatten(input.items[i], *input.tools);
            sizes[g] += input.tokens[i];
        }
    const std::vector<double> scores = bm25_scores(texts, latest_question(input));
    // The least relevant go first; of equals the oldest.
    std::vector<std::size_t> order;
    for (std::size_t g = 0; g < recent; ++g)
        if (input.shields[g] == Shield::none) order.push_back(g);
    std::ranges::stable_sort(order, {}, [&](std::size_t g) { return scores[g]; });
    PlannedEdit edit;
    edit.reason = "not about the latest question";
    std::uint64_t used = input.used;
    for (const std::size_t g : order) {
        if (used <= input.target) break;
        used -= sizes[g];
        edit.groups.push_back(g);
    }
    std::ranges::sort(edit.groups);
    result.not_enough_history = edit.groups.empty();
    if (!edit.groups.empty()) result.edits.push_back(std::move(edit));
    return result;
}

}  // namespace

Result<PassFunction> make_select_relevant(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {"keep_turns"}));
    PAL_TRY(keep, count_field(parameters, "keep_turns"));
    return PassFunction(
        [keep = keep.value_or(1)](const PassInput& input) { return select(input, keep); });
}

}  // namespace palimpsest
