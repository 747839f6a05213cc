// retry_key: what tells the repeats that the official clients make by themselves. They send no
// Idempotency-Key, but count their attempts: the first one gets a key, which the next attempt of
// the same body by the same API key finds again, on any server, for ten minutes.
//
// Two people may say the same words, and one's first attempt may never have come here. So an
// attempt is matched with the one before it only, and not once that one's answer was delivered:
// within a conversation half a minute behind it, because an answer can be lost on its way; where
// something new is created at once, because it belongs to whoever has it.
#pragma once
#include "server/route.h"

namespace palimpsest {

// Whether the client counts its attempts, so that a repeat does no harm.
bool counts_attempts(const HttpRequest& request);

// Whether it says by that count that it is not the first.
bool says_repeat(const HttpRequest& request);

// Whether it says that it may be a repeat: by a key, or by the count of its attempts.
bool may_repeat(const HttpRequest& request);

// How long behind its answer an attempt can still be repeated.
constexpr Duration lost_within = std::chrono::seconds(30);

// Sets the call's key where it has none and the client counts its attempts.
enum class RetryOf : std::uint8_t { creation, conversation };
Result<void> find_retry_key(Call& call, RetryOf what);

// To be called once the answer was delivered. Empty: there is nothing to do then.
std::function<void()> on_delivery(const Call& call);

}  // namespace palimpsest
