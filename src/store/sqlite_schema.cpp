#include "store/sqlite_schema.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "store/store_lock.h"

namespace palimpsest {
namespace {

// Step n brings a file of version n to version n + 1. Only ever append: files of every version that
// was released are out there.
constexpr const char* migrations[] = {R"sql(
CREATE TABLE log(
  log INTEGER PRIMARY KEY AUTOINCREMENT,
  uid BLOB NOT NULL UNIQUE,
  tenant TEXT NOT NULL, name TEXT,
  parent BLOB, base INTEGER NOT NULL,
  owner TEXT NOT NULL, title TEXT NOT NULL, system_prompt TEXT NOT NULL,
  metadata TEXT NOT NULL, policy TEXT NOT NULL,
  created INTEGER NOT NULL, ttl INTEGER, revision INTEGER NOT NULL,
  sum INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX log_name    ON log(tenant, name)         WHERE name   IS NOT NULL;
CREATE INDEX        log_created ON log(tenant, created, uid) WHERE name   IS NOT NULL;
CREATE INDEX        log_owner   ON log(tenant, owner, log)   WHERE name   IS NOT NULL;
CREATE INDEX        log_forks   ON log(parent, base)         WHERE parent IS NOT NULL;
CREATE TABLE head(
  log INTEGER PRIMARY KEY, uid BLOB NOT NULL, tenant TEXT,
  "end" INTEGER NOT NULL, basis INTEGER NOT NULL, messages INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  updated INTEGER NOT NULL, accessed INTEGER NOT NULL, expires INTEGER,
  sum INTEGER NOT NULL) STRICT;
CREATE INDEX head_updated  ON head(tenant, updated, uid)  WHERE tenant  IS NOT NULL;
CREATE INDEX head_accessed ON head(tenant, accessed, uid) WHERE tenant  IS NOT NULL;
CREATE INDEX head_expires  ON head(expires)               WHERE expires IS NOT NULL;
CREATE TABLE entry(
  id INTEGER PRIMARY KEY,
  log INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL,
  at INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  sum INTEGER NOT NULL, payload_sum INTEGER NOT NULL,
  meta BLOB NOT NULL, payload BLOB) STRICT;
CREATE UNIQUE INDEX entry_seq  ON entry(log, seq);
CREATE INDEX        entry_kind ON entry(log, kind, seq) WHERE kind > 0;
CREATE TABLE once(
  id INTEGER PRIMARY KEY,
  log INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX once_key ON once(log, key);
CREATE TABLE label(
  tenant TEXT NOT NULL, k TEXT NOT NULL, v TEXT NOT NULL, log INTEGER NOT NULL,
  PRIMARY KEY(tenant, k, v, log)) STRICT, WITHOUT ROWID;
CREATE TABLE record(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, space TEXT NOT NULL, key TEXT NOT NULL,
  version INTEGER NOT NULL, expires INTEGER, sum INTEGER NOT NULL, value BLOB NOT NULL) STRICT;
CREATE UNIQUE INDEX record_key     ON record(tenant, space, key);
CREATE INDEX        record_expires ON record(expires) WHERE expires IS NOT NULL;
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counter VALUES('record_version', 0);
)sql",
                                      // Of a body that is used by many entries, each names it; it
                                      // goes with the last of them.
                                      R"sql(
ALTER TABLE entry ADD COLUMN shared INTEGER;
CREATE TABLE body(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, hash BLOB NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE UNIQUE INDEX body_hash ON body(tenant, hash);
CREATE INDEX entry_shared ON entry(shared) WHERE shared IS NOT NULL;
CREATE TRIGGER entry_deleted AFTER DELETE ON entry WHEN old.shared IS NOT NULL BEGIN
  DELETE FROM body WHERE id = old.shared
    AND NOT EXISTS (SELECT 1 FROM entry WHERE shared = old.shared);
END;
CREATE TRIGGER entry_replaced AFTER UPDATE OF shared ON entry
WHEN old.shared IS NOT NULL BEGIN
  DELETE FROM body WHERE id = old.shared
    AND NOT EXISTS (SELECT 1 FROM entry WHERE shared = old.shared);
END;
)sql",
                                      // Of an index that every append changes each append would
                                      // write a page; so listings go by the minute.
                                      R"sql(
ALTER TABLE head ADD COLUMN updated_minute INTEGER NOT NULL DEFAULT 0;
ALTER TABLE head ADD COLUMN accessed_minute INTEGER NOT NULL DEFAULT 0;
UPDATE head SET updated_minute = updated / 60000, accessed_minute = accessed / 60000;
DROP INDEX head_updated;
DROP INDEX head_accessed;
CREATE INDEX head_updated  ON head(tenant, updated_minute)  WHERE tenant IS NOT NULL;
CREATE INDEX head_accessed ON head(tenant, accessed_minute) WHERE tenant IS NOT NULL;
)sql",
                                      // One tree instead of two: of each that an append changes a
                                      // page is written.
                                      R"sql(
CREATE TABLE keyed(log INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL,
first INTEGER NOT NULL, last INTEGER NOT NULL, at INTEGER NOT NULL,
PRIMARY KEY(log, key)) STRICT, WITHOUT ROWID;
INSERT INTO keyed SELECT log, key, digest, first, last, at FROM once;
DROP TABLE once;
ALTER TABLE keyed RENAME TO once;
)sql"};
static_assert(std::size(migrations) == sqlite_schema_version);

std::string system_error(std::string_view what, const std::string& path) {
    return std::string(what) + " " + path + ": " + std::strerror(errno);
}

// The name of the file goes in front of what SQLite says.
Error about(const std::string& path, Error error) {
    error.message = path + ": " + error.message;
    return error;
}

Result<void> sync_folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail(ErrorCode::unavailable, system_error("cannot open", folder));
    const int code = ::fsync(fd);
    std::string error = code == 0 ? "" : system_error("cannot sync", folder);
    ::close(fd);
    if (code != 0) return fail(ErrorCode::unavailable, std::move(error));
    return {};
}

Result<void> migrate(SqliteDatabase& db, std::int64_t from, std::int64_t to) {
    PAL_CHECK(db.execute("BEGIN IMMEDIATE"));
    for (std::int64_t step = from; step < to; ++step) PAL_CHECK(db.execute(migrations[step]));
    const std::string version = "PRAGMA user_version=" + std::to_string(to);
    PAL_CHECK(db.execute(version.c_str()));
    const std::string id = "PRAGMA application_id=" + std::to_string(sqlite_application_id);
    PAL_CHECK(db.execute(id.c_str()));
    return db.execute("COMMIT");
}

// Nobody sees the file before it has its name, so one sync at the end does.
Result<void> write_schema(const std::string& path, const SqliteLayout& layout) {
    PAL_TRY(db, SqliteDatabase::open(path, SqliteDatabase::Mode::read_write));
    const std::string page_size = "PRAGMA page_size=" + std::to_string(layout.page_bytes);
    PAL_CHECK(db->execute(page_size.c_str()));
    PAL_CHECK(db->execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY"));
    PAL_CHECK(migrate(*db, 0, layout.version));
    if (layout.packed) PAL_CHECK(db->execute("VACUUM"));
    return db->execute("PRAGMA journal_mode=WAL");
}

Result<void> make_file(const std::string& path, const SqliteLayout& layout) {
    // Made here so that nobody else may read it: what SQLite puts beside it gets the same rights.
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const auto failed = [&](std::string_view what) {
        return fail(code_of_errno(errno), system_error(what, path));
    };
    if (fd < 0) return failed("cannot create");
    Result<void> made = write_schema(path, layout);
    if (made && ::fsync(fd) != 0) made = failed("cannot sync");
    ::close(fd);
    return made;
}

// How long the file says that it is; 0 when it does not. With a write-ahead log beside it the log
// decides.
std::uint64_t told_bytes(const std::string& path) {
    struct stat wal{};
    if (::stat((path + "-wal").c_str(), &wal) == 0 && wal.st_size > 0) return 0;
    unsigned char head[100] = {};
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(head), sizeof(head));
    const auto number = [&](std::size_t at) {
        return std::uint64_t{head[at]} << 24 | std::uint64_t{head[at + 1]} << 16 |
               std::uint64_t{head[at + 2]} << 8 | head[at + 3];
    };
    // Pages of others' databases have other sizes; 1 stands for 64 KiB.
    const std::uint64_t said = std::uint64_t{head[16]} << 8 | head[17];
    const std::uint64_t page_bytes = said == 1 ? 65536 : said;
    // The number of pages counts only if it was written with the last change.
    return number(24) == number(92) ? number(28) * page_bytes : 0;
}

Result<void> check_file(const std::string& path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0)
        return fail(code_of_errno(errno), system_error("cannot open", path));
    if (!S_ISREG(found.st_mode))
        return fail(ErrorCode::invalid_request, path + " is not a file; choose another path");
    if (::access(path.c_str(), R_OK | W_OK) != 0)
        return fail(code_of_errno(errno),
                    system_error("cannot open", path) + "; a store must be readable and writable");
    if (found.st_size == 0)
        return fail(ErrorCode::invalid_request,
                    path +
                        " is empty: a store was there and is damaged, or somebody else made the "
                        "file; remove it to start a new store");
    const auto bytes = static_cast<std::uint64_t>(found.st_size);
    if (starts_like_sqlite(path) && bytes < told_bytes(path))
        return fail(ErrorCode::unprocessable,
                    path + " was cut: " + std::to_string(told_bytes(path) - bytes) +
                        " bytes are missing at its end; put a backup back; `pal doctor` "
                        "lists what is still readable");
    if (starts_like_sqlite(path)) return {};
    return fail(
        ErrorCode::invalid_request,
        path +
            " is not an SQLite database: choose another path, or look what is left of a store "
            "there; `pal doctor` lists what is readable");
}

