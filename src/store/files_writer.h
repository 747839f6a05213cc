// The one writer of a files store. Those who wait in front of it (see write_line.h) add to one
// change, which is made durable with one sync of the journal. Work that cannot share a change (a
// log is made, goes, or is written anew) is done alone.
//
// Order of one commit: the bytes go into the files of the logs, unsynced; then into the journal,
// which is synced; then memory follows. So what memory shows is durable, a full disk is noticed
// before anything is promised, and what a crash leaves in the files behind the acknowledged length
// is cut off. A checkpoint syncs the files and the tables, then forgets the journal.
//
// After a failed sync nothing unsynced is trusted: the callers are told `outcome_unknown`, and
// before the next write all that was acknowledged is written anew from memory of the journal,
// synced, and a new journal begun.
#pragma once
#include <atomic>
#include <functional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>

#include "store/files_change.h"
#include "store/files_journal.h"
#include "store/files_keyed.h"
#include "store/store_lock.h"
#include "store/write_line.h"

namespace palimpsest {

enum class FilesSync : std::uint8_t { always, interval, never };

// All that is on the disk, open.
struct FilesDisk {
    std::unique_ptr<FilesFolder> folder;
    FilesJournal journal;
    KeyedFile index, records;
};

class FilesWriter {
public:
    // Adds to the change, or says that it must be alone, before it has added anything. May be
    // called again for another change: it must give its results anew.
    enum class Staged : std::uint8_t { added, must_be_alone };
    using Join = std::function<Result<Staged>(FilesChange&)>;
    using Alone = std::function<Result<void>()>;

    // All must outlive it.
    FilesWriter(FilesDisk disk, FilesCatalog& catalog, std::shared_mutex& mutex, FilesSync sync,
                const StoreLock& lock);
    ~FilesWriter();  // close()

    // Returns when the work is as durable as the policy says, or has failed. `alone` is called
    // when `join` says so; it may commit several changes.
    Result<void> run(const Join& join, const Alone& alone, std::size_t bytes = 0);
    Result<void> run_alone(const Alone& alone);

    // Inside `alone` only.
    Result<void> commit(FilesChange& change);
    // Before a file is written for a change that is not committed yet.
    Result<void> begin();
    Result<void> checkpoint();
    // A checkpoint after which no byte of what was removed so far is in any file.
    Result<void> purge();
    void trim_files();  // no file is longer than what counts of it
    Result<void> rewrite_tables();
    // The places of the log's entries are in memory when it returns; also inside `join`.
    Result<void> load(FilesLog& log);
    // A new version of the log's file with what `state` owns of its entries; see files_rewrite.cpp.
    using Replacements = std::map<Seq, Body>;
    Result<SwappedLog> rewrite(FilesLog& log, LogState state, const Replacements& with,
                               bool keep_keys);

    Result<void> sync_now();  // for FilesSync::interval
    void close();
    FilesFolder& folder() { return *disk_.folder; }
    std::uint64_t commits() const { return commits_; }

private:
    struct Waiting;
    Result<void> wait_in_line(Waiting& me);
    std::size_t do_group(std::span<Waiting* const> waiting);
    Result<void> get_ready();
    Result<void> write_files(const FilesChange& change);
    Result<void> make_durable(const FilesChange& change);
    void undo_files(const FilesChange& change, bool doubtful);
    void finish(const FilesChange& change);
    void checkpoint_if_due();
    void all_is_synced();
    Result<void> compact_tables(std::uint64_t mark);
    Result<void> write_tables(std::uint64_t mark);
    Result<void> mend();

    FilesDisk disk_;
    FilesCatalog& catalog_;
    std::shared_mutex& catalog_mutex_;
    const FilesSync sync_;
    const StoreLock& lock_;
    WriteLine<Waiting> line_;
    // What follows belongs to whoever is at the front.
    bool distrusted_ = false, closed_ = false, unsynced_ = false;
    std::set<LogId> dirty_logs_;
    std::set<RecordKey> dirty_records_;
    bool dirty_version_ = false;
    std::vector<std::pair<LogId, std::uint64_t>> doubtful_parts_;  // of outcomes that are unknown
    std::vector<std::string> wipe_logs_, wipe_records_;
    bool wipe_due_ = false;
    std::uint64_t places_loaded_ = 0;
    std::atomic<std::uint64_t> commits_ = 0;
};

std::string index_key(const LogId& log);
std::string index_value(const FilesLog& log);
std::string record_key(const RecordKey& key);
std::string record_value(const Record& record);

}  // namespace palimpsest
