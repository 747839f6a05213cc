// replay: what a request with an Idempotency-Key did, kept for its repeats.
//
// One key space for each tenant and route. Only a digest of the request, a seq and the uid of the
// log are kept, never content: what is scrubbed or erased must be gone, and a repeat that comes
// behind an erase is `not_found` and stores nothing. The store's key (WriteOptions) makes the write
// happen once even if the process dies before this record was written. Where that key also gives
// the outcome again the route has no `again`, and the record only tells another request apart.
#pragma once
#include "server/route.h"

namespace palimpsest {

// Calls the route's function, or for a repeat its `again` with the seq of the first time.
// `unprocessable` when the key came with another request within the last 24 hours.
Result<RouteReply> answer_once(Call& call);

// Keeps the request before it is answered, for routes that wait for a model after they wrote: where
// the log ended then, and which one it is.
void keep_request(const Call& call, Seq seq, const std::optional<LogId>& log = {},
                  std::string_view conversation = {});

// `not_found` where the first request with this key wrote in a conversation that was erased since.
// For routes with a key of their own; answer_once() looks by itself.
Result<void> check_not_erased(const Call& call, std::string_view conversation);

}  // namespace palimpsest
