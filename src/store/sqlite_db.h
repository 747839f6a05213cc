// One SQLite connection with its prepared statements, and a query that is being run on it. Only its
// .cpp, and sqlite_gather.cpp below it, speak to the SQLite library.
//
// A connection serves one thread at a time. Statements are prepared once and kept; a SqliteQuery
// borrows one and gives it back, reset, when it goes out of scope. What is bound as text or blob is
// not copied: it must live until the query is done.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace palimpsest {

class SqliteQuery {
public:
    SqliteQuery(sqlite3* db, sqlite3_stmt* statement, int error, bool* in_use)
        : db_(db), statement_(statement), error_(error), in_use_(in_use) {}
    ~SqliteQuery();
    SqliteQuery(const SqliteQuery&) = delete;
    SqliteQuery& operator=(const SqliteQuery&) = delete;

    // The next parameter, from left to right. A fault is reported by step().
    SqliteQuery& integer(std::int64_t value);
    SqliteQuery& integer(std::optional<std::int64_t> value);
    SqliteQuery& number(std::uint64_t value) { return integer(static_cast<std::int64_t>(value)); }
    SqliteQuery& text(std::string_view value);
    SqliteQuery& blob(std::string_view value);
    SqliteQuery& null();

    Result<bool> step();  // true: there is a row
    Result<void> run();   // to the end

    std::int64_t integer_at(int column) const;
    std::uint64_t number_at(int column) const {
        return static_cast<std::uint64_t>(integer_at(column));
    }
    std::optional<std::int64_t> maybe_integer_at(int column) const;
    std::string_view bytes_at(int column) const;  // text or blob; until the next step
    bool null_at(int column) const;

private:
    void note(int code);
    sqlite3* db_;
    sqlite3_stmt* statement_;
    int error_;
    int next_ = 1;
    bool* in_use_;
};

// How a commit ended, for the caller to say what is known.
enum class CommitOutcome : std::uint8_t { done, failed, unknown };
struct CommitResult {
    CommitOutcome outcome = CommitOutcome::done;
    Error error = {};
};

class SqliteDatabase {
public:
    // `gathering`: read_write, for who sets synchronous=FULL and nothing else (sqlite_gather.h).
    enum class Mode : std::uint8_t { read_only, read_write, create, gathering };
    // `path` must exist unless the mode is `create`.
    static Result<std::unique_ptr<SqliteDatabase>> open(const std::string& path, Mode mode);
    ~SqliteDatabase();
    SqliteDatabase(const SqliteDatabase&) = delete;
    SqliteDatabase& operator=(const SqliteDatabase&) = delete;

    Result<void> execute(const char* sql);  // any number of statements, no rows
    SqliteQuery query(std::string_view sql);
    Result<std::int64_t> integer(std::string_view sql);  // the first column of the first row

    // `written` is called, on a gathering connection, once the commit is written and not yet
    // synced.
    CommitResult commit(const std::function<void()>& written = {});
    void roll_back();              // whatever is open; never fails
    bool in_transaction() const;   // false also after a fault that ended it
    std::int64_t changed() const;  // rows written since the connection was opened
    // Rows that the newest statement wrote, without those of its triggers.
    std::int64_t changed_last() const;
    std::int64_t last_row() const;                         // the rowid of the newest insert
    std::int64_t wal_pages() const { return wal_pages_; }  // after the last commit
    // Writes the WAL back into the file. `empty_wal` also cuts the WAL to nothing, waiting for
    // readers as long as `wait_ms`. False: readers were in the way and some of it stays.
    Result<bool> checkpoint(bool empty_wal, int wait_ms);

private:
    struct Prepared {
        sqlite3_stmt* statement = nullptr;
        bool in_use = false;
    };
    SqliteDatabase() = default;
    sqlite3* db_ = nullptr;
    std::map<std::string, Prepared, std::less<>> prepared_;
    std::int64_t wal_pages_ = 0;
};

const char* sqlite_library_version();

}  // namespace palimpsest
