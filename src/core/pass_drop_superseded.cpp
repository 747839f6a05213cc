// drop_superseded: results of calls that were made again later, with the same arguments, go.
//
// A group that is nothing but such calls and their results is dropped whole; where the assistant
// also said something, or thought what its next calls rely on, the results become placeholders.
// Errors count for nothing: a call that failed later does not supersede one that worked.
#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "core/pass.h"
#include "core/pass_parameters.h"
#include "core/placeholder.h"
#include "core/scan.h"
#include "core/tool_pass.h"

namespace palimpsest {

Result<PassFunction> make_drop_superseded(const JsonValue& parameters);

namespace {

constexpr std::string_view why = "the same call was made again";

// Keys sorted, white space gone: equal arguments are equal texts.
void append_sorted(std::string& out, const JsonValue& value) {
    if (value.is_object()) {
        std::map<std::string_view, JsonValue> members;
        for (const JsonMember member : value.members()) members.emplace(member.key, member.value);
        out += '{';
        for (const auto& [key, inner] : members) {
            out += key;
            out += ':';
            append_sorted(out, inner);
            out += ',';
        }
        out += '}';
    } else if (value.is_array()) {
        out += '[';
        for (const JsonValue element : value.elements()) {
            append_sorted(out, element);
            out += ',';
        }
        out += ']';
    } else {
        out += value.raw();
    }
}

struct Exchange {
    std::vector<std::string> made = {};  // what was called, name and arguments
    std::vector<std::string> ids = {};   // of those calls
    std::set<std::string> failed = {};   // ids answered by an error
    bool says_more = false;
};

Exchange read_exchange(const PassInput& input, const Group& group) {
    Exchange out;
    for (std::size_t i = group.first; i <= group.last; ++i) {
        const auto content = input.tools->read(input.items[i].message);
        if (!content) return {};
        for (const ContentPart& part : content->parts) {
            if (part.kind == ContentKind::tool_call && !part.hosted) {
                std::string made(part.tool);
                made += ' ';
                const auto document = parse_json(part.text);
                if (document)
                    append_sorted(made, document->root());
                else
                    made += part.text;
                out.made.push_back(std::move(made));
                out.ids.emplace_back(part.id);
            } else if (part.kind == ContentKind::tool_result) {
                if (part.is_error) out.failed.emplace(part.id);
            } else if (part.kind != ContentKind::reasoning && part.kind != ContentKind::media &&
                       !part.text.empty()) {
                out.says_more = true;
            }
        }
    }
    return out;
}

// Placeholders for the results of a group that were asked for again. Returns what they free.
std::uint64_t clear_again(const PassInput& input, const Group& group,
                          const std::set<std::string>& ids, std::vector<PlannedEdit>& edits) {
    std::uint64_t freed = 0;
    for (std::size_t i = group.first; i <= group.last; ++i) {
        const auto& results = input.items[i].message.shape.results;
        const bool again =
            std::ranges::any_of(results, [&](const std::string& id) { return ids.contains(id); });
        if (!again || is_cleared(input, i, "")) continue;
        PlannedEdit edit;
        edit.treatment = Treatment::cleared;
        edit.item = i;
        edit.tokens_after = std::min<std::uint32_t>(input.tokens[i], 30);
        edit.reason = why;
        freed += input.tokens[i] - edit.tokens_after;
        edits.push_back(std::move(edit));
    }
    return freed;
}

RewriteFunction rewrite_again(const PassInput& input, std::set<std::string> ids) {
    return [tools = input.tools, ids = std::move(ids)](
               std::size_t, const Message& message) -> Result<std::vector<PartChange>> {
        PAL_TRY(content, tools->read(message));
        std::vector<PartChange> changes;
        for (std::size_t p = 0; p < content.parts.size(); ++p) {
            const ContentPart& part = content.parts[p];
            if (part.kind == ContentKind::tool_result && part.can_change && !part.is_error &&
                !part.text.starts_with(placeholder_mark) && ids.contains(std::string(part.id)))
                changes.push_back({p, std::string(placeholder_mark) +
                                          "the same call was made again later (call_id=" +
                                          std::string(part.id) + ")\u27e7"});
        }
        return changes;
    };
}

// Without it what follows would be a run of calls that lost the thought that it began with.
bool begins_run(const PassInput& input, std::size_t g) {
    const auto thinks = [&](std::size_t group) {
        return binds_run(input.items[input.groups[group].first]);
    };
    return !input.turns.empty() && g >= input.turns.back().first && g + 1 < input.groups.size() &&
           thinks(g) && !thinks(g + 1);
}

// A group with calls that were made again later.
struct Superseded {
    std::size_t group = 0;
    std::set<std::string> ids = {};  // of those calls
    bool whole = false;              // there is nothing else in it
};

// Newest first.
std::vector<Superseded> find_superseded(const PassInput& input) {
    std::vector<Superseded> out;
    std::set<std::string> later;  // calls that worked, in newer groups
    for (std::size_t g = input.groups.size(); g-- > 0;) {
        const Group& group = input.groups[g];
        if (group.open || !has_calls(input.items, group)) continue;
        const Exchange exchange = read_exchange(input, group);
        Superseded one{g};
        for (std::size_t n = 0; n < exchange.made.size(); ++n)
            if (later.contains(exchange.made[n])) one.ids.insert(exchange.ids[n]);
        one.whole =
            one.ids.size() == exchange.made.size() && !exchange.says_more && !begins_run(input, g);
        if (input.shields[g] == Shield::none && !one.ids.empty()) out.push_back(std::move(one));
        for (std::size_t n = 0; n < exchange.made.size(); ++n)
            if (!exchange.failed.contains(exchange.ids[n])) later.insert(exchange.made[n]);
    }
    return out;
}

// Oldest first, down to the target.
PassResult superseded(const PassInput& input) {
    PassResult result;
    if (!input.tools) return result;
    const std::vector<Superseded> all = find_superseded(input);
    std::set<std::string> cleared_ids;
    PlannedEdit dropped;
    dropped.reason = why;
    std::uint64_t used = input.used;
    for (auto one = all.rbegin(); one != all.rend() && used > input.target; ++one) {
        const Group& group = input.groups[one->group];
        if (!one->whole) {
            used -= clear_again(input, group, one->ids, result.edits);
            cleared_ids.insert(one->ids.begin(), one->ids.end());
            continue;
        }
        dropped.groups.push_back(one->group);
        for (std::size_t i = group.first; i <= group.last; ++i) used -= input.tokens[i];
    }
    if (!dropped.groups.empty()) result.edits.push_back(std::move(dropped));
    result.rewrite = rewrite_again(input, std::move(cleared_ids));
    return result;
}

}  // namespace

Result<PassFunction> make_drop_superseded(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {}));
    return PassFunction(superseded);
}

}  // namespace palimpsest
