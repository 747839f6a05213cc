// replay: what a request with an Idempotency-Key did, kept for its repeats.
//
// For routes whose outcome the store's own key (WriteOptions) cannot give again, because by then
// the conversation looks different. Only a digest of the request and a seq are kept, never content:
// what is scrubbed or erased must be gone. The store's key makes the write happen once even if the
// process dies before this record was written.
#pragma once
#include "server/route.h"

namespace palimpsest {

// Calls the route's function, or its `again` with the seq of the first time. `unprocessable` when
// the key came with another body or query within the last 24 hours.
Result<Reply> answer_once(Call& call);

}  // namespace palimpsest
