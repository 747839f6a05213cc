// clear_tool_inputs: the arguments of old tool calls become one field with a placeholder; the call
// stays a call, with its name and id, so its result stays valid.
#include "core/pass.h"
#include "core/pass_parameters.h"
#include "core/placeholder.h"
#include "core/tool_pass.h"
#include "core/tool_uses.h"

namespace palimpsest {

Result<PassFunction> make_clear_tool_inputs(const JsonValue& parameters);

namespace {

constexpr std::uint32_t placeholder_tokens = 50;

std::vector<PartChange> changes_of(const Content& content, std::size_t kept,
                                   const ToolChoice& choice) {
    std::size_t calls = 0;
    for (const ContentPart& part : content.parts)
        calls += part.kind == ContentKind::tool_call ? 1 : 0;
    std::vector<PartChange> changes;
    std::size_t seen = 0;
    for (std::size_t p = 0; p < content.parts.size(); ++p) {
        const ContentPart& part = content.parts[p];
        if (part.kind != ContentKind::tool_call) continue;
        if (++seen + kept > calls || !part.can_change || !choice.takes(part.tool, part.hosted))
            continue;
        if (part.text.find(placeholder_mark) != std::string_view::npos) continue;
        changes.push_back({p, placeholder("input", part.tool, part.id)});
    }
    return changes;
}

PassResult clear(const PassInput& input, const ToolChoice& choice) {
    PassResult result;
    if (!input.tools) return result;
    struct Candidate {
        std::size_t item, kept;
    };
    std::vector<Candidate> candidates;  // newest first
    const std::size_t border = choice.kept_from(input);
    const std::size_t keep = choice.keep_tool_uses.value_or(SIZE_MAX);
    std::size_t uses = 0;
    for (std::size_t g = input.groups.size(); g-- > input.first_lasting;)
        for (std::size_t i = input.groups[g].last + 1; i-- > input.groups[g].first;) {
            const std::size_t calls = tool_uses(input.items[i].message);
            if (calls == 0) continue;
            const std::size_t kept = g >= border && uses < keep ? keep - uses : 0;
            uses += calls;
            if (input.shields[g] > Shield::stays || kept >= calls) continue;
            if (input.items[i].message.shape.calls.empty()) continue;  // Hosted: they stay.
            if (is_cleared(input, i, "tool input")) continue;
            if (choice.min_tokens && input.tokens[i] < *choice.min_tokens) continue;
            candidates.push_back({i, kept});
        }
    std::uint64_t used = input.used;
    std::vector<std::pair<std::size_t, std::size_t>> kept_of;
    for (std::size_t n = candidates.size(); n-- > 0 && used > input.target;) {
        const std::size_t i = candidates[n].item;
        const auto calls = static_cast<std::uint32_t>(input.items[i].message.shape.calls.size());
        PlannedEdit edit;
        edit.treatment = Treatment::cleared;
        edit.item = i;
        edit.tokens_after = calls * placeholder_tokens;
        if (!choice.may_grow() && edit.tokens_after >= input.tokens[i]) continue;
        edit.reason = "old tool input";
        used = used - input.tokens[i] + edit.tokens_after;
        kept_of.emplace_back(i, candidates[n].kept);
        result.edits.push_back(std::move(edit));
    }
    result.may_grow = choice.may_grow();
    result.rewrite = [tools = input.tools, kept_of, choice](
                         std::size_t item,
                         const Message& message) -> Result<std::vector<PartChange>> {
        PAL_TRY(content, tools->read(message));
        std::size_t kept = 0;
        for (const auto& [at, count] : kept_of)
            if (at == item) kept = count;
        return changes_of(content, kept, choice);
    };
    return result;
}

}  // namespace

Result<PassFunction> make_clear_tool_inputs(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {"keep_turns", "keep_tool_uses", "include_tools",
                                            "exclude_tools", "min_tokens"}));
    PAL_TRY(choice, read_tool_choice(parameters));
    return PassFunction([choice](const PassInput& input) { return clear(input, choice); });
}

}  // namespace palimpsest
