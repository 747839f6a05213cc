// retry_key: what tells the repeats that the official clients make by themselves. They send no
// Idempotency-Key, but count their attempts: the first one gets a key, which a repeat of the same
// body finds again, on any server, for ten minutes.
#pragma once
#include "server/route.h"

namespace palimpsest {

// Whether the client counts its attempts, so that a repeat does no harm.
bool counts_attempts(const HttpRequest& request);

// Whether it says that it may be a repeat: by a key, or by the count of its attempts.
bool may_repeat(const HttpRequest& request);

// Sets the call's key where it has none and the client counts its attempts.
Result<void> find_retry_key(Call& call);

}  // namespace palimpsest
