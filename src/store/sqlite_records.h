// Records in the SQLite store. One counter gives all versions, so a version is never seen twice.
#pragma once
#include <vector>

#include "palimpsest/store.h"
#include "store/sqlite_db.h"

namespace palimpsest {

// not_found when there is none or it has expired.
Result<Record> find_record(SqliteDatabase& db, const RecordKey& key, Time now);
Result<std::uint64_t> write_record(SqliteDatabase& db, const RecordWrite& write, Time now);
Result<std::vector<Record>> list_records(SqliteDatabase& db, const RecordQuery& query, Time now);
Result<void> remove_expired_records(SqliteDatabase& db, Time now, std::size_t limit);
// For check(): how many there are; calls `damaged` with the key of each that cannot be trusted.
Result<std::uint64_t> check_records(SqliteDatabase& db,
                                    const std::function<void(const RecordKey&)>& damaged);
// The counter is there and beyond every version.
Result<bool> counter_is_right(SqliteDatabase& db);
// Whether it had to be set.
Result<bool> mend_counter(SqliteDatabase& db);

}  // namespace palimpsest
