// kept_words: what servers keep of conversations beside their logs, and how it goes with them.
//
// The events of stored responses and the stored completions of a conversation repeat what was said
// in it. They are known by the log and its epoch, which every scrub raises: those of another epoch
// are told to nobody, and a scrub or an erasure removes their bytes. Conversations that expire go
// without a word: whoever sweeps looks for what is left of them (purge_gone).
//
// Records: spaces "response_events" (see response_log.h) and "chat_completions" (see
// stored_completions.h); "log_completions", LOG/ID: the completions of a log, with
// EPOCH/TURN as their value.
#pragma once
#include <string>
#include <vector>

#include "palimpsest/memory.h"
#include "server/route.h"

namespace palimpsest {

constexpr std::string_view event_space = "response_events";
constexpr std::string_view completion_space = "chat_completions";
constexpr std::string_view log_completion_space = "log_completions";

// Memory::scrub and Memory::erase with all that is kept of what they remove. What cannot be removed
// is an error of the scrub, which can be repeated, and is told in `remains` of the receipt.
Result<void> scrub_all(Memory& memory, const ConversationId& name, const std::vector<Seq>& seqs);
Result<Receipt> erase_all(Memory& memory, const ConversationId& name);
// The same where responses may be under way.
Result<void> scrub_all(Site& site, const ConversationId& name, const std::vector<Seq>& seqs);
Result<Receipt> erase_all(Site& site, const ConversationId& name);

// Removes the records that the query finds, and their bytes.
Result<void> purge_records(Store& store, RecordQuery query);

// What is kept of conversations that are gone, also by their expiry, which nobody tells of each. A
// store that cannot name its tenants is left as it is. Cost: one look at each log that has some.
Result<void> purge_gone(Store& store);

// Where the words of a record come from.
struct KeptOf {
    LogId log = {};
    std::uint64_t epoch = 0;
    Seq turn = {};
};
// Whether the conversation is still there, and nothing in it was scrubbed since.
Result<bool> is_current(Store& store, const KeptOf& of);

}  // namespace palimpsest
