// shorten: cuts the middle out of huge texts and payloads and says what was left out.
//
// With `max_tokens` every message above it comes down to it, oldest first, until the target is met.
// Without, the largest messages come down together to the level at which the target is met: those
// that may be cleared first, then the newest group and the latest user message too, because one
// message larger than the window must not end a conversation. Pinned messages keep their bytes.
#include <algorithm>

#include "base/json_write.h"
#include "core/pass_parameters.h"
#include "core/shorten_text.h"

namespace palimpsest {

Result<PassFunction> make_shorten(const JsonValue& parameters);

namespace {

constexpr std::uint32_t least_tokens = 48;  // A note of what was left out takes about half of it.

struct Candidate {
    std::size_t item = 0;
    std::uint32_t tokens = 0;
    bool free = false;
};

std::vector<Candidate> find_candidates(const PassInput& input) {
    std::vector<Candidate> out;
    for (std::size_t g = 0; g < input.groups.size(); ++g) {
        if (input.shields[g] == Shield::verbatim) continue;
        for (std::size_t i = input.groups[g].first; i <= input.groups[g].last; ++i)
            if (input.treatments[i] <= Treatment::shortened && input.tokens[i] > least_tokens)
                out.push_back({i, input.tokens[i], input.shields[g] <= Shield::stays});
    }
    return out;
}

// The highest level that, as a cap of all candidates, frees at least `excess`.
std::uint32_t level_for(std::vector<std::uint32_t> sizes, std::uint64_t excess) {
    std::ranges::sort(sizes, std::greater<>());
    sizes.push_back(least_tokens);
    std::uint64_t freed = 0;
    for (std::size_t n = 1; n < sizes.size(); ++n) {
        const std::uint64_t step = std::uint64_t{sizes[n - 1] - sizes[n]} * n;
        if (freed + step >= excess) {
            const std::uint64_t rest = excess - freed;
            return sizes[n - 1] - static_cast<std::uint32_t>((rest + n - 1) / n);
        }
        freed += step;
    }
    return least_tokens;
}

// Arguments that were cut are no JSON any more and are sent as a string in an object: with quotes
// and backslashes written twice.
std::size_t count_wrapped(const MessageTools& tools, std::string_view text) {
    return tools.count_text("{\"removed\":" + json_string(text) + "}");
}

// The text of a part that is cut; of arguments that were cut before the one in that object.
std::string text_to_cut(const ContentPart& part) {
    if (part.kind != ContentKind::tool_call || !part.text.contains(left_out_mark))
        return std::string(part.text);
    const auto arguments = parse_json(part.text);
    const auto removed = arguments ? arguments->root().find("removed") : std::nullopt;
    const bool was_cut = removed && removed->is_string() && arguments->root().size() == 1;
    return std::string(was_cut ? removed->string() : part.text);
}

// A result of a hosted tool may have no place for a text: nothing there could say what was left
// out.
bool takes_text(const MessageTools& tools, const Message& message, std::size_t part) {
    constexpr std::string_view words = "left out: 0 bytes";
    const PartChange change{part, std::string(words)};
    const auto tried = tools.rewrite(message, {&change, 1});
    return tried && view_of(tried->raw).contains(words);
}

// Changes that bring one message down to `cap` tokens: its largest texts first.
std::vector<PartChange> cut_parts(const MessageTools& tools, const Message& message,
                                  const Content& content, std::uint64_t tokens, std::uint64_t cap) {
    struct Size {
        std::size_t part;
        std::uint64_t tokens;
    };
    std::vector<Size> sizes;
    for (std::size_t p = 0; p < content.parts.size(); ++p) {
        const ContentPart& part = content.parts[p];
        const bool cuttable = part.kind == ContentKind::text ||
                              part.kind == ContentKind::tool_result ||
                              part.kind == ContentKind::tool_call ||
                              (part.kind == ContentKind::media && !part.text.empty());
        if (!cuttable || !part.can_change) continue;
        if (part.hosted && !takes_text(tools, message, p)) continue;
        sizes.push_back({p, tools.count_text(part.text)});
    }
    std::ranges::stable_sort(sizes, std::greater<>(), &Size::tokens);
    std::vector<PartChange> changes;
    for (const Size& size : sizes) {
        if (tokens <= cap || size.tokens <= least_tokens / 2) break;
        const std::uint64_t excess = tokens - cap;
        const std::uint64_t most =
            size.tokens > excess + least_tokens / 2 ? size.tokens - excess : least_tokens / 2;
        const bool wrapped = content.parts[size.part].kind == ContentKind::tool_call;
        const auto count = [&](std::string_view text) -> std::size_t {
            return wrapped ? count_wrapped(tools, text) : tools.count_text(text);
        };
        std::string text = shorten_text(text_to_cut(content.parts[size.part]), most, count);
        tokens -= size.tokens - std::min<std::uint64_t>(size.tokens, count(text));
        changes.push_back({size.part, std::move(text)});
    }
    return changes;
}

PassResult result_of(const PassInput& input, const std::vector<PlannedEdit>& edits) {
    PassResult result;
    result.edits = edits;
    std::vector<std::pair<std::size_t, std::uint32_t>> caps;  // ascending by item
    for (const PlannedEdit& edit : edits) caps.emplace_back(edit.item, edit.tokens_after);
    result.rewrite =
        [tools = input.tools, caps = std::move(caps), framing = input.occasion->budget.per_message](
            std::size_t item, const Message& message) -> Result<std::vector<PartChange>> {
        PAL_TRY(content, tools->read(message));
        const auto cap =
            std::ranges::lower_bound(caps, item, {}, &std::pair<std::size_t, std::uint32_t>::first);
        const std::uint32_t most = cap->second > framing ? cap->second - framing : 1;
        return cut_parts(*tools, message, content, message.count.tokens, most);
    };
    return result;
}

PlannedEdit planned(std::size_t item, std::uint32_t before, std::uint32_t after) {
    PlannedEdit edit;
    edit.treatment = Treatment::shortened;
    edit.item = item;
    edit.tokens_after = after;
    edit.reason = "too large: " + std::to_string(before) + " tokens";
    return edit;
}

PassResult shorten_above(const PassInput& input, std::uint32_t cap) {
    std::vector<PlannedEdit> edits;
    std::uint64_t used = input.used;
    for (const Candidate& one : find_candidates(input)) {
        if (used <= input.target) break;
        if (one.tokens <= cap) continue;
        used -= one.tokens - cap;
        edits.push_back(planned(one.item, one.tokens, cap));
    }
    return result_of(input, edits);
}

PassResult shorten_to_target(const PassInput& given) {
    PassInput input = given;
    if (!input.has_target) input.target = input.used / 2;
    const std::vector<Candidate> all = find_candidates(input);
    if (!input.tools || input.used <= input.target) return {};
    std::uint64_t excess = input.used - input.target;
    std::vector<PlannedEdit> edits;
    for (const bool free : {true, false}) {
        std::vector<std::uint32_t> sizes;
        for (const Candidate& one : all)
            if (one.free == free) sizes.push_back(one.tokens);
        if (sizes.empty() || excess == 0) continue;
        const std::uint32_t level = level_for(std::move(sizes), excess);
        for (const Candidate& one : all) {
            if (one.free != free || one.tokens <= level) continue;
            edits.push_back(planned(one.item, one.tokens, level));
            excess -= std::min<std::uint64_t>(excess, one.tokens - level);
        }
    }
    std::ranges::sort(edits, {}, &PlannedEdit::item);
    PassResult result = result_of(input, edits);
    result.not_enough_history = edits.empty();
    return result;
}

}  // namespace

Result<PassFunction> make_shorten(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {"max_tokens"}));
    PAL_TRY(most, count_field(parameters, "max_tokens"));
    if (most && (*most < least_tokens || *most > UINT32_MAX))
        return fail(ErrorCode::invalid_request,
                    "\"max_tokens\" must be at least " + std::to_string(least_tokens),
                    "max_tokens");
    if (!most) return PassFunction(shorten_to_target);
    return PassFunction([cap = static_cast<std::uint32_t>(*most)](const PassInput& input) {
        return input.tools ? shorten_above(input, cap) : PassResult{};
    });
}

}  // namespace palimpsest
