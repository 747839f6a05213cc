// Rows of the SQLite store as values: headers, entries, and the checksums that every row carries.
//
// A checksum covers the identity of its row (which log, which seq), so a row that was damaged, or
// that stands in another's place, is never given out. All functions work inside the transaction of
// the connection that they are given.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/codec.h"
#include "palimpsest/store.h"
#include "store/sqlite_db.h"

namespace palimpsest {

// A header, and the number by which the tables know its log.
struct LogRow {
    std::int64_t log = 0;
    Header header = {};
    bool named() const { return !header.name.id.empty(); }
};

// For queries that find logs: the columns that read_log_row expects, of `log l` and `head h`.
extern const char* const log_columns;
constexpr int log_column_count = 23;
Result<LogRow> read_log_row(const SqliteQuery& query);  // verifies both checksums

// A row as it stands, and which of its halves is what was written.
struct StoredLog {
    LogRow row = {};
    bool cold_right = false, head_right = false;
    bool whole() const { return cold_right && head_right; }
};
StoredLog read_stored_log(const SqliteQuery& query);
Result<std::optional<StoredLog>> find_stored_log(SqliteDatabase& db, const ConversationId& name);
Result<std::optional<StoredLog>> find_stored_log(SqliteDatabase& db, std::int64_t log);
Result<std::optional<StoredLog>> find_stored_log(SqliteDatabase& db, const LogId& uid);
Result<std::vector<StoredLog>> stored_children_of(SqliteDatabase& db, const LogId& uid);

Result<std::optional<LogRow>> find_log(SqliteDatabase& db, const ConversationId& name);
Result<std::optional<LogRow>> find_log(SqliteDatabase& db, const LogId& uid);
Result<std::vector<LogRow>> children_of(SqliteDatabase& db, const LogId& uid);
// The largest seq at which a log was forked; nothing: it has no forks.
Result<std::optional<Seq>> largest_fork(SqliteDatabase& db, const LogId& uid);

Result<void> insert_log(SqliteDatabase& db, LogRow& row);         // sets row.log
Result<void> insert_head(SqliteDatabase& db, const LogRow& row);  // the hot half, over any other
Result<void> update_log(SqliteDatabase& db, const LogRow& row);   // the cold half
// `before`: as it was found; {} if that is not known. What did not change is left alone in the
// indexes: each that is written costs the commit a page.
Result<void> update_head(SqliteDatabase& db, const LogRow& row, const Header& before);

// What a log must be told when it ends at `at`: the newest basis and the number of messages there.
struct Standing {
    Seq basis = {};
    std::uint64_t messages = 0;
};
Result<Standing> standing_at(SqliteDatabase& db, const LogRow& row, Seq at);

// A log that has expired or lost its name is gone, but for what its living forks share: then it is
// nameless and ends at the largest of their fork points.
Result<std::optional<LogRow>> as_of(SqliteDatabase& db, LogRow row, Time now);

// ---- entries ------------------------------------------------------------------------------------

// An entry but for its body.
struct EntryRow {
    Seq seq = {};
    EntryKind kind = EntryKind::message;
    Time at = {};
    std::uint64_t ordinal = 0;
    std::uint64_t payload_sum = 0;
};
std::uint64_t sum_of_payload(const Bytes& payload);
// Covers the payload through its own sum, so that it is good for reads without content too.
std::uint64_t sum_of_entry(const LogId& uid, const EntryRow& row, std::string_view meta);

// The columns that read_entry_row expects, of `entry`, with and without its content.
extern const char* const entry_columns;
extern const char* const entry_columns_without_payload;
Result<Entry> read_entry_row(const SqliteQuery& query, const LogRow& log, bool content);

Time from_ms(std::int64_t ms);
std::int64_t to_ms(Time time);
std::int64_t minute_of(Time time);  // by which listings are indexed
std::string_view bytes_of(const LogId& uid);
std::string where_is(const LogRow& row);  // for people: tenant/id, or the uid of a nameless log

}  // namespace palimpsest
