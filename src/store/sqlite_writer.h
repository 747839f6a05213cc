// The one connection that writes. Who waits in front of it has its work done in one transaction
// with one sync (see write_line.h). Work that fails does not harm the others of its group: it
// writes nothing, or everything is rolled back and each one is done alone.
//
// This connection alone checkpoints. (SQLite before 3.51.3 can corrupt a file when two connections
// do so at the same moment.)
//
// After a failed sync nothing that was being written is trusted: the callers are told
// `outcome_unknown`, the connection is opened anew and writes everything back into the file before
// it takes another write.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "store/sqlite_schema.h"
#include "store/store_lock.h"
#include "store/write_line.h"

namespace palimpsest {

class SqliteWriter {
public:
    // Checks and writes, inside a transaction that is not its own. May be run again after the
    // transaction was rolled back, also by another thread: it must give its results anew.
    using Work = std::function<Result<void>(SqliteDatabase&)>;

    // The lock must outlive it.
    SqliteWriter(std::unique_ptr<SqliteDatabase> db, std::string path, SyncLevel sync,
                 const StoreLock& lock);
    ~SqliteWriter();

    // Returns when the work is durable or has failed. `bytes` is about how much it writes.
    // `written`: see Store::append_ahead.
    Result<void> run(const Work& work, std::size_t bytes = 0,
                     const std::function<void()>& written = {});
    // The same for work that removes content: when it returns, the WAL has none of it either,
    // unless a reader was in the way for long; then one behind a later work does it.
    Result<void> run_and_purge(const Work& work);
    bool purge_is_due() const { return purge_due_; }

    // How often what was written was taken back. For work alone, while it runs.
    std::uint64_t undone() const { return undone_; }
    // For tests and benches: transactions committed so far.
    std::uint64_t commits() const { return commits_; }

private:
    struct Waiting;
    Result<void> wait_in_line(Waiting& me);
    std::size_t lead(std::span<Waiting* const> waiting);
    void do_group(std::span<Waiting* const> group);
    bool do_together(std::span<Waiting* const> group);
    Result<void> get_ready();
    void empty_wal();
    void checkpoint_if_due();

    WriteLine<Waiting> line_;
    // What follows belongs to whoever is at the front.
    std::unique_ptr<SqliteDatabase> db_;
    std::string path_;
    SyncLevel sync_;
    const StoreLock& lock_;
    bool distrusted_ = false;
    std::atomic<bool> purge_due_ = false;
    std::int64_t checkpoint_at_;
    std::uint64_t undone_ = 0;
    std::atomic<std::uint64_t> commits_ = 0;
};

}  // namespace palimpsest
