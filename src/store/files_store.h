// The store in files: a folder, an append-only file for each conversation, one journal.
//
// What is where: files_folder.h. When it is durable: files_writer.h. Headers, records and listings
// are served from memory (files_catalog.h), entries from their files. The folder belongs to one
// process at a time (store_lock.h).
#pragma once
#include <memory>
#include <shared_mutex>
#include <string>
#include <thread>

#include "palimpsest/store.h"
#include "store/files_writer.h"
#include "store/store_lock.h"

namespace palimpsest {

struct FilesStoreOptions {
    std::string path = {};
    FilesSync sync = FilesSync::always;
    std::optional<Duration> ttl = {};             // of conversations that name none
    Duration interval = std::chrono::seconds(1);  // between syncs, with FilesSync::interval
    Clock clock = {};                             // empty: the system's
    LockInfo holder = {};
    bool create = true;
    bool mend = false;  // see FilesOpening
    std::function<void(std::string_view)> warn = {};
};

class FilesStore : public Store {
public:
    static Result<std::unique_ptr<FilesStore>> open(FilesStoreOptions options);
    ~FilesStore() override;

    Result<Header> head(const ConversationId& name) override;
    Result<Header> head(const LogId& log) override;
    Result<Appended> append(const ConversationId& name, const Batch& batch) override;
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override;
    Result<Page> list(const ListQuery& query) override;
    Result<void> scrub(std::span<const Replacement> replacements) override;
    Result<Receipt> erase(const ConversationId& name) override;
    Result<Record> get_record(const RecordKey& key) override;
    Result<std::uint64_t> put_record(const RecordWrite& write) override;
    Result<std::vector<Record>> list_records(const RecordQuery& query) override;
    Result<std::size_t> sweep(std::size_t limit) override;
    // Looks at every file, whatever tenants are named.
    Result<CheckReport> check(std::span<const std::string> tenants) override;
    Durability durability() const override;
    Result<void> check_writable() override;
    bool held_alone() const override { return true; }
    Result<Contents> contents() override;
    Result<void> backup(const std::string& path) override;
    // Makes the index anew, and headers that are damaged in the files of their logs; removes files
    // that belong to nothing.
    Result<CheckReport> repair(std::span<const std::string> tenants) override;

    std::uint64_t commits() const { return writer_->commits(); }

private:
    FilesStore(StoreLock lock, FilesStoreOptions options)
        : lock_(std::move(lock)), options_(std::move(options)) {}
    Result<void> expire(const std::vector<LogId>& due, Time now);
    std::vector<LogId> due_around(FilesLog& log, Time now) const;
    std::vector<FilesLog*> candidates(const ListQuery& query) const;

    // Inside the writer.
    Result<void> mend_header(FilesLog& log);
    struct Ready;
    Result<FilesWriter::Staged> join_append(const Ready& ready, FilesChange& change,
                                            Appended& done);
    Result<void> create(const Ready& ready, Appended& done);
    Result<void> check_parent(const ForkPoint& fork, const ConversationId& child, Time now,
                              LogState& state);
    Result<FilesWriter::Staged> join_put(const RecordWrite& write, FilesChange& change,
                                         std::uint64_t& version);
    Result<void> stage_batch(const Ready& ready, StagedLog& staged, std::uint64_t at,
                             const LogPlaces* places, Time now);
    Result<void> keep_apart(const LogId& log, const LogPlaces* places, StagedLog& staged,
                            std::vector<FilesEntry>& entries);
    Result<Receipt> detach(FilesLog& log, FilesChange& change);
    Result<std::map<FilesLog*, FilesWriter::Replacements>> plan_scrub(
        std::span<const Replacement> replacements);

    StoreLock lock_;
    const FilesStoreOptions options_;
    mutable std::shared_mutex mutex_;  // over the catalog
    FilesCatalog catalog_;
    std::unique_ptr<FilesWriter> writer_;
    std::jthread syncer_;
};

struct FilesOpening {
    std::string path = {};
    bool syncs = true;
    bool mend = false;  // go on without what is damaged for good; a copy of it is put aside
};

// Opens all that is on the disk, fills the catalog, and makes durable what the journal holds.
// `internal`, and nothing is changed, when values of the store's own tables or groups of its
// journal are gone. `notices` says what had to be mended.
Result<FilesDisk> open_files_disk(const FilesOpening& opening, FilesCatalog& catalog,
                                  std::vector<std::string>& notices);

// Removes what belongs to no log: a life that ended early had begun it and not promised it. What
// was said in a log whose header is lost stays, and is in the catalog afterwards.
Result<void> remove_strays(FilesFolder& folder, FilesCatalog& catalog);

// Whether the file of a log and the index say the same of it.
bool same_header(const Header& a, const Header& b);

// All findings of a store at rest: no writer is at work. The conversations that are whole are named
// when something is wrong, or always.
Result<CheckReport> check_files(FilesFolder& folder, const FilesCatalog& catalog,
                                bool always_names_whole = false);

}  // namespace palimpsest
