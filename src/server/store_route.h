// The internal route: POST /internal/store/{operation}. Commands on a store that this process holds
// come in here, with the token from the lock file; nobody else does.
#pragma once
#include "server/route.h"

namespace palimpsest {

// `unauthorized` without the site's token, also when the site has none. The body and the reply are
// as in store/port_wire.h; an error of the store is part of the reply.
Result<RouteReply> call_store(Call& call);

}  // namespace palimpsest
