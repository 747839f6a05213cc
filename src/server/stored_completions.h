// stored_completions: what was asked with "store": true, for those who ask for it again.
#pragma once
#include <string>

#include "server/route.h"

namespace palimpsest {

struct StoredCompletion {
    std::string body = {};      // the reply
    std::string messages = {};  // JSON list: the request's
    std::string metadata = {};  // JSON object
};
// Under the id of the reply; the same one again changes nothing.
Result<void> store_completion(Site& site, const std::string& id, const StoredCompletion& stored);

}  // namespace palimpsest
