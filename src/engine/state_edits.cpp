#include "engine/state_edits.h"

#include <algorithm>

#include "engine/present.h"

namespace palimpsest {
namespace {

constexpr Treatment treatments[] = {Treatment::shortened, Treatment::cleared, Treatment::folded,
                                    Treatment::dropped};

bool replaces(Treatment treatment) {
    return treatment == Treatment::cleared || treatment == Treatment::shortened;
}

std::string text_in(JsonValue object, std::string_view field) {
    const auto value = object.find(field);
    return value ? std::string(value->string()) : std::string();
}

Result<StateEdit> read_edit(JsonValue json, std::size_t messages) {
    const auto refuse = [](std::string_view why) {
        return fail(ErrorCode::invalid_request, "an edit of 'compactions' " + std::string(why),
                    "state");
    };
    const std::string kind = text_in(json, "kind");
    const auto treatment = std::ranges::find(treatments, kind, treatment_name);
    if (treatment == std::end(treatments)) return refuse("is of no known kind");
    const auto from = index_of(json.find("from"), messages);
    const auto to = index_of(json.find("to"), messages);
    if (!from || !to || *from > *to) return refuse("names messages that are not there");
    StateEdit edit{.treatment = *treatment, .from = *from, .to = *to};
    edit.reason = text_in(json, "reason");
    edit.pass = text_in(json, "pass");
    if (edit.treatment == Treatment::folded) {
        edit.result = text_in(json, "text");
        if (edit.result.find_first_not_of(" \t\r\n") == std::string::npos)
            return refuse("has no text in place of what it folds");
    } else if (replaces(edit.treatment)) {
        const auto message = json.find("message");
        if (!message || !message->is_object() || *from != *to)
            return refuse("must have one message in place of one");
        edit.result = message->raw();
    }
    return edit;
}

}  // namespace

std::optional<std::size_t> index_of(const std::optional<JsonValue>& value, std::size_t limit) {
    const auto number = value ? value->integer() : std::nullopt;
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= limit) return std::nullopt;
    return static_cast<std::size_t>(*number);
}

Result<std::vector<StateCompaction>> read_compactions(JsonValue list, std::size_t messages) {
    std::vector<StateCompaction> compactions;
    for (const JsonValue one : list.elements()) {
        StateCompaction compaction;
        for (const JsonValue json : one.elements()) {
            PAL_TRY(edit, read_edit(json, messages));
            compaction.push_back(std::move(edit));
        }
        if (compaction.empty())
            return fail(ErrorCode::invalid_request, "one of 'compactions' is no list of edits",
                        "state");
        compactions.push_back(std::move(compaction));
    }
    return compactions;
}

void write_compactions(JsonWriter& out, const std::vector<StateCompaction>& compactions) {
    out.begin_array();
    for (const StateCompaction& compaction : compactions) {
        out.begin_array();
        for (const StateEdit& edit : compaction) {
            out.begin_object().field("kind", treatment_name(edit.treatment));
            out.key("from").number(std::uint64_t{edit.from});
            out.key("to").number(std::uint64_t{edit.to});
            if (edit.treatment == Treatment::folded) out.field("text", edit.result);
            if (replaces(edit.treatment)) out.key("message").raw(edit.result);
            out.field("reason", edit.reason).field("pass", edit.pass).end_object();
        }
        out.end_array();
    }
    out.end_array();
}

std::vector<Edit> edits_of(const StateCompaction& compaction, FormatId format) {
    std::vector<Edit> edits;
    for (const StateEdit& one : compaction) {
        Edit edit{.treatment = one.treatment, .range = {Seq{one.from + 1}, Seq{one.to + 1}}};
        if (one.treatment != Treatment::dropped) edit.result = make_bytes(one.result);
        edit.format = format;
        edit.reason = one.reason;
        edit.pass = one.pass;
        edits.push_back(std::move(edit));
    }
    return edits;
}

}  // namespace palimpsest
