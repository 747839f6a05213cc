// clear_reasoning and clear_media: parts that are large and of little use once their turn is over.
//
// Reasoning is taken out whole (a shortened one is refused by providers), of older turns only.
// Media become a word in brackets, so that the message still says that something was there. Both go
// oldest first, down to the target.
#include <algorithm>

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

RewriteFunction without_reasoning(const PassInput& input) {
    return [tools = input.tools](std::size_t,
                                 const Message& message) -> Result<std::vector<PartChange>> {
        PAL_TRY(content, tools->read(message));
        std::vector<PartChange> changes;
        for (std::size_t p = 0; p < content.parts.size(); ++p)
            if (content.parts[p].kind == ContentKind::reasoning)
                changes.push_back({p, std::nullopt});
        return changes;
    };
}

// About. Nothing is left of a message that only reasons.
std::uint32_t tokens_beside_reasoning(const PassInput& input, std::size_t item) {
    const Message& message = input.items[item].message;
    const Shape& shape = message.shape;
    if (shape.calls.empty() && shape.results.empty() && !shape.text) return 0;
    const auto content = input.tools->read(message);
    if (!content) return input.tokens[item];
    std::uint64_t words = input.occasion->budget.per_message;
    for (const ContentPart& part : content->parts)
        if (part.kind != ContentKind::reasoning) words += input.tools->count_text(part.text);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(words, input.tokens[item]));
}

PassResult clear_reasoning(const PassInput& input, std::size_t keep) {
    PassResult result;
    if (!input.tools) return result;
    const std::size_t border = reasoning_from(input, keep);
    std::uint64_t used = input.used;
    for (std::size_t g = 0; g < border && used > input.target; ++g) {
        if (input.shields[g] != Shield::none || !input.groups[g].reasoning) continue;
        for (std::size_t i = input.groups[g].first; i <= input.groups[g].last; ++i) {
            const Shape& shape = input.items[i].message.shape;
            if (!shape.reasoning || input.treatments[i] > Treatment::cleared) continue;
            PlannedEdit edit;
            edit.treatment = Treatment::cleared;
            edit.item = i;
            edit.tokens_after = tokens_beside_reasoning(input, i);
            edit.reason = old_reasoning;
            used -= input.tokens[i] - edit.tokens_after;
            result.edits.push_back(std::move(edit));
        }
    }
    result.rewrite = without_reasoning(input);
    return result;
}

// Media of one item, of which the last `kept` stay.
struct MediaOf {
    std::size_t item = 0, kept = 0;
};

// Oldest first.
std::vector<MediaOf> find_media(const PassInput& input, std::size_t keep_turns, std::size_t keep) {
    std::vector<MediaOf> out;
    const std::size_t border = turns_from(input, keep_turns);
    std::size_t seen = 0;  // from the newest on
    for (std::size_t g = input.groups.size(); g-- > 0;)
        for (std::size_t i = input.groups[g].last + 1; i-- > input.groups[g].first;) {
            const std::size_t media = input.items[i].message.shape.media;
            const std::size_t kept = seen < keep ? keep - seen : 0;
            seen += media;
            if (kept >= media || g >= border || input.shields[g] > Shield::stays) continue;
            if (input.treatments[i] <= Treatment::cleared) out.push_back({i, kept});
        }
    std::ranges::reverse(out);
    return out;
}

std::vector<PartChange> words_for_media(const Content& content, std::size_t kept) {
    std::vector<PartChange> changes;
    for (std::size_t p = 0; p < content.parts.size(); ++p)
        if (content.parts[p].kind == ContentKind::media)
            changes.push_back({p, "[" + std::string(content.parts[p].tool) + " removed]"});
    changes.resize(changes.size() - std::min(kept, changes.size()));
    return changes;
}

// What is left of the message: its words, and a share of what the media take.
std::uint32_t estimate(const PassInput& input, const MediaOf& media) {
    const std::uint32_t before = input.tokens[media.item];
    const auto content = input.tools->read(input.items[media.item].message);
    if (!content) return before;
    std::uint64_t words = input.occasion->budget.per_message, added = 0, all = 0;
    for (const ContentPart& part : content->parts) {
        all += part.kind == ContentKind::media ? 1 : 0;
        if (part.kind != ContentKind::media) words += input.tools->count_text(part.text);
    }
    const std::vector<PartChange> changes = words_for_media(*content, media.kept);
    for (const PartChange& change : changes) added += input.tools->count_text(*change.text);
    const std::uint64_t by_media = before > words ? before - words : 0;
    const std::uint64_t going = all > 0 ? by_media * changes.size() / all : 0;
    return static_cast<std::uint32_t>(before - going + added);
}

PassResult clear_media(const PassInput& input, std::size_t keep_turns, std::size_t keep) {
    PassResult result;
    if (!input.tools) return result;
    std::uint64_t used = input.used;
    std::vector<MediaOf> cleared;  // ascending by item
    for (const MediaOf& media : find_media(input, keep_turns, keep)) {
        if (used <= input.target) break;
        PlannedEdit edit;
        edit.treatment = Treatment::cleared;
        edit.item = media.item;
        edit.tokens_after = estimate(input, media);
        edit.reason = "old media";
        used = used - input.tokens[media.item] + edit.tokens_after;
        result.edits.push_back(std::move(edit));
        cleared.push_back(media);
    }
    result.may_grow = true;
    result.rewrite = [tools = input.tools, cleared](
                         std::size_t item,
                         const Message& message) -> Result<std::vector<PartChange>> {
        PAL_TRY(content, tools->read(message));
        const auto at = std::ranges::lower_bound(cleared, item, {}, &MediaOf::item);
        return words_for_media(content, at->kept);
    };
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
