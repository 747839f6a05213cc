// Rows of a header that are lost, made anew from what the other tables tell.
#pragma once
#include "store/postgres_rows.h"

namespace palimpsest {

// Gives every log of the family its row of pal_head back, where it is missing. What only that row
// knew, the time to live, is `ttl` afterwards, from now on.
PgCall mend_heads(PgNow now, std::optional<Duration> ttl, const LogId& root);

// Gives a conversation its row of pal_log back, as far as it takes to remove it: nothing tells what
// people wrote into it, nor what it was forked from.
PgCall mend_log(PgNow now, const ConversationId& name);
// No row, or one: the root of the family.
PgCall find_root(const ConversationId& name);
// Roots under which bodies lie that entries of the conversation may use.
PgCall find_body_roots(const ConversationId& name);

}  // namespace palimpsest