Result<void> check_version(SqliteDatabase& db) {
    PAL_TRY(id, db.integer("PRAGMA application_id"));
    PAL_TRY(version, db.integer("PRAGMA user_version"));
    if (id != sqlite_application_id)
        return fail(ErrorCode::invalid_request,
                    "this is an SQLite database, but not a Palimpsest store (application_id " +
                        std::to_string(id) + "); choose another path");
    if (version > sqlite_schema_version)
        return fail(ErrorCode::invalid_request,
                    "the store has schema version " + std::to_string(version) +
                        ", this program knows versions up to " +
                        std::to_string(sqlite_schema_version) + "; use a newer program");
    if (version < 1)
        return fail(ErrorCode::internal, "the store has no valid schema version (" +
                                             std::to_string(version) + "): the file is damaged");
    if (version == sqlite_schema_version) return {};
    return migrate(db, version, sqlite_schema_version);
}

const char* sync_pragma(SyncLevel sync) {
    switch (sync) {
        case SyncLevel::normal:
            return "PRAGMA synchronous=NORMAL";
        case SyncLevel::off:
            return "PRAGMA synchronous=OFF";
        case SyncLevel::full:
            break;
    }
    return "PRAGMA synchronous=FULL";
}

Result<void> set_up_writer(SqliteDatabase& db, SyncLevel sync) {
    PAL_CHECK(check_version(db));
    PAL_CHECK(db.execute(sync_pragma(sync)));
    {
        SqliteQuery wal = db.query("PRAGMA journal_mode=WAL");
        PAL_TRY(row, wal.step());
        if (!row || wal.bytes_at(0) != "wal")
            return fail(
                ErrorCode::unavailable,
                "the file system does not allow SQLite's write-ahead log; use a local disk");
    }
    PAL_CHECK(db.execute(
        "PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY;"
        "PRAGMA cache_size=-16384; PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF"));
    return {};
}

}  // namespace

