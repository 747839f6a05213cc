// What Chat Completions refuses. Calls and results pair per round: from an assistant message with
// calls to the next message that is no tool message. Ids may come again in a later round.
#include <algorithm>

#include "format/check.h"
#include "format/format_table.h"

namespace palimpsest {
namespace {

// Models that were recorded to refuse system messages.
constexpr std::string_view models_without_system[] = {"o1-mini", "o1-preview"};

struct Round {
    std::size_t at = 0;
    std::vector<std::string_view> calls = {}, answered = {};
    bool open = false;
};

bool has(const std::vector<std::string_view>& list, std::string_view id) {
    return std::find(list.begin(), list.end(), id) != list.end();
}

void close_round(Round& round, Findings& findings) {
    if (round.open)
        for (const std::string_view id : round.calls)
            if (!has(round.answered, id))
                findings.add("C2", round.at,
                             "the call " + quoted(id) +
                                 " is not answered: put a tool message "
                                 "with this tool_call_id right after the assistant message");
    round.open = false;
}

void check_result(const NeutralPart& result, std::size_t at, Round& round, Findings& findings) {
    if (!round.open || !has(round.calls, result.id)) {
        findings.add("C1", at,
                     "the tool message answers " + quoted(result.id) +
                         ", which the assistant message before it did not call: move it behind "
                         "its call or leave it out");
    } else if (has(round.answered, result.id)) {
        findings.add("duplicate_result", at,
                     "the call " + quoted(result.id) + " was answered before: leave one out");
    } else {
        round.answered.push_back(result.id);
    }
}

void open_round(const NeutralMessage& message, std::size_t at, Round& round, Findings& findings) {
    round = {.at = at};
    for (const NeutralPart& part : message.parts) {
        if (!is_client_call(part)) continue;
        if (has(round.calls, part.id))
            findings.add(
                "C3", at,
                "two calls of the message have the id " + quoted(part.id) + ": give each its own");
        round.calls.push_back(part.id);
        round.open = true;
    }
}

void check_content(const NeutralMessage& message, std::size_t at, Findings& findings) {
    if (message.empty_calls)
        findings.add("empty", at, "tool_calls is an empty list: leave the field out");
    if (!message.parts.empty()) return;
    if (message.role == Role::assistant)
        findings.add("empty", at,
                     "the assistant message has neither content nor calls: leave it out");
    else if (message.role != Role::other)
        findings.add("empty", at, "the message has no content: leave it out");
}

void check_model(const CheckInput& input, Findings& findings) {
    const auto* const model = std::find(std::begin(models_without_system),
                                        std::end(models_without_system), input.options.model);
    if (model == std::end(models_without_system)) return;
    for (std::size_t at = 0; at < input.messages.size(); ++at)
        if (input.messages[at].role == Role::system)
            findings.add("C4", at,
                         "the model " + quoted(*model) +
                             " takes no system message: send it as a user message");
}

}  // namespace

void check_openai_chat(const CheckInput& input, Findings& findings) {
    if (input.messages.empty()) findings.add("empty", 0, "there are no messages: add at least one");
    Round round;
    for (std::size_t at = 0; at < input.messages.size(); ++at) {
        const NeutralMessage& message = input.messages[at];
        if (message.role == Role::tool) {
            for (const NeutralPart& part : message.parts)
                if (is_client_result(part)) check_result(part, at, round, findings);
            continue;
        }
        close_round(round, findings);
        if (message.role_text != "function") check_known_role(message, at, findings);
        check_content(message, at, findings);
        if (message.role != Role::assistant) continue;
        check_arguments(message, at, findings);
        open_round(message, at, round, findings);
    }
    if (!input.options.open_end) close_round(round, findings);
    check_model(input, findings);
}

}  // namespace palimpsest
