// Looks through a whole SQLite store and says what is wrong with it, for `pal doctor`.
#pragma once
#include <string>

#include "palimpsest/store.h"
#include "store/sqlite_db.h"

namespace palimpsest {

// When the conversations that are whole are named, as the last findings ("readable").
enum class NameWhole : std::uint8_t { when_something_is_wrong, always };

// Goes on as far as the file can be read.
Result<CheckReport> check_sqlite(SqliteDatabase& db, const std::string& path,
                                 NameWhole name_whole = NameWhole::when_something_is_wrong);

}  // namespace palimpsest
