// A whole store into another, through the port: every conversation with its forks and what they
// share, headers, times, and records. Idempotency keys stay behind.
//
// It can be broken off at any point and begun again. What is there is compared with its original:
// a conversation that stopped earlier goes on; what was scrubbed in the source is scrubbed in the
// target; header fields that were changed in the source are brought over, unless the target's were
// changed as well, which is told. One that went another way in the target, or another of the same
// name, is a conflict: nothing of it is changed. What was erased or has expired in the source stays
// in the target, as what is the target's own does, and is named.
//
// What cannot be read in the source is named in the report. In the target stands a message without
// content (marked as scrubbed), or a note `lost`, in its place, so that what comes behind it keeps
// its seqs; losses at the end of a log are left out.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

struct CopyProgress {
    std::size_t done = 0, total = 0;  // conversations
};
struct CopyOptions {
    std::vector<std::string> tenants = {};  // empty: all, where the source can name them
    std::function<void(const CopyProgress&)> progress = {};
    // Removes the content of messages of a conversation of the target, with all that quotes them.
    // Empty: the entries are replaced by those of the source, and nothing else is looked at.
    std::function<Result<void>(const ConversationId&, const std::vector<Seq>&)> scrub = {};
    // Removes what the target keeps of the words of a log, before the time that it lives is another
    // one: they would live as long as it was to live before. Empty: nothing is kept.
    std::function<Result<void>(const std::string& tenant, const LogId&)> forget_words = {};
    // Records of `space` end for good when one of the same key is in `revoked`, in either store.
    struct Revocable {
        RecordSpace space = {}, revoked = {};
    };
    std::vector<Revocable> revocable = {};
    std::vector<std::string> spaces_left_out = {};  // of records, in every tenant
};
struct CopyFailure {
    std::string what = {};       // a conversation, or records and their space
    bool there = false;          // the target has a conversation of that log
    Seq copied = {}, end = {};   // how far the target has it, and how far it goes
    std::vector<Seq> lost = {};  // entries that could not be read
    Error error = {};            // conflict: it went another way in the target, which is unchanged
};
struct CopyReport {
    std::uint64_t conversations = 0, entries = 0, records = 0;  // written now
    std::uint64_t there = 0;     // conversations that had all entries
    std::uint64_t scrubbed = 0;  // messages that were scrubbed in the source since
    std::uint64_t headers = 0;   // conversations that were there and got fields of their header
    std::uint64_t revoked = 0;   // records that were revoked in the source since
    std::vector<std::string> notes = {};  // what was left as the target has it, in words
    // Conversations of the copied tenants that the source does not have: the target's own, or
    // erased or expired in the source since. TENANT/ID where all tenants were copied.
    std::vector<std::string> in_target_alone = {};
    std::vector<CopyFailure> failures = {};
};
// Fails as a whole only when one of the stores cannot go on.
Result<CopyReport> copy_store(Store& from, Store& to, const CopyOptions& options);

}  // namespace palimpsest
