// Reads entries past the indexes, in the order in which they lie in the file, over whatever cannot
// be read: for conversations whose index is damaged while their entries are not.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "store/sqlite_rows.h"

namespace palimpsest {

// How many of the entries that each log should own are there, with the right checksums; by the
// number of the log.
std::map<std::int64_t, std::uint64_t> scan_entries(SqliteDatabase& db,
                                                   const std::vector<LogRow>& logs);

}  // namespace palimpsest
