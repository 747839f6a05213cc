// Looks through a whole SQLite store and says what is wrong with it, for `pal doctor`.
#pragma once
#include <string>

#include "palimpsest/store.h"
#include "store/sqlite_db.h"

namespace palimpsest {

// Goes on as far as the file can be read. When anything is wrong, the last findings ("readable")
// name the conversations that are whole.
Result<CheckReport> check_sqlite(SqliteDatabase& db, const std::string& path);

}  // namespace palimpsest
