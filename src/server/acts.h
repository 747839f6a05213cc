// acts: calls the function of a request's route, once for each Idempotency-Key, and writes down in
// the audit log what administers: what removes content for good, or changes agents and policies.
#pragma once
#include "server/route.h"

namespace palimpsest {

Result<RouteReply> carry_out(Call& call);

}  // namespace palimpsest
