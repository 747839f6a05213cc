// The tables of the SQLite store, their version, and how a file becomes one. docs/FORMATS.md
// explains every column.
//
// A new store is made beside its final name and moved there complete, so a file under that name is
// a whole store or a damaged one, never a half-made one; nothing is ever laid over what is there.
#pragma once
#include <memory>
#include <string>

#include "palimpsest/error.h"
#include "store/sqlite_db.h"

namespace palimpsest {

constexpr std::int64_t sqlite_schema_version = 4;
constexpr std::int64_t sqlite_application_id = 0x50414c4d;  // "PALM"

enum class SyncLevel : std::uint8_t { full, normal, off };

// What new stores were laid out as, the newest first. All of one layout have their tables in the
// same places and say so on their first page alone, so that a lost one can be made anew.
struct SqliteLayout {
    std::int64_t version;
    std::size_t page_bytes;
    bool packed;  // Tables stand without gaps.
};
constexpr SqliteLayout sqlite_layouts[] = {{sqlite_schema_version, 4096, true}, {3, 8192, false}};

// Makes an empty store at `path`, where nothing may be.
Result<void> create_sqlite_file(const std::string& path,
                                const SqliteLayout& layout = sqlite_layouts[0]);

// For a look into a damaged file of version 1: gives it the tables that reading needs, as far as
// they can be made.
void add_missing_tables(SqliteDatabase& db);

// Whether the file begins as every SQLite database does.
bool starts_like_sqlite(const std::string& path);

// The connection that writes: checks that the file is ours and readable, migrates it, sets the
// pragmas.
Result<std::unique_ptr<SqliteDatabase>> open_sqlite_writer(const std::string& path, SyncLevel sync);
Result<std::unique_ptr<SqliteDatabase>> open_sqlite_reader(const std::string& path);

}  // namespace palimpsest
