// The embedded store: conversations in one SQLite file.
//
// Writes go through one connection that many waiting callers share a sync of (sqlite_writer.h),
// reads through a few others beside it (sqlite_readers.h). The file belongs to one process at a
// time (store_lock.h). Tables: sqlite_schema.cpp; what is done to them: sqlite_logs.h.
#pragma once
#include <memory>
#include <string>

#include "palimpsest/store.h"
#include "store/sqlite_logs.h"
#include "store/sqlite_readers.h"
#include "store/sqlite_writer.h"
#include "store/store_lock.h"

namespace palimpsest {

struct SqliteStoreOptions {
    std::string path = {};
    SyncLevel sync = SyncLevel::full;
    std::size_t readers = 8;           // connections, opened as they are needed
    std::optional<Duration> ttl = {};  // of conversations that name none
    Clock clock = {};                  // empty: the system's
    LockInfo holder = {};
    bool create = true;
};

class SqliteStore : public Store {
public:
    static Result<std::unique_ptr<SqliteStore>> open(SqliteStoreOptions options);

    Result<Header> head(const ConversationId& name) override;
    Result<Header> head(const LogId& log) override;
    Result<Appended> append(const ConversationId& name, const Batch& batch) override;
    Result<Appended> append_ahead(const ConversationId& name, const Batch& batch,
                                  const OnWritten& written) override;
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override;
    Result<Page> list(const ListQuery& query) override;
    Result<void> scrub(std::span<const Replacement> replacements) override;
    Result<Receipt> erase(const ConversationId& name) override;
    Result<Record> get_record(const RecordKey& key) override;
    Result<std::uint64_t> put_record(const RecordWrite& write) override;
    Result<std::vector<Record>> list_records(const RecordQuery& query) override;
    Result<std::size_t> sweep(std::size_t limit) override;
    // Looks at the whole file, whatever tenants are named.
    Result<CheckReport> check(std::span<const std::string> tenants) override;
    Durability durability() const override;
    Result<void> check_writable() override;
    bool held_alone() const override { return true; }
    Result<Contents> contents() override;
    Result<std::vector<Unlisted>> unlisted(std::span<const std::string> tenants) override;
    Result<void> backup(const std::string& path) override;
    // Makes the indexes anew; where nothing else is wrong, removes bodies that no entry uses.
    Result<CheckReport> repair(std::span<const std::string> tenants) override;

    std::uint64_t commits() const { return writer_.commits(); }

private:
    SqliteStore(StoreLock lock, std::unique_ptr<SqliteDatabase> writer, SqliteStoreOptions options);
    Result<LogRow> living_log(SqliteDatabase& db, const LogId& log);

    // In this order: the readers close before the writer, the writer before the lock is given up.
    StoreLock lock_;
    SqliteStoreOptions options_;
    SqliteWriter writer_;
    KnownLogs known_;  // of whoever is at the writer's front
    KeyPruner keys_;   // the same
    SqliteReaders readers_;
};

}  // namespace palimpsest
