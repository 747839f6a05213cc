// What an erase of an encrypted store is about to do, written down before it does it: the log goes
// first and its key after it, and an erase that was broken off in between is finished by the next
// one of the same name. A record of the space `pal.erase` under the conversation's id: the uids of
// the logs whose keys go with them.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

// Spaces that only the encrypted store itself may use.
bool is_own_space(std::string_view space);

// Empty: none was begun.
Result<std::vector<LogId>> read_erasure(Store& inner, const ConversationId& name);
Result<void> write_erasure(Store& inner, const ConversationId& name, std::span<const LogId> logs);
Result<void> remove_erasure(Store& inner, const ConversationId& name);
// Those that have removed a log, by the names. No tenants: of all.
Result<std::vector<ConversationId>> unfinished_erasures(Store& inner,
                                                        std::span<const std::string> tenants);

}  // namespace palimpsest
