// What Chat Completions refuses. Calls and results pair per round: from an assistant message with
// calls to the next message that is no tool message. Ids may come again in a later round.
#include <algorithm>

#include "format/check.h"
#include "format/openai_chat/openai_chat.h"

namespace palimpsest {
namespace {

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
    const std::string_view model = input.options.model;
    const bool no_system = takes_no_system(model), no_audio = takes_no_audio(model);
    for (std::size_t at = 0; at < input.messages.size(); ++at) {
        const NeutralMessage& message = input.messages[at];
        if (no_system && message.role == Role::system)
            findings.add("C4", at,
                         "the model " + quoted(model) +
                             " takes no system message: send it as a user message");
        for (const NeutralPart& part : message.parts)
            if (no_audio && (part.kind == PartKind::audio || part.kind == PartKind::speech))
                findings.add("C5", at,
                             "the model " + quoted(model) +
                                 " takes no audio: leave it out, or use a model that does");
    }
    if (takes_no_search(model) && input.body && input.body->find("web_search_options"))
        findings.add("C6", 0,
                     "the model " + quoted(model) +
                         " does not search: leave web_search_options "
                         "out, or use a model that does");
}

void check_speech(const NeutralMessage& message, std::size_t at, Findings& findings) {
    for (const NeutralPart& part : message.parts)
        if (part.kind == PartKind::speech && !is_id_alone(part))
            findings.add("C7", at,
                         "audio of an answer has more than its id, or no id: send "
                         R"({"id":"..."}, or its transcript as content)");
}

// A model of OpenAI's whose name does not say that it does `what`. Other names prove nothing.
bool is_gpt_without(std::string_view model, std::string_view what) {
    return model.starts_with("gpt-") && !model.contains(what);
}

}  // namespace

bool takes_no_system(std::string_view model) {
    return model == "o1-mini" || model == "o1-preview";
}

bool takes_no_audio(std::string_view model) {
    return is_gpt_without(model, "audio");
}

bool is_id_alone(const NeutralPart& speech) {
    const auto document = parse_json(speech.json);
    return document && document->root().size() == 1 && !speech.source.empty();
}

bool takes_no_search(std::string_view model) {
    return is_gpt_without(model, "search");
}

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
        check_speech(message, at, findings);
        open_round(message, at, round, findings);
    }
    if (!input.options.open_end) close_round(round, findings);
    check_model(input, findings);
}

}  // namespace palimpsest
