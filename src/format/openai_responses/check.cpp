// What Responses and Conversations refuse. Calls and outputs pair by call_id over the whole list;
// reasoning stands right before the item that it led to.
#include <map>

#include "format/check.h"
#include "format/fields.h"
#include "format/openai_responses/openai_responses.h"

namespace palimpsest {
namespace {

struct Pair {
    std::size_t call = 0;
    bool answered = false;
};
using Pairs = std::map<std::string_view, Pair>;

bool has_value(const std::optional<JsonValue>& body, std::string_view key) {
    const auto value = body ? body->find(key) : std::nullopt;
    return value && !value->is_null();
}

void check_call(const NeutralPart& part, std::size_t at, Pairs& pairs, Findings& findings) {
    const auto [pair, fresh] = pairs.try_emplace(part.id, Pair{at, false});
    if (fresh) return;
    // An id may come again once its call was answered: some providers number anew every round.
    if (!pair->second.answered)
        findings.add("R3", at,
                     "the call_id " + quoted(part.id) + " is used by the item at " +
                         std::to_string(pair->second.call) + " too: give each call its own");
    pair->second = {at, false};
}

void check_output(const NeutralPart& part, std::size_t at, Pairs& pairs, bool calls_elsewhere,
                  Findings& findings) {
    const auto pair = pairs.find(part.id);
    if (pair == pairs.end()) {
        // The call may be in the response or conversation that this request continues.
        if (!calls_elsewhere)
            findings.add("R2", at,
                         "the output answers " + quoted(part.id) +
                             ", but no call before it has this call_id: add the call or leave "
                             "the output out");
        return;
    }
    if (pair->second.answered)
        findings.add("duplicate_result", at,
                     "the call " + quoted(part.id) + " was answered before: leave one out");
    pair->second.answered = true;
}

// At the end of a live conversation the output of a call may still come.
bool may_be_answered(const CheckInput& input, std::size_t call) {
    if (!input.options.open_end) return false;
    for (std::size_t at = call + 1; at < input.messages.size(); ++at)
        if (input.messages[at].role == Role::user) return false;
    return true;
}

bool follows_reasoning(const NeutralMessage& next) {
    return next.role == Role::assistant;
}

void check_reasoning(const CheckInput& input, std::size_t at, Findings& findings) {
    const NeutralPart& part = input.messages[at].parts.front();
    if (part.id.empty() && part.text.empty() && part.signature.empty()) {
        findings.add("R6", at,
                     "the reasoning item has no id, no summary and no encrypted content: leave "
                     "it out");
        return;
    }
    const bool followed =
        at + 1 < input.messages.size() && follows_reasoning(input.messages[at + 1]);
    if (!followed)
        findings.add("R4", at,
                     "the reasoning item is not followed by the message or call that it led to: "
                     "put it back or leave the reasoning out");
    if (input.options.unstored && part.signature.empty() && !part.id.empty())
        findings.add("R5", at,
                     "the reasoning item " + quoted(part.id) +
                         " is not stored and has no "
                         "encrypted content: ask for reasoning.encrypted_content or leave it out");
}

void check_part(const NeutralPart& part, std::size_t at, Findings& findings) {
    constexpr std::size_t most = 10485760;
    if (part.kind == PartKind::text && part.text.size() > most)
        findings.add("R12", at,
                     "a text of " + std::to_string(part.text.size()) +
                         " bytes is longer than 10485760: split it");
    if (is_audio_file(part))
        findings.add("R14", at,
                     "the file " + quoted(part.media_type.empty() ? part.source : part.media_type) +
                         " is audio, which cannot be read: send a document, or text");
    for (const NeutralPart& inner : part.inner) check_part(inner, at, findings);
}

void check_management(JsonValue body, Findings& findings) {
    const auto edits = body.find("context_management");
    if (!edits) return;
    for (const JsonValue edit : edits->elements()) {
        if (any_string(edit, "type") != "compaction")
            findings.add("R9", 0, "context_management: the type must be compaction");
        const auto threshold = edit.find("compact_threshold");
        const auto value = threshold ? threshold->number() : std::nullopt;
        if (value && *value < 1000)
            findings.add("R9", 0, "context_management: compact_threshold must be at least 1000");
    }
}

void check_compaction_reply(JsonValue body, Findings& findings) {
    if (any_string(body, "object") != "response.compaction") return;
    std::size_t compactions = 0;
    if (const auto output = body.find("output"))
        for (const JsonValue item : output->elements())
            if (any_string(item, "type") == "compaction") ++compactions;
    if (compactions != 1)
        findings.add("R13", 0,
                     "the reply holds " + std::to_string(compactions) +
                         " compaction items instead of one: pass on what the service "
                         "sent");
}

void check_body(JsonValue body, const CheckInput& input, Findings& findings) {
    if (has_value(body, "previous_response_id") && has_value(body, "conversation"))
        findings.add("R7", 0, "previous_response_id and conversation exclude each other: drop one");
    const std::string_view truncation = any_string(body, "truncation");
    if (!truncation.empty() && truncation != "auto" && truncation != "disabled")
        findings.add("R8", 0, "truncation is " + quoted(truncation) + ": use auto or disabled");
    if (body.find("items") && input.messages.size() > 20)
        findings.add("R10", 20,
                     std::to_string(input.messages.size()) +
                         " items are more than the 20 that one call may add: split it");
    if (any_string(body, "prompt_cache_key").size() > 64)
        findings.add("R12", 0, "prompt_cache_key is longer than 64 characters: shorten it");
    check_management(body, findings);
    check_compaction_reply(body, findings);
}

void check_item(const CheckInput& input, std::size_t at, Findings& findings) {
    const NeutralMessage& message = input.messages[at];
    const bool typed = message.parts.size() == 1 && message.parts[0].kind == PartKind::opaque;
    if (!typed) check_known_role(message, at, findings);
    if (message.parts.empty())
        findings.add("empty", at, "the message has no content: leave it out");
    if (typed && message.parts[0].type == "compaction_trigger" && at + 1 < input.messages.size())
        findings.add("R9", at, "a compaction_trigger must be the last item: move it to the end");
    for (const NeutralPart& part : message.parts) check_part(part, at, findings);
    check_arguments(message, at, findings);
}

}  // namespace

bool is_audio_file(const NeutralPart& part) {
    if (part.kind != PartKind::document) return false;
    if (part.media_type.starts_with("audio/")) return true;
    if (part.source_kind != SourceKind::url) return false;
    const std::string_view path = part.source.substr(0, part.source.find_first_of("?#"));
    for (const std::string_view end : {".mp3", ".wav", ".m4a", ".ogg", ".flac", ".aac"})
        if (path.ends_with(end)) return true;
    return false;
}

void check_openai_responses(const CheckInput& input, Findings& findings) {
    const bool continued = input.options.continued ||
                           has_value(input.body, "previous_response_id") ||
                           has_value(input.body, "conversation");
    const bool reply = input.body && input.body->find("output");
    Pairs pairs;
    for (std::size_t at = 0; at < input.messages.size(); ++at) {
        const NeutralMessage& message = input.messages[at];
        check_item(input, at, findings);
        for (const NeutralPart& part : message.parts) {
            if (is_client_call(part)) check_call(part, at, pairs, findings);
            if (is_client_result(part)) check_output(part, at, pairs, continued, findings);
            if (part.kind == PartKind::reasoning && !reply) check_reasoning(input, at, findings);
        }
    }
    if (!reply)
        for (const auto& [id, pair] : pairs)
            if (!pair.answered && !may_be_answered(input, pair.call))
                findings.add("R1", pair.call,
                             "the call " + quoted(id) +
                                 " has no output: add an item with this "
                                 "call_id after it");
    if (input.body) check_body(*input.body, input, findings);
}

}  // namespace palimpsest
