// stored_completions: what was asked with "store": true, for those who ask for it again.
//
// One that was asked in a conversation goes with what was said there (kept_words.h).
#pragma once
#include <optional>
#include <string>

#include "server/kept_words.h"
#include "server/route.h"

namespace palimpsest {

struct StoredCompletion {
    std::string body = {};          // the reply
    std::string messages = {};      // JSON list: the request's
    std::string metadata = {};      // JSON object
    std::string model = {};         // as it was asked for
    std::optional<KeptOf> of = {};  // the conversation, and where in it; none: it has none
};
// Under the id of the reply; the same one again changes nothing.
Result<void> store_completion(Site& site, const std::string& id, const StoredCompletion& stored);

// The body of the one that was kept of a turn; empty: none was, or it is gone.
std::string completion_of_turn(Site& site, const KeptOf& of);

}  // namespace palimpsest
