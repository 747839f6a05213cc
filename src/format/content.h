// What messages hold, as compaction sees it, and messages with some of it changed.
#pragma once
#include <span>

#include "palimpsest/compaction.h"

namespace palimpsest {

Result<Content> read_content_of(const Message& message);
// The message's bytes with these parts changed: see PartChange; none when all of it goes.
// invalid_request when a part cannot be changed so.
Result<Bytes> change_content(const Message& message, std::span<const PartChange> changes);

// The message as it can still be sent: what its provider keeps no longer at `now_s` (seconds since
// 1970) gives way to its words. The same message if it has nothing of the kind.
Result<Message> without_expired(const Message& message, std::int64_t now_s);

// Cheap looks at the raw bytes; see MessageTools.
bool may_hold_results(const Message& message);
bool has_error_result(const Message& message);
bool is_sealed_past(const Message& message);

}  // namespace palimpsest
