// What Messages refuses. Consecutive messages of one role are one turn to the service; a turn with
// tool_use is followed by a user turn that begins with all of its results.
#include <algorithm>
#include <set>

#include "base/media.h"
#include "format/anthropic/anthropic.h"
#include "format/check.h"
#include "format/fields.h"
#include "format/own_marks.h"

namespace palimpsest {
namespace {

// Model families that refuse a last message of the assistant.
constexpr std::string_view models_without_prefill[] = {"claude-opus-4-6",   "claude-opus-4-7",
                                                       "claude-opus-4-8",   "claude-opus-5",
                                                       "claude-sonnet-4-6", "claude-sonnet-5"};

struct Place {
    std::size_t at = 0;
    const NeutralPart* part = nullptr;
};

// A run of messages of one role.
struct Turn {
    Role role = Role::user;
    std::size_t begin = 0, end = 0;
    std::vector<Place> parts = {};
};

std::vector<Turn> turns_of(std::span<const NeutralMessage> messages) {
    std::vector<Turn> turns;
    for (std::size_t at = 0; at < messages.size(); ++at) {
        const bool same = !turns.empty() && turns.back().role == messages[at].role;
        if (!same) turns.push_back({.role = messages[at].role, .begin = at});
        turns.back().end = at + 1;
        for (const NeutralPart& part : messages[at].parts)
            turns.back().parts.push_back({at, &part});
    }
    return turns;
}

bool has_call(const Turn* turn, std::string_view id) {
    if (!turn) return false;
    return std::any_of(turn->parts.begin(), turn->parts.end(), [&](const Place& place) {
        return is_client_call(*place.part) && place.part->id == id;
    });
}

void check_results(const Turn& turn, const Turn* before, Findings& findings) {
    std::set<std::string_view> seen;
    std::size_t first_other = SIZE_MAX;
    for (const auto& [at, part] : turn.parts) {
        if (!is_client_result(*part)) {
            first_other = std::min(first_other, at);
            continue;
        }
        if (!has_call(before, part->id))
            findings.add("A1", at,
                         "the tool_result answers " + quoted(part->id) +
                             ", which the message "
                             "before it did not call: move it behind its tool_use or leave it out");
        else if (!seen.insert(part->id).second)
            findings.add("duplicate_result", at,
                         "the call " + quoted(part->id) + " was answered before: leave one out");
        else if (first_other != SIZE_MAX)
            findings.add("A2", at,
                         "the tool_result of " + quoted(part->id) +
                             " stands behind other content: put all results first");
    }
}

bool only_results(const Turn& turn) {
    return turn.role == Role::user &&
           std::all_of(turn.parts.begin(), turn.parts.end(),
                       [](const Place& place) { return is_client_result(*place.part); });
}

// `may_be_open`: results that are missing may still come.
void check_calls(const Turn& turn, const Turn* after, bool may_be_open, Findings& findings) {
    std::set<std::string_view> seen;
    for (const auto& [at, part] : turn.parts) {
        if (!is_client_call(*part)) continue;
        if (!seen.insert(part->id).second)
            findings.add("A1", at,
                         "two calls have the id " + quoted(part->id) + ": give each its own");
        const bool answered =
            after && std::any_of(after->parts.begin(), after->parts.end(), [&](const Place& place) {
                return is_client_result(*place.part) && place.part->id == part->id;
            });
        if (!answered && !may_be_open)
            findings.add("A1", at,
                         "the call " + quoted(part->id) +
                             " is not answered: the next user message must begin with "
                             "its tool_result");
    }
}

void check_split(const Turn& turn, Findings& findings) {
    std::size_t last = SIZE_MAX;
    for (const auto& [at, part] : turn.parts) {
        if (!is_client_result(*part)) continue;
        if (last != SIZE_MAX && last != at)
            findings.add("split_results", at,
                         "results of one turn stand in several messages: put them into one");
        last = at;
    }
}

bool id_fits(std::string_view id) {
    return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

void check_block(const NeutralPart& part, Role role, std::size_t at, Findings& findings) {
    const bool call = is_client_call(part), result = is_client_result(part);
    if ((call && role != Role::assistant) || (result && role != Role::user))
        findings.add("roles", at,
                     call ? "a tool_use block stands in a message that is not the "
                            "assistant's: move it"
                          : "a tool_result block stands in a message that is not "
                            "the user's: move it");
    if ((call || result) && !id_fits(part.id))
        findings.add("tool_id", at,
                     "the id " + quoted(part.id) +
                         " has characters other than letters, digits, _ and -: "
                         "rename it in call and result");
    if (part.kind == PartKind::text && is_blank(part.text))
        findings.add("empty", at,
                     part.text.empty() ? "a text block is empty: leave it out"
                                       : "a text block has only white space: leave it out");
    if (part.kind == PartKind::compaction && part.text.empty() && part.signature.empty() &&
        part.json.find("\"\"") != std::string_view::npos)
        findings.add("A10", at, "the compaction block has empty content: leave it out");
}

void check_image(const NeutralPart& part, std::size_t images, std::size_t at, Findings& findings) {
    if (part.source_kind != SourceKind::base64 || part.kind != PartKind::image) return;
    if (base64_bytes(part.source) > 5 * 1024 * 1024)
        findings.add("A9", at, "an image is larger than 5 MB: make it smaller");
    const std::uint32_t most = images > 20 ? 2000 : 8000;
    const auto size = image_size(part.source);
    if (size && (size->width > most || size->height > most))
        findings.add("A9", at,
                     "an image of " + std::to_string(size->width) + " x " +
                         std::to_string(size->height) + " pixels exceeds " + std::to_string(most) +
                         ": make it smaller");
}

void check_limits(const CheckInput& input, Findings& findings) {
    if (input.messages.size() > 100000)
        findings.add("A8", 100000, "more than 100000 messages: leave some out");
    if (input.bytes > 32 * 1024 * 1024)
        findings.add("A9", 0, "the request has more than 32 MB: leave something out");
    std::size_t images = 0;
    const auto each_image = [&](auto&& visit) {
        for (std::size_t at = 0; at < input.messages.size(); ++at)
            for (const NeutralPart& part : input.messages[at].parts) {
                if (part.kind == PartKind::image) visit(part, at);
                for (const NeutralPart& inner : part.inner)
                    if (inner.kind == PartKind::image) visit(inner, at);
            }
    };
    each_image([&](const NeutralPart&, std::size_t) { ++images; });
    each_image(
        [&](const NeutralPart& part, std::size_t at) { check_image(part, images, at, findings); });
}

// Reported where the oldest of the messages' marks is: that is the one to take off.
void check_marks(const CheckInput& input, Findings& findings) {
    std::size_t marks = input.options.marks_beside, first = input.messages.size();
    for (std::size_t at = 0; at < input.messages.size(); ++at)
        for (const NeutralPart& part : input.messages[at].parts) {
            if (!part.json.contains("cache_control")) continue;
            const auto block = parse_json(part.json);
            const std::size_t more = block ? marks_of_block(block->root()) : 0;
            if (more > 0) first = std::min(first, at);
            marks += more;
        }
    if (marks > cache_marks_max)
        findings.add("A12", first == input.messages.size() ? 0 : first,
                     "the request has " + std::to_string(marks) + " cache_control marks, at most " +
                         std::to_string(cache_marks_max) + " are taken: take the older ones off");
}

void check_model_of_thinking(const CheckInput& input, Findings& findings) {
    const CheckOptions& options = input.options;
    if (options.reasoning_model.empty() || options.model.empty() ||
        options.reasoning_model == options.model)
        return;
    for (std::size_t at = 0; at < input.messages.size(); ++at)
        for (const NeutralPart& part : input.messages[at].parts)
            if (part.kind == PartKind::reasoning && !part.signature.empty())
                findings.add("A5", at,
                             "thinking of " + quoted(options.reasoning_model) +
                                 " is not taken by " + quoted(options.model) + ": leave it out");
}

// Thinking in the log, by its bytes, and the signatures of what was not empty there.
void check_thinking_against_log(const CheckInput& input, const Turn& last, Findings& findings) {
    if (input.options.log.empty()) return;
    std::set<std::string> known, worded;
    for (const Message& message : input.options.log) {
        const auto parts = read_parts(message);
        if (!parts) continue;
        for (const Part& part : parts->parts)
            if (const auto* reasoning = std::get_if<Reasoning>(&part)) {
                known.insert(std::string(reasoning->text) + '\n' +
                             std::string(reasoning->signature));
                if (!reasoning->text.empty()) worded.emplace(reasoning->signature);
            }
    }
    for (const auto& [at, part] : last.parts) {
        if (part->kind != PartKind::reasoning) continue;
        if (part->text.empty() && worded.contains(std::string(part->signature)))
            findings.add("A6", at,
                         "thinking was emptied but its signature kept: restore or "
                         "leave out both");
        else if (!known.contains(std::string(part->text) + '\n' + std::string(part->signature)))
            findings.add("A4", at,
                         "thinking of the latest assistant message differs from what "
                         "the model wrote: restore it");
    }
}

bool thinking_enabled(const std::optional<JsonValue>& body) {
    const auto thinking = body ? body->find("thinking") : std::nullopt;
    return thinking && any_string(*thinking, "type") == "enabled";
}

// The tool loop at the end: assistant turns after the last user turn that is not only results.
void check_loop(const std::vector<Turn>& turns, Findings& findings) {
    const Turn* first = nullptr;
    for (std::size_t i = turns.size(); i-- > 0;) {
        const Turn& turn = turns[i];
        const bool results = std::any_of(turn.parts.begin(), turn.parts.end(),
                                         [](const Place& p) { return is_client_result(*p.part); });
        if (turn.role == Role::user && !results) break;
        if (turn.role == Role::assistant) first = &turn;
    }
    if (!first || first->parts.empty() || first->end == turns.back().end) return;
    if (first->parts.front().part->kind != PartKind::reasoning)
        findings.add("A7", first->begin,
                     "thinking is enabled, but this tool loop does not begin with a thinking "
                     "block: restore it, or switch thinking off for this request");
}

void check_request(const CheckInput& input, const std::vector<Turn>& turns, Findings& findings) {
    const NeutralMessage& last = input.messages.back();
    const auto refuses = [&](std::string_view name) {
        return input.options.model.starts_with(name);
    };
    if (last.role == Role::assistant && !input.options.open_end &&
        std::any_of(std::begin(models_without_prefill), std::end(models_without_prefill), refuses))
        findings.add("A11", input.messages.size() - 1,
                     "the model does not continue a message of the assistant: end with a user "
                     "message");
    if (!input.body) return;
    if (thinking_enabled(input.body)) check_loop(turns, findings);
    const auto tools = input.body->find("tools");
    if (!input.body->find("messages") || (tools && tools->size() > 0)) return;
    for (const Turn& turn : turns)
        for (const auto& [at, part] : turn.parts)
            if (is_client_call(*part) || is_client_result(*part))
                return findings.add("A3", at,
                                    "the request has tool blocks but defines no tools: "
                                    "send the tools along");
}

void check_message(const CheckInput& input, std::size_t at, Findings& findings) {
    const NeutralMessage& message = input.messages[at];
    check_known_role(message, at, findings);
    if (message.role == Role::tool)
        findings.add("roles", at, "there is no role tool: put the result into a user message");
    const bool final_answer = message.role == Role::assistant && at + 1 == input.messages.size();
    if (message.parts.empty() && !final_answer)
        findings.add("empty", at, "the message has no content: leave it out");
    for (const NeutralPart& part : message.parts) check_block(part, message.role, at, findings);
    check_arguments(message, at, findings);
}

}  // namespace

void read_anthropic_options(JsonValue body, CheckOptions& options) {
    options.marks_beside = marks_beside_messages(body);
}

void check_anthropic(const CheckInput& input, Findings& findings) {
    if (input.messages.empty())
        return findings.add("empty", 0, "there are no messages: add at least one");
    for (std::size_t at = 0; at < input.messages.size(); ++at) check_message(input, at, findings);
    const std::vector<Turn> turns = turns_of(input.messages);
    if (turns.front().role != Role::user)
        findings.add("first", 0,
                     "the first message is not the user's: begin with a user message (a system "
                     "prompt goes into the field system)");
    for (std::size_t i = 0; i < turns.size(); ++i) {
        const Turn* const before = i > 0 ? &turns[i - 1] : nullptr;
        const Turn* const after = i + 1 < turns.size() ? &turns[i + 1] : nullptr;
        check_results(turns[i], before, findings);
        const bool last = !after || (i + 2 == turns.size() && only_results(*after));
        check_calls(turns[i], after, input.options.open_end && last, findings);
        check_split(turns[i], findings);
    }
    check_limits(input, findings);
    check_marks(input, findings);
    check_model_of_thinking(input, findings);
    for (std::size_t i = turns.size(); i-- > 0;)
        if (turns[i].role == Role::assistant) {
            check_thinking_against_log(input, turns[i], findings);
            break;
        }
    check_request(input, turns, findings);
}

}  // namespace palimpsest
