#include "store/sqlite_db.h"

#include <sqlite3.h>

#include <cerrno>

#include "store/sqlite_gather.h"

namespace palimpsest {
namespace {

constexpr int busy_timeout_ms = 10'000;

// The kind of an error. The file of shared memory beside the store could not be made longer: what
// it needs is space, whatever the library calls it.
int kind_of_error(int error) {
    return error == SQLITE_IOERR_SHMSIZE ? SQLITE_FULL : error & 0xff;
}

ErrorCode code_of(int error) {
    switch (kind_of_error(error)) {
        case SQLITE_FULL:
            return ErrorCode::no_space;
        case SQLITE_TOOBIG:
            return ErrorCode::too_large;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_READONLY:
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
        case SQLITE_AUTH:
        case SQLITE_NOMEM:
        case SQLITE_IOERR:
            return ErrorCode::unavailable;
        default:
            return ErrorCode::internal;
    }
}

std::string_view advice_for(int error) {
    switch (kind_of_error(error)) {
        case SQLITE_FULL:
            return "; free some space, nothing else is needed";
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return "; another program keeps the database locked";
        case SQLITE_READONLY:
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
            return "; check that the file and its folder exist and may be written";
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return "; the file is damaged; `pal doctor` lists what is readable";
        case SQLITE_IOERR:
            return "; the disk or file system reports a fault";
        default:
            return "";
    }
}

// What the system said last about the write-ahead log.
int errno_of_log(sqlite3* db) {
    sqlite3_file* log = nullptr;
    int number = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log &&
        log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

// The library knows of full disks, but not of a limit on the size of files.
int error_in(sqlite3* db, int error) {
    const bool limited = error == SQLITE_IOERR_WRITE && db && errno_of_log(db) == EFBIG;
    return limited ? SQLITE_FULL : error;
}

Error error_of(sqlite3* db, int error) {
    error = error_in(db, error);
    std::string text = "SQLite: ";
    text += sqlite3_errstr(error);
    if (db && sqlite3_extended_errcode(db) == error) {
        const std::string_view detail = sqlite3_errmsg(db);
        if (detail != sqlite3_errstr(error)) text.append(" (").append(detail).append(")");
    }
    text += " [" + std::to_string(error) + "]";
    text += advice_for(error);
    return {code_of(error), std::move(text)};
}

int remember_wal_pages(void* out, sqlite3*, const char*, int pages) {
    *static_cast<std::int64_t*>(out) = pages;
    return SQLITE_OK;
}

}  // namespace

const char* sqlite_library_version() {
    return sqlite3_libversion();
}

// ---- query --------------------------------------------------------------------------------------

SqliteQuery::~SqliteQuery() {
    if (!statement_) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    *in_use_ = false;
}

void SqliteQuery::note(int code) {
    if (error_ == SQLITE_OK) error_ = code;
    ++next_;
}

SqliteQuery& SqliteQuery::integer(std::int64_t value) {
    note(sqlite3_bind_int64(statement_, next_, value));
    return *this;
}
SqliteQuery& SqliteQuery::integer(std::optional<std::int64_t> value) {
    return value ? integer(*value) : null();
}
SqliteQuery& SqliteQuery::null() {
    note(sqlite3_bind_null(statement_, next_));
    return *this;
}
SqliteQuery& SqliteQuery::text(std::string_view value) {
    const char* at = value.data() ? value.data() : "";
    note(sqlite3_bind_text64(statement_, next_, at, value.size(), SQLITE_STATIC, SQLITE_UTF8));
    return *this;
}
SqliteQuery& SqliteQuery::blob(std::string_view value) {
    const char* at = value.data() ? value.data() : "";  // Null would bind NULL.
    note(sqlite3_bind_blob64(statement_, next_, at, value.size(), SQLITE_STATIC));
    return *this;
}

Result<bool> SqliteQuery::step() {
    if (error_ != SQLITE_OK) return std::unexpected(error_of(db_, error_));
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    error_ = code;
    return std::unexpected(error_of(db_, code));
}

Result<void> SqliteQuery::run() {
    for (;;) {
        PAL_TRY(row, step());
        if (!row) return {};
    }
}

std::int64_t SqliteQuery::integer_at(int column) const {
    return sqlite3_column_int64(statement_, column);
}
std::optional<std::int64_t> SqliteQuery::maybe_integer_at(int column) const {
    if (null_at(column)) return {};
    return integer_at(column);
}
std::string_view SqliteQuery::bytes_at(int column) const {
    const void* at = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return at ? std::string_view(static_cast<const char*>(at), static_cast<std::size_t>(size))
              : std::string_view();
}
bool SqliteQuery::null_at(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

// ---- connection ---------------------------------------------------------------------------------

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::string& path, Mode mode) {
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (mode == Mode::read_only) flags |= SQLITE_OPEN_READONLY;
    if (mode == Mode::read_write || mode == Mode::gathering) flags |= SQLITE_OPEN_READWRITE;
    if (mode == Mode::create) flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const char* const layer = mode == Mode::gathering ? gathering_vfs() : nullptr;
    std::unique_ptr<SqliteDatabase> database(new SqliteDatabase);
    const int code = sqlite3_open_v2(path.c_str(), &database->db_, flags, layer);
    if (code != SQLITE_OK) return std::unexpected(error_of(database->db_, code));
    sqlite3_busy_timeout(database->db_, busy_timeout_ms);
    // Only checkpoint() writes back, and only the writer calls it (see sqlite_writer.h).
    sqlite3_wal_hook(database->db_, remember_wal_pages, &database->wal_pages_);
    return database;
}

SqliteDatabase::~SqliteDatabase() {
    for (auto& [sql, prepared] : prepared_) sqlite3_finalize(prepared.statement);
    sqlite3_close_v2(db_);
}

Result<void> SqliteDatabase::execute(const char* sql) {
    const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return std::unexpected(error_of(db_, code));
    return {};
}

SqliteQuery SqliteDatabase::query(std::string_view sql) {
    auto at = prepared_.find(sql);
    if (at == prepared_.end()) at = prepared_.emplace(std::string(sql), Prepared{}).first;
    Prepared& prepared = at->second;
    int code = SQLITE_OK;
    if (!prepared.statement)
        code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                  SQLITE_PREPARE_PERSISTENT, &prepared.statement, nullptr);
    if (prepared.in_use) code = SQLITE_MISUSE;  // The same query inside itself: ours to avoid.
    if (code != SQLITE_OK) return SqliteQuery(db_, nullptr, code, nullptr);
    prepared.in_use = true;
    return SqliteQuery(db_, prepared.statement, code, &prepared.in_use);
}

Result<std::int64_t> SqliteDatabase::integer(std::string_view sql) {
    SqliteQuery found = query(sql);
    PAL_TRY(row, found.step());
    if (!row) return fail(ErrorCode::internal, "SQLite gave no row for: " + std::string(sql));
    return found.integer_at(0);
}

CommitResult SqliteDatabase::commit(const std::function<void()>& written) {
    const TellBeforeSync telling(written);
    SqliteQuery end = query("COMMIT");
    const Result<bool> ended = end.step();
    if (ended) return {};
    // A failed write or sync may have reached the disk all the same; the other faults come before
    // the first byte of the commit is valid.
    const int error = error_in(db_, sqlite3_extended_errcode(db_));
    const bool unknown = (error & 0xff) == SQLITE_IOERR;
    return {unknown ? CommitOutcome::unknown : CommitOutcome::failed, ended.error()};
}

void SqliteDatabase::roll_back() {
    if (!in_transaction()) return;
    SqliteQuery end = query("ROLLBACK");
    (void)end.step();
}

bool SqliteDatabase::in_transaction() const {
    return sqlite3_get_autocommit(db_) == 0;
}

std::int64_t SqliteDatabase::changed() const {
    return sqlite3_total_changes64(db_);
}

std::int64_t SqliteDatabase::changed_last() const {
    return sqlite3_changes64(db_);
}

std::int64_t SqliteDatabase::last_row() const {
    return sqlite3_last_insert_rowid(db_);
}

Result<bool> SqliteDatabase::checkpoint(bool empty_wal, int wait_ms) {
    int pages = 0, done = 0;
    const int mode = empty_wal ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
    sqlite3_busy_timeout(db_, wait_ms);
    const int code = sqlite3_wal_checkpoint_v2(db_, "main", mode, &pages, &done);
    sqlite3_busy_timeout(db_, busy_timeout_ms);
    if (code == SQLITE_BUSY) return false;
    if (code != SQLITE_OK) return std::unexpected(error_of(db_, code));
    wal_pages_ = 0;
    return pages == done;
}

}  // namespace palimpsest
