// clear_tool_results: old tool results become placeholders; calls, names and ids stay.
//
// Errors stay unless told otherwise, and so does what is cleared already. Oldest first, down to the
// target. tool_pass.h says which results are taken.
#include <algorithm>
#include <memory>
#include <numeric>

#include "core/identifiers.h"
#include "core/pass.h"
#include "core/pass_parameters.h"
#include "core/placeholder.h"
#include "core/tool_pass.h"
#include "core/tool_uses.h"

namespace palimpsest {

Result<PassFunction> make_clear_tool_results(const JsonValue& parameters);

namespace {

constexpr std::uint32_t placeholder_tokens = 45;  // About: names and ids differ.
constexpr std::uint32_t identifier_tokens = 5;

struct Options : ToolChoice {
    bool keep_errors = true;
    std::size_t keep_identifiers = 0;
};

// What of the view may be cleared: the items of one message each, oldest first.
struct Candidates {
    std::vector<std::size_t> items = {};
    // By item: how many of its results, counted from its last one, are among those to keep.
    std::vector<std::pair<std::size_t, std::size_t>> partly_kept = {};

    std::size_t kept_in(std::size_t item) const {
        const auto at =
            std::ranges::find(partly_kept, item, &std::pair<std::size_t, std::size_t>::first);
        return at == partly_kept.end() ? 0 : at->second;
    }
};

std::size_t results_in(const PassInput& input, std::size_t i) {
    const Message& message = input.items[i].message;
    if (!message.shape.results.empty()) return message.shape.results.size();
    if (!input.tools->may_hold_results(message)) return 0;
    return hosted_results(message);
}

Candidates find_candidates(const PassInput& input, const Options& options) {
    Candidates out;
    const std::size_t border = options.kept_from(input);
    std::size_t uses = 0;  // results seen, from the newest on
    const std::size_t keep = options.keep_tool_uses.value_or(SIZE_MAX);
    for (std::size_t g = input.groups.size(); g-- > input.first_lasting;) {
        const Group& group = input.groups[g];
        for (std::size_t i = group.last + 1; i-- > group.first;) {
            const std::size_t results = results_in(input, i);
            if (results == 0) continue;
            const std::size_t before = uses;
            uses += results;
            const std::size_t kept = g >= border && before < keep ? keep - before : 0;
            if (input.shields[g] > Shield::stays || kept >= results) continue;
            if (is_cleared(input, i, "tool output")) continue;
            if (options.min_tokens && input.tokens[i] < *options.min_tokens) continue;
            if (kept > 0) out.partly_kept.emplace_back(i, kept);
            out.items.push_back(i);
        }
    }
    std::reverse(out.items.begin(), out.items.end());
    return out;
}

std::string cleared_text(const ContentPart& part, std::string_view tool, const Options& options) {
    std::string text = placeholder("output", tool, part.id);
    const auto kept = find_identifiers(part.text, options.keep_identifiers);
    for (std::size_t n = 0; n < kept.size(); ++n)
        text += (n == 0 ? " kept: " : ", ") + std::string(kept[n]);
    return text;
}

std::vector<PartChange> changes_of(const PassInput& input, std::size_t i, std::size_t kept,
                                   const Content& content, const Options& options) {
    std::size_t results = 0;
    for (const ContentPart& part : content.parts)
        results += part.kind == ContentKind::tool_result ? 1 : 0;
    const Group& group = input.groups[group_of(input.groups, i)];
    std::vector<PartChange> changes;
    std::size_t seen = 0;
    for (std::size_t p = 0; p < content.parts.size(); ++p) {
        const ContentPart& part = content.parts[p];
        if (part.kind != ContentKind::tool_result) continue;
        if (++seen + kept > results || !part.can_change) continue;
        if (options.keep_errors && part.is_error) continue;
        if (part.text.starts_with(placeholder_mark)) continue;
        const std::string tool =
            part.tool.empty() ? tool_of(input, group, part.id) : std::string(part.tool);
        if (!options.takes(tool, part.hosted)) continue;
        changes.push_back({p, cleared_text(part, tool, options)});
        for (std::size_t m = 0; m < content.parts.size(); ++m)  // Its pictures go with it.
            if (content.parts[m].kind == ContentKind::media && content.parts[m].id == part.id)
                changes.push_back({m, std::nullopt});
    }
    return changes;
}

// About what is left of a message whose results all go, and that holds nothing else.
std::uint32_t estimate(const PassInput& input, std::size_t i, const Options& options) {
    const std::uint32_t before = input.tokens[i];
    const auto results = static_cast<std::uint32_t>(input.items[i].message.shape.results.size());
    const auto listed = static_cast<std::uint32_t>(
        std::min<std::size_t>(options.keep_identifiers * identifier_tokens, before / 3));
    const std::uint32_t after = results * placeholder_tokens + listed;
    return options.may_grow() ? after : std::min(after, before);
}

// What each part takes of its message, in bytes. Those of a picture say nothing of what it counts,
// so where there is one it is in tokens: those of the words, and what is left for the pictures.
std::vector<double> weights_of(const PassInput& input, std::size_t i, const Content& content) {
    const auto is_media = [](const ContentPart& part) { return part.kind == ContentKind::media; };
    const auto pictures = std::ranges::count_if(content.parts, is_media);
    std::vector<double> weights;
    double words = 0;
    for (const ContentPart& part : content.parts) {
        const bool counted = pictures > 0 && !is_media(part) && !part.text.empty();
        weights.push_back(counted ? static_cast<double>(input.tools->count_text(part.text))
                                  : static_cast<double>(part.bytes) / (pictures > 0 ? 4 : 1));
        if (!is_media(part)) words += weights.back();
    }
    const double each = std::max(0.0, input.tokens[i] - words) / static_cast<double>(pictures);
    for (std::size_t p = 0; p < weights.size(); ++p)
        if (is_media(content.parts[p])) weights[p] = each;
    return weights;
}

// The same of any message, by the weight of what goes. None: nothing does.
std::optional<std::uint32_t> estimate_read(const PassInput& input, std::size_t i, std::size_t kept,
                                           const Options& options) {
    const auto content = input.tools->read(input.items[i].message);
    if (!content) return std::nullopt;
    const std::vector<PartChange> changes = changes_of(input, i, kept, *content, options);
    if (changes.empty()) return std::nullopt;
    const std::vector<double> weights = weights_of(input, i, *content);
    double going = 0, added = 0;
    for (const PartChange& change : changes) {
        going += weights[change.part];
        if (change.text) added += static_cast<double>(input.tools->count_text(*change.text));
    }
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (all <= 0) return std::nullopt;
    const double share = std::min(1.0, going / all);
    return static_cast<std::uint32_t>(input.tokens[i] * (1 - share) + added);
}

// About what is left of the message, and none when nothing of it may go. Most hold one result of
// any tool and nothing else: those are not read.
std::optional<std::uint32_t> tokens_left(const PassInput& input, std::size_t i, std::size_t kept,
                                         const Options& options) {
    const Shape& shape = input.items[i].message.shape;
    const bool error = options.keep_errors && input.tools->has_error(input.items[i].message);
    if (error && shape.results.size() == 1) return std::nullopt;
    const bool plain = !shape.results.empty() && !shape.text && shape.media == 0 && kept == 0;
    if (plain && !error && options.takes_all()) return estimate(input, i, options);
    return estimate_read(input, i, kept, options);
}

PassResult clear(const PassInput& input, const Options& options) {
    PassResult result;
    if (!input.tools) return result;
    auto candidates = std::make_shared<const Candidates>(find_candidates(input, options));
    std::uint64_t used = input.used;
    for (const std::size_t i : candidates->items) {
        if (used <= input.target) break;
        const auto left = tokens_left(input, i, candidates->kept_in(i), options);
        if (!left || (!options.may_grow() && *left >= input.tokens[i])) continue;
        PlannedEdit edit;
        edit.treatment = Treatment::cleared;
        edit.item = i;
        edit.tokens_after = *left;
        edit.reason = "old tool result";
        used = used - input.tokens[i] + edit.tokens_after;
        result.edits.push_back(std::move(edit));
    }
    result.may_grow = options.may_grow();
    const auto first = static_cast<std::ptrdiff_t>(input.first_lasting);
    result.rewrite =
        [input, options, candidates,
         groups = std::vector<Group>(input.groups.begin() + first, input.groups.end())](
            std::size_t item, const Message& message) -> Result<std::vector<PartChange>> {
        PassInput then = input;  // The groups of that moment: later passes take some away.
        then.groups = groups;
        PAL_TRY(content, then.tools->read(message));
        return changes_of(then, item, candidates->kept_in(item), content, options);
    };
    return result;
}

}  // namespace

Result<PassFunction> make_clear_tool_results(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters,
                               {"keep_turns", "keep_tool_uses", "include_tools", "exclude_tools",
                                "keep_errors", "min_tokens", "keep_identifiers"}));
    Options options;
    PAL_TRY(choice, read_tool_choice(parameters));
    static_cast<ToolChoice&>(options) = choice;
    PAL_TRY(errors, flag_field(parameters, "keep_errors"));
    PAL_TRY(identifiers, count_field(parameters, "keep_identifiers"));
    options.keep_errors = errors.value_or(true);
    options.keep_identifiers = identifiers.value_or(0);
    return PassFunction([options](const PassInput& input) { return clear(input, options); });
}

}  // namespace palimpsest
