// The log behind a name whose header cannot be read, for whoever takes away what is kept of it.
#pragma once
#include <optional>

#include "palimpsest/store.h"

namespace palimpsest {

// None: there is no such conversation, or nothing tells which log is its. Where the header is
// damaged or sealed, everything that is there is looked at.
Result<std::optional<LogId>> log_behind(Store& store, const ConversationId& name);

}  // namespace palimpsest
