// replay: what a request with an Idempotency-Key did, kept for its repeats.
//
// One key space for each tenant and route. Only a digest of the request and a seq are kept, never
// content: what is scrubbed or erased must be gone. The store's key (WriteOptions) makes the write
// happen once even if the process dies before this record was written. Where that key also gives
// the outcome again the route has no `again`, and the record only tells another request apart.
#pragma once
#include "server/route.h"

namespace palimpsest {

// Calls the route's function, or for a repeat its `again` with the seq of the first time.
// `unprocessable` when the key came with another request within the last 24 hours.
Result<RouteReply> answer_once(Call& call);

// Keeps the request before it is answered, for routes that wait for a model after they wrote.
void keep_request(Call& call, Seq seq);

}  // namespace palimpsest
