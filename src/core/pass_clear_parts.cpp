// clear_reasoning and clear_media: parts that are large and of little use once their turn is over.
//
// Reasoning is taken out whole (a shortened one is refused by providers), of older turns only.
// Media become a word in brackets, so that the message still says that something was there.
#include "core/pass_parameters.h"
#include "core/placeholder.h"

namespace palimpsest {

Result<PassFunction> make_clear_reasoning(const JsonValue& parameters);
Result<PassFunction> make_clear_media(const JsonValue& parameters);

namespace {

// The first group of the newest `count` turns.
std::size_t turns_from(const PassInput& input, std::size_t count) {
    if (count == 0) return input.groups.size();
    return count >= input.turns.size() ? 0 : input.turns[input.turns.size() - count].first;
}

// The newest `count` turns in which the assistant reasoned.
std::size_t reasoning_from(const PassInput& input, std::size_t count) {
    std::size_t border = input.groups.size();
    for (std::size_t t = input.turns.size(); t-- > 0 && count > 0;) {
        bool reasons = false;
        for (std::size_t g = input.turns[t].first; g <= input.turns[t].last; ++g)
            reasons |= input.groups[g].reasoning;
        border = input.turns[t].first;
        if (reasons) --count;
    }
    return border;
}

RewriteFunction rewrite_parts(const PassInput& input, ContentKind kind, bool word) {
    return [tools = input.tools, kind, word](
               std::size_t, const Message& message) -> Result<std::vector<PartChange>> {
        PAL_TRY(content, tools->read(message));
        std::vector<PartChange> changes;
        for (std::size_t p = 0; p < content.parts.size(); ++p) {
            const ContentPart& part = content.parts[p];
            if (part.kind != kind) continue;
            PartChange change{p, std::nullopt};
            if (word) change.text = "[" + std::string(part.tool) + " removed]";
            changes.push_back(std::move(change));
        }
        return changes;
    };
}

PassResult clear_reasoning(const PassInput& input, std::size_t keep) {
    PassResult result;
    if (!input.tools) return result;
    const std::size_t border = reasoning_from(input, keep);
    for (std::size_t g = 0; g < border; ++g) {
        if (input.shields[g] != Shield::none || !input.groups[g].reasoning) continue;
        for (std::size_t i = input.groups[g].first; i <= input.groups[g].last; ++i) {
            const Shape& shape = input.items[i].message.shape;
            if (!shape.reasoning || input.treatments[i] > Treatment::cleared) continue;
            const bool alone = shape.calls.empty() && shape.results.empty() && !shape.text;
            PlannedEdit edit;
            edit.treatment = Treatment::cleared;
            edit.item = i;
            edit.tokens_after = alone ? 0 : input.tokens[i] / 2;
            edit.reason = old_reasoning;
            result.edits.push_back(std::move(edit));
        }
    }
    result.rewrite = rewrite_parts(input, ContentKind::reasoning, false);
    return result;
}

PassResult clear_media(const PassInput& input, std::size_t keep_turns, std::size_t keep) {
    PassResult result;
    if (!input.tools) return result;
    const std::size_t border = turns_from(input, keep_turns);
    std::size_t seen = 0;
    for (std::size_t g = input.groups.size(); g-- > 0;)
        for (std::size_t i = input.groups[g].last + 1; i-- > input.groups[g].first;) {
            const std::size_t media = input.items[i].message.shape.media;
            if (media == 0) continue;
            const bool kept = seen < keep;
            seen += media;
            if (kept || g >= border || input.shields[g] > Shield::stays) continue;
            if (input.treatments[i] > Treatment::cleared) continue;
            PlannedEdit edit;
            edit.treatment = Treatment::cleared;
            edit.item = i;
            edit.tokens_after = input.tokens[i];  // What media cost is not counted by content.
            edit.reason = "old media";
            result.edits.push_back(std::move(edit));
        }
    result.may_grow = true;
    result.rewrite = rewrite_parts(input, ContentKind::media, true);
    return result;
}

}  // namespace

Result<PassFunction> make_clear_reasoning(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {"keep_turns"}));
    PAL_TRY(keep, count_field(parameters, "keep_turns"));
    return PassFunction(
        [keep = keep.value_or(1)](const PassInput& input) { return clear_reasoning(input, keep); });
}

Result<PassFunction> make_clear_media(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {"keep_turns", "keep"}));
    PAL_TRY(turns, count_field(parameters, "keep_turns"));
    PAL_TRY(keep, count_field(parameters, "keep"));
    return PassFunction([turns = turns.value_or(1), keep = keep.value_or(0)](const PassInput& in) {
        return clear_media(in, turns, keep);
    });
}

}  // namespace palimpsest