// Outside of a transaction: what fails, the index over damaged entries at the latest, does not take
// the tables back.
void add_missing_tables(SqliteDatabase& db) {
    for (std::size_t step = 1; step < std::size(migrations); ++step)
        (void)db.execute(migrations[step]);
}

bool starts_like_sqlite(const std::string& path) {
    constexpr std::string_view magic("SQLite format 3\0", 16);
    std::string begin(magic.size(), '\0');
    std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin));
    return begin == magic;
}

Result<void> create_sqlite_file(const std::string& path, const SqliteLayout& layout) {
    // SQLite would play an old log into the new file.
    for (const char* end : {"-wal", "-journal"})
        if (struct stat found{}; ::stat((path + end).c_str(), &found) == 0 && found.st_size > 0)
            return fail(ErrorCode::unprocessable,
                        path + " is missing, but " + path + end +
                            " is there: put the file back, or remove both");
    const std::string fresh = path + ".new";
    for (const char* end : {"", "-journal", "-wal", "-shm"}) ::unlink((fresh + end).c_str());
    if (const Result<void> made = make_file(fresh, layout); !made) {
        for (const char* end : {"", "-journal", "-wal", "-shm"}) ::unlink((fresh + end).c_str());
        return std::unexpected(about(path, made.error()));
    }
    if (::rename(fresh.c_str(), path.c_str()) != 0)
        return fail(code_of_errno(errno), system_error("cannot create", path));
    return sync_folder_of(path);
}

Result<std::unique_ptr<SqliteDatabase>> open_sqlite_writer(const std::string& path,
                                                           SyncLevel sync) {
    using Mode = SqliteDatabase::Mode;
    PAL_CHECK(check_file(path));
    auto db =
        SqliteDatabase::open(path, sync == SyncLevel::full ? Mode::gathering : Mode::read_write);
    if (!db) return std::unexpected(about(path, std::move(db).error()));
    if (const Result<void> ready = set_up_writer(**db, sync); !ready)
        return std::unexpected(about(path, ready.error()));
    return db;
}

Result<std::unique_ptr<SqliteDatabase>> open_sqlite_reader(const std::string& path) {
    PAL_TRY(db, SqliteDatabase::open(path, SqliteDatabase::Mode::read_only));
    PAL_CHECK(
        db->execute("PRAGMA query_only=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096;"
                    "PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF"));
    return std::move(db);
}

}  // namespace palimpsest
