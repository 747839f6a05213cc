// What every store does to a header, and what every store refuses: written once, so that stores
// differ in where bytes lie and in nothing else.
//
// Pure but for memory. The order of checks of one batch is: is the request well formed, the
// idempotency key (the store's), absent or present, then check_expected().
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "palimpsest/store.h"

namespace palimpsest {

// Limits of one request. Above them: too_large. They bound what one call can make a store hold in
// memory at once; an engine or server sets lower ones of its own.
constexpr std::size_t entry_bytes_max = 64U << 20U;   // what people said, in one entry
constexpr std::size_t text_bytes_max = 4U << 20U;     // title, system prompt, policy
constexpr std::size_t key_bytes_max = 1024;           // idempotency keys, keys of records
constexpr std::size_t record_bytes_max = 16U << 20U;  // the value of a record

// Idempotency keys are kept this long at least.
constexpr Duration key_lifetime = std::chrono::hours(24);

// invalid_request or too_large when the batch could never be written.
Result<void> check_batch(const ConversationId& name, const Batch& batch);
Result<void> check_read(const ReadQuery& query);
Result<void> check_list(const ListQuery& query);
Result<void> check_record(const RecordKey& key);
Result<void> check_record(const RecordWrite& write);

// Compares what the batch expects with `header`: the conversation's, or the one it would be created
// with. Without a conversation no incarnation can be expected. conflict otherwise.
Result<void> check_expected(const Header& header, bool exists, const Batch& batch);
// A log's uid, end and bounds against a fork that wants to start from it.
Result<void> check_fork(const Header& parent, const ConversationId& child, const ForkPoint& fork);

// The header that a batch creates, before its patch and its entries are applied.
Header new_header(const ConversationId& name, const LogId& log, const Batch& batch, Time now);
// An access at `now`. While the clock is behind, the expiry stays: nothing is removed early.
void put_off_expiry(Header& header, Time now);
// The header after the batch; a ttl that it changes counts from `now`. Fails as apply_patch does;
// `header` is then unchanged.
Result<void> apply_batch(Header& header, const Batch& batch, Time now);

// Of logs of which nothing tells whose they are: no tenant is shown another's words.
constexpr std::string_view lost_tenant = "lost";

// Expired is expired at that very millisecond.
inline bool expired(const Header& header, Time now) {
    return header.expires && *header.expires <= now;
}

// `internal`: entry `seq` of the conversation (named for people) is `what`, and what to do about
// it.
std::unexpected<Error> entry_trouble(const Header& header, Seq seq, std::string_view what);

// As if it had been read with ReadQuery::content = false.
void remove_content(Body& body);

// The position of a listing: the sort key and the log, bound to the order that it belongs to.
struct Cursor {
    Time time = {};
    LogId log = {};
    auto operator<=>(const Cursor&) const = default;
};
Time sort_time(const Header& header, SortBy sort);
std::string write_cursor(const ListQuery& query, const Cursor& cursor);
// invalid_request when it is not the cursor of a listing with the same order.
Result<Cursor> parse_cursor(const ListQuery& query);

}  // namespace palimpsest
