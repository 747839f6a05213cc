#include "store/sqlite_store.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/clock.h"
#include "base/ids.h"
#include "store/files_disk.h"
#include "store/rules.h"
#include "store/sqlite_check.h"
#include "store/sqlite_logs.h"
#include "store/sqlite_records.h"

namespace palimpsest {
namespace {

// How many expired conversations one transaction removes.
constexpr std::size_t sweep_slice = 16;
constexpr std::size_t keys_pruned_by_sweep = 1000;

// What is removed is overwritten, in the write-ahead log first: that takes space of its own.
Result<void> with_advice(Result<void> removed) {
    if (removed || removed.error().code != ErrorCode::no_space) return removed;
    std::string& message = removed.error().message;
    message.resize(std::min(message.find(';'), message.size()));
    message +=
        "; removing needs some space itself: free some outside the store first, then repeat it";
    return removed;
}

// Beside other damage a body may be what is left of an entry that names another one now.
bool only_unused_bodies(const CheckReport& report) {
    std::size_t unused = 0, others = 0;
    for (const Finding& finding : report.findings) {
        if (finding.what == "readable") continue;
        ++(finding.what == "unused" ? unused : others);
    }
    return unused > 0 && others == 0;
}

// What was broken off leaves both.
void remove_with_journal(const std::string& path) {
    std::error_code ignored;
    for (const char* end : {"", "-journal"}) std::filesystem::remove(path + end, ignored);
}

Result<void> write_backup(const std::string& from, const std::string& to) {
    // Made here, empty, so that nobody else may read it, whatever SQLite would make it.
    PAL_TRY(file, DiskFile::open(to, DiskFile::Mode::create));
    PAL_TRY(db, SqliteDatabase::open(from, SqliteDatabase::Mode::read_only));
    SqliteQuery copy = db->query("VACUUM INTO ?");
    copy.text(to);
    PAL_CHECK(copy.run());
    return file.sync();
}

// In an order in which each can use what those before it have mended.
Result<std::vector<Finding>> mend_tables(SqliteDatabase& db, const std::string& path,
                                         const MendTerms& terms) {
    PAL_TRY(mended, mend_lost_logs(db));
    PAL_TRY(logs, mend_logs(db, terms));
    mended.insert(mended.end(), logs.begin(), logs.end());
    PAL_TRY(labels, mend_labels(db));
    if (labels > 0)
        mended.push_back({"mended", path,
                          std::to_string(labels) + " labels were missing or wrong, and are made "
                                                   "from the metadata"});
    PAL_TRY(counter, mend_counter(db));
    if (counter)
        mended.push_back({"mended", path,
                          "the counter of versions was missing or behind, and is "
                          "beyond every version now"});
    return std::move(mended);
}

// Whether it was there; as a whole or not at all.
Result<bool> remove_whole(SqliteDatabase& db, const LogId& log) {
    PAL_CHECK(db.execute("SAVEPOINT removal"));
    const auto done = [&]() -> Result<bool> {
        PAL_TRY(row, find_log(db, log));
        if (row) PAL_CHECK(remove_log(db, *std::move(row)));
        return row.has_value();
    }();
    if (!done && done.error().code != ErrorCode::internal) return done;
    PAL_CHECK(db.execute(done ? "RELEASE removal" : "ROLLBACK TO removal; RELEASE removal"));
    return done;
}

}  // namespace

SqliteStore::SqliteStore(StoreLock lock, std::unique_ptr<SqliteDatabase> writer,
                         SqliteStoreOptions options)
    : lock_(std::move(lock)),
      options_(std::move(options)),
      writer_(std::move(writer), options_.path, options_.sync, lock_),
      readers_(options_.path, options_.readers) {}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(SqliteStoreOptions options) {
    PAL_TRY(path, canonical_path(options.path));
    options.path = path;
    if (!options.clock) options.clock = system_now;
    std::error_code ignored;
    const bool exists = std::filesystem::exists(path, ignored);
    if (!exists && !options.create)
        return fail(ErrorCode::not_found, "there is no store at " + path +
                                              "; the first `pal append` or `pal serve` makes it");
    PAL_TRY(lock, StoreLock::take(path, options.holder));
    // Asked again: whoever held the lock may have made it meanwhile.
    if (!std::filesystem::exists(path, ignored)) PAL_CHECK(create_sqlite_file(path));
    PAL_CHECK(lock.hold_file(path));
    PAL_TRY(writer, open_sqlite_writer(path, options.sync));
    return std::unique_ptr<SqliteStore>(
        new SqliteStore(std::move(lock), std::move(writer), std::move(options)));
}

// ---- reading ------------------------------------------------------------------------------------

Result<Header> SqliteStore::head(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    PAL_TRY(db, readers_.borrow());
    PAL_TRY(row, find_log(*db, name));
    if (row && !expired(row->header, options_.clock())) return std::move(row->header);
    return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
}

Result<LogRow> SqliteStore::living_log(SqliteDatabase& db, const LogId& log) {
    PAL_TRY(stored, find_log(db, log));
    if (stored) {
        PAL_TRY(row, as_of(db, std::move(*stored), options_.clock()));
        if (row) return std::move(*row);
    }
    return fail(ErrorCode::not_found, "no log " + hex(log));
}

Result<Header> SqliteStore::head(const LogId& log) {
    PAL_TRY(db, readers_.borrow());
    PAL_TRY(row, living_log(*db, log));
    return std::move(row.header);
}

Result<std::vector<Entry>> SqliteStore::read(const LogId& log, const ReadQuery& query) {
    PAL_CHECK(check_read(query));
    PAL_TRY(db, readers_.borrow());
    PAL_TRY(row, living_log(*db, log));
    return read_entries(*db, row, query);
}

Result<Page> SqliteStore::list(const ListQuery& query) {
    PAL_CHECK(check_list(query));
    PAL_TRY(db, readers_.borrow());
    return list_logs(*db, query, options_.clock());
}

Result<Record> SqliteStore::get_record(const RecordKey& key) {
    PAL_CHECK(check_record(key));
    PAL_TRY(db, readers_.borrow());
    return find_record(*db, key, options_.clock());
}

Result<std::vector<Record>> SqliteStore::list_records(const RecordQuery& query) {
    PAL_CHECK(check_id(query.tenant, "tenant"));
    PAL_CHECK(check_id(query.space, "space"));
    PAL_TRY(db, readers_.borrow());
    return palimpsest::list_records(*db, query, options_.clock());
}

// ---- writing ------------------------------------------------------------------------------------

Result<Appended> SqliteStore::append(const ConversationId& name, const Batch& batch) {
    return append_ahead(name, batch, {});
}

Result<Appended> SqliteStore::append_ahead(const ConversationId& name, const Batch& batch,
                                           const OnWritten& written) {
    PAL_CHECK(check_batch(name, batch));
    ReadyBatch ready = make_ready(name, batch);
    ready.ttl = options_.ttl;
    Appended done;
    const SqliteWriter::Work work = [&](SqliteDatabase& db) -> Result<void> {
        known_.enter(writer_.undone());
        const Time now = options_.clock();
        PAL_TRY(appended, append_batch(db, known_, ready, now));
        if (!batch.key.empty() && !appended.again) PAL_CHECK(keys_.after_batch(db, now));
        done = std::move(appended);
        return {};
    };
    const auto tell = [&] {
        if (written) written(done);
    };
    PAL_CHECK(writer_.run(work, ready.bytes, tell));
    return done;
}

Result<void> SqliteStore::scrub(std::span<const Replacement> replacements) {
    std::vector<ReadyReplacement> ready;
    for (const Replacement& replacement : replacements)
        ready.push_back({replacement.log, replacement.seq, make_ready(replacement.body)});
    const SqliteWriter::Work work = [&](SqliteDatabase& db) {
        known_.forget();
        return scrub_entries(db, ready, options_.clock());
    };
    return with_advice(writer_.run_and_purge(work));
}

Result<Receipt> SqliteStore::erase(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    Receipt receipt;
    const SqliteWriter::Work work = [&](SqliteDatabase& db) -> Result<void> {
        known_.forget();
        const Time now = options_.clock();
        PAL_TRY(stored, find_stored_log(db, name));
        if (!stored || (stored->whole() && expired(stored->row.header, now)))
            return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
        PAL_TRY(removed, stored->whole() ? erase_log(db, stored->row, now)
                                         : erase_damaged_log(db, *stored, now));
        receipt = std::move(removed);
        return {};
    };
    PAL_CHECK(with_advice(writer_.run_and_purge(work)));
    receipt.remains = {"backups and copies that were made before"};
    if (writer_.purge_is_due())
        receipt.remains.push_back(
            "the write-ahead log beside the file: a backup reads it, or the "
            "disk is full; it is emptied with one of the next writes");
    return receipt;
}

Result<std::uint64_t> SqliteStore::put_record(const RecordWrite& write) {
    PAL_CHECK(check_record(write));
    std::uint64_t version = 0;
    const SqliteWriter::Work work = [&](SqliteDatabase& db) -> Result<void> {
        PAL_TRY(written, write_record(db, write, options_.clock()));
        version = written;
        return {};
    };
    const std::size_t bytes = write.value ? write.value->size() : 0;
    PAL_CHECK(write.purge ? writer_.run_and_purge(work) : writer_.run(work, bytes));
    return version;
}

Result<std::size_t> SqliteStore::sweep(std::size_t limit) {
    std::size_t went = 0, slice = 0;
    std::set<LogId> damaged;  // They stay, and stand in nobody's way.
    const SqliteWriter::Work remove = [&](SqliteDatabase& db) -> Result<void> {
        known_.forget();
        const Time now = options_.clock();
        slice = 0;
        PAL_TRY(logs, expired_logs(db, now, std::min(sweep_slice, limit - went) + damaged.size()));
        for (const LogId& log : logs) {
            if (damaged.contains(log)) continue;
            const auto gone = remove_whole(db, log);
            if (!gone && gone.error().code != ErrorCode::internal)
                return std::unexpected(gone.error());
            if (!gone) damaged.insert(log);
            slice += gone && *gone ? 1 : 0;
        }
        return {};
    };
    do {
        PAL_CHECK(writer_.run(remove));
        went += slice;
    } while (slice > 0 && went < limit);
    const SqliteWriter::Work tidy = [&](SqliteDatabase& db) -> Result<void> {
        PAL_CHECK(remove_expired_records(db, options_.clock(), limit));
        return keys_.prune(db, options_.clock(), keys_pruned_by_sweep);
    };
    PAL_CHECK(writer_.run_and_purge(tidy));
    return went;
}

// ---- the rest -----------------------------------------------------------------------------------

Result<CheckReport> SqliteStore::check(std::span<const std::string>) {
    PAL_TRY(db, readers_.borrow());
    return check_sqlite(*db, options_.path);
}

// Listings leave out what has lost its row of `head`, or that of `log`.
Result<std::vector<Unlisted>> SqliteStore::unlisted(std::span<const std::string> tenants) {
    PAL_TRY(db, readers_.borrow());
    const auto wanted = [&](const std::string& tenant) {
        return tenants.empty() || std::ranges::find(tenants, tenant) != tenants.end();
    };
    std::vector<Unlisted> found;
    PAL_TRY(lost, lost_logs(*db));
    for (const LogRow& row : lost)
        if (row.named() && wanted(row.header.name.tenant))
            found.push_back({row.header.name, row.header.log,
                             "its row of the table `log` is lost, and with it its id; `pal doctor "
                             "--repair` brings it back under its uid"});
    SqliteQuery query = (*db).query(
        "SELECT log FROM log l WHERE l.name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM head h WHERE "
        "h.log = l.log) ORDER BY log");
    for (;;) {
        PAL_TRY(row, query.step());
        if (!row) return found;
        PAL_TRY(stored, find_stored_log(*db, query.integer_at(0)));
        if (!stored) continue;
        const Header& header = stored->row.header;
        if (!wanted(header.name.tenant)) continue;
        found.push_back({.name = header.name,
                         .log = header.log,
                         .damage = "its row of the table `head` is lost; `pal doctor --repair` "
                                   "makes it from its entries"});
    }
}

Result<Contents> SqliteStore::contents() {
    PAL_TRY(db, readers_.borrow());
    Contents found;
    SqliteQuery tenants =
        (*db).query("SELECT DISTINCT tenant FROM log WHERE name IS NOT NULL ORDER BY tenant");
    for (;;) {
        PAL_TRY(row, tenants.step());
        if (!row) break;
        found.tenants.emplace_back(tenants.bytes_at(0));
    }
    SqliteQuery spaces =
        (*db).query("SELECT DISTINCT tenant, space FROM record ORDER BY tenant, space");
    for (;;) {
        PAL_TRY(row, spaces.step());
        if (!row) break;
        found.spaces.push_back({std::string(spaces.bytes_at(0)), std::string(spaces.bytes_at(1))});
    }
    return found;
}

Result<void> SqliteStore::backup(const std::string& path) {
    std::error_code error;
    if (std::filesystem::exists(path, error))
        return fail(ErrorCode::conflict, path + " exists; name a file that does not");
    const std::string fresh = path + ".new";
    remove_with_journal(fresh);
    if (const auto written = write_backup(options_.path, fresh); !written) {
        remove_with_journal(fresh);
        return written;
    }
    PAL_CHECK(rename_file(fresh, path));
    const std::filesystem::path parent = std::filesystem::absolute(path, error).parent_path();
    return sync_folder(parent.string());
}

Result<CheckReport> SqliteStore::repair(std::span<const std::string> tenants) {
    std::vector<Finding> mended;
    const SqliteWriter::Work work = [&](SqliteDatabase& db) -> Result<void> {
        known_.forget();
        PAL_CHECK(db.execute("REINDEX"));
        PAL_TRY(done, mend_tables(db, options_.path, {options_.clock(), options_.ttl}));
        mended = std::move(done);
        return {};
    };
    PAL_CHECK(writer_.run(work));
    PAL_TRY(report, check(tenants));
    if (only_unused_bodies(report)) {
        PAL_CHECK(writer_.run_and_purge(remove_unused_bodies));
        PAL_TRY(again, check(tenants));
        report = std::move(again);
    }
    report.findings.insert(report.findings.begin(), mended.begin(), mended.end());
    return std::move(report);
}

Result<void> SqliteStore::check_writable() {
    return lock_.check_in_place();
}

Durability SqliteStore::durability() const {
    const std::string name = std::string("SQLite ") + sqlite_library_version() + ", WAL, ";
    switch (options_.sync) {
        case SyncLevel::normal:
            return {name + "synced at checkpoints: a power cut loses the newest writes", true,
                    false};
        case SyncLevel::off:
            return {name + "never synced: a power cut may lose anything", true, false};
        case SyncLevel::full:
            break;
    }
    return {name + "synced before every acknowledgement", true, true};
}

}  // namespace palimpsest
