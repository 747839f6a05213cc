// The table of validity rules. Ids with a letter and a number are the providers' known refusals;
// words are rules that hold for several formats.
#include "format/check.h"

namespace palimpsest {
namespace {

constexpr std::string_view chat = "openai_chat", responses = "openai_responses",
                           anthropic = "anthropic",
                           every = "openai_chat openai_responses anthropic";

constexpr Rule table[] = {
    {"C1", chat, Severity::reject, "a tool message follows the assistant message with its call"},
    {"C2", chat, Severity::reject, "every call is answered before the next other message"},
    {"C3", chat, Severity::reject, "call ids are unique within one assistant message"},
    {"C4", chat, Severity::needs_context, "some models take no system or developer message"},

    {"R1", responses, Severity::reject, "every function call has its output"},
    {"R2", responses, Severity::reject, "every output has its call before it"},
    {"R3", responses, Severity::reject, "a call_id is used by one call only"},
    {"R4", responses, Severity::reject, "a reasoning item is followed by the item it belongs to"},
    {"R5", responses, Severity::needs_context,
     "reasoning that is not stored (store: false) is sent with its encrypted content"},
    {"R6", responses, Severity::reject, "a reasoning item is not an empty shell"},
    {"R7", responses, Severity::reject, "previous_response_id and conversation exclude each other"},
    {"R8", responses, Severity::reject, "truncation is auto or disabled"},
    {"R9", responses, Severity::reject,
     "compaction is asked for with a threshold of at least 1000; a trigger item comes last"},
    {"R10", responses, Severity::limit, "at most 20 items are added to a conversation at once"},
    {"R11", responses, Severity::needs_context,
     "one writer at a time on a conversation (only the service knows)"},
    {"R12", responses, Severity::limit,
     "an input text has at most 10485760 characters, prompt_cache_key at most 64"},
    {"R13", responses, Severity::reject, "a compaction reply holds exactly one compaction item"},
    {"R14", responses, Severity::reject, "file data is of a type that can be read, not audio"},

    {"A1", anthropic, Severity::reject, "tool_use and tool_result pair up in consecutive messages"},
    {"A2", anthropic, Severity::reject, "tool_result blocks come first in their user message"},
    {"A3", anthropic, Severity::needs_context, "a request with tool blocks defines tools"},
    {"A4", anthropic, Severity::needs_context,
     "thinking of the latest assistant message is what the model wrote"},
    {"A5", anthropic, Severity::needs_context,
     "thinking goes back only to the model that wrote it"},
    {"A6", anthropic, Severity::needs_context, "thinking is not emptied under its signature"},
    {"A7", anthropic, Severity::needs_context,
     "with thinking enabled, a tool loop begins with its thinking"},
    {"A8", anthropic, Severity::limit, "at most 100000 messages"},
    {"A9", anthropic, Severity::limit,
     "32 MB a request, 5 MB and 8000 pixels an image, 2000 pixels above 20 images"},
    {"A10", anthropic, Severity::reject, "the content of a compaction block is not empty"},
    {"A11", anthropic, Severity::needs_context, "newer models take no assistant prefill"},

    {"roles", every, Severity::reject,
     "roles are known, and blocks stand in messages of their role"},
    {"first", anthropic, Severity::reject, "the first message is the user's"},
    {"empty", every, Severity::reject, "a message has content"},
    {"tool_id", anthropic, Severity::reject, "tool ids have letters, digits, _ and - only"},
    {"duplicate_result", every, Severity::reject, "a call is answered once"},
    {"arguments", every, Severity::tolerate, "arguments are a JSON object"},
    {"split_results", anthropic, Severity::tolerate,
     "results of parallel calls stand in one user message"},
    {"shape", every, Severity::reject, "fields are of the kind that the format defines"},
    {"json", every, Severity::reject, "the text is JSON without duplicate keys"},
};

}  // namespace

std::span<const Rule> rule_table() {
    return table;
}

const Rule* find_rule(std::string_view id) {
    for (const Rule& rule : table)
        if (rule.id == id) return &rule;
    return nullptr;
}

std::string_view severity_name(Severity severity) {
    constexpr std::string_view names[] = {"reject", "limit", "tolerate", "needs_context"};
    return names[static_cast<std::size_t>(severity)];
}

}  // namespace palimpsest
