// Opening a files store: the tables, or, when they cannot be trusted, the files of the logs
// themselves; then what the journal has on top of them.
#include <algorithm>
#include <filesystem>

#include "base/ids.h"
#include "base/wire.h"
#include "store/files_lost.h"
#include "store/files_store.h"
#include "store/port_fields.h"
#include "store/sealed_store.h"

namespace palimpsest {
namespace {

using Logs = std::map<LogId, FilesLog>;

Result<void> read_index_row(Logs& logs, std::string_view key, std::string_view value) {
    FilesLog log;
    WireReader in(value);
    log.version = in.varint();
    log.length = in.varint();
    PAL_TRY(state, decode_state(in.bytes(in.left())));
    log.state = std::move(state);
    if (index_key(log.header().log) != key)
        return fail(ErrorCode::internal, "a row of the index is under another's key");
    const LogId uid = log.header().log;
    logs.emplace(uid, std::move(log));
    return {};
}

Result<void> read_record_row(FilesCatalog& catalog, std::string_view value) {
    WireReader in(value);
    Record record;
    FieldReader read(in);
    read(record);
    if (!read.done()) return fail(ErrorCode::internal, "a row of the records does not decode");
    catalog.record_version = std::max(catalog.record_version, record.version);
    catalog.records().insert_or_assign(record.key, record);
    return {};
}

// Folds the frames of the file from `from` to `log.length` into its state.
Result<void> fold_file(const DiskFile& file, FilesLog& log, const LogId& uid, std::uint64_t from) {
    FrameReader frames(file, uid, log.length);
    frames.go_to(from);
    for (;;) {
        PAL_TRY(frame, frames.next());
        if (!frame) return {};
        if (const auto found = read_log_frame(*frame)) fold_frame(log.state, *found);
    }
}

// A log from its file alone; none when the file does not say what it is.
Result<std::optional<FilesLog>> read_log_file(FilesFolder& folder, const LogFileName& name,
                                              std::vector<std::string>& notices) {
    PAL_TRY(file, folder.open({name.log, name.number}, DiskFile::Mode::write));
    PAL_TRY(size, file->size());
    FilesLog log{.version = name.number, .length = size};
    FrameReader frames(*file, name.log, size);
    for (;;) {
        PAL_TRY(frame, frames.next());
        if (!frame) break;
        if (const auto found = read_log_frame(*frame)) fold_frame(log.state, *found);
    }
    // Zeros were filled in ahead; anything else is half of a record.
    PAL_TRY(tail, file->read(frames.at(), static_cast<std::size_t>(size - frames.at())));
    if (tail.find_first_not_of('\0') != tail.npos)
        notices.push_back(name.path + ": " + std::to_string(size - frames.at()) +
                          " bytes at its end are no whole record and were cut off");
    if (frames.bad_tail()) {
        log.length = frames.at();
        if (log.length > 0) PAL_CHECK(file->cut(log.length));
    }
    if (log.header().log != name.log) return std::nullopt;
    return log;
}

Result<void> rebuild(FilesFolder& folder, Logs& logs, std::vector<std::string>& notices) {
    PAL_TRY(names, folder.log_files());
    // The highest version that can be read is the log.
    std::ranges::sort(names, [](const auto& a, const auto& b) {
        return std::pair(a.log, a.number) > std::pair(b.log, b.number);
    });
    logs.clear();
    for (const LogFileName& name : names) {
        if (name.part || logs.contains(name.log)) continue;
        PAL_TRY(log, read_log_file(folder, name, notices));
        if (log) logs.emplace(name.log, std::move(*log));
    }
    for (const LogFileName& name : names) {
        if (name.part || logs.contains(name.log)) continue;
        notices.push_back(name.path + ": no whole record says which conversation it is");
        PAL_TRY(lost, read_lost_log(folder, name));
        if (lost) logs.emplace(name.log, std::move(*lost));
    }
    return {};
}

Result<void> replay_put(FilesFolder& folder, Logs& logs, const LogFileId& id, std::uint64_t at,
                        std::string_view bytes) {
    const auto known = logs.find(id.log);
    if (known != logs.end() && known->second.version > id.version) return {};
    const Result<void> written = folder.write(id, at, bytes);
    // A file that goes further on in the journal, and is gone already.
    if (!written && written.error().code == ErrorCode::not_found) return {};
    PAL_CHECK(written);
    FilesLog& log = logs[id.log];
    log.version = id.version;
    log.length = at + bytes.size();
    PAL_TRY(file, folder.open(id, DiskFile::Mode::write));
    return fold_file(*file, log, id.log, at);
}

// Whether a group that was synced is gone.
Result<bool> replay_journal(FilesDisk& disk, Logs& logs, FilesCatalog& catalog) {
    FilesFolder& folder = *disk.folder;
    const ReplayTarget target{
        .put = [&](const LogFileId& id, std::uint64_t at,
                   std::string_view bytes) { return replay_put(folder, logs, id, at, bytes); },
        .swap = [&](const LogFileId& id, std::uint64_t length, LogState state) -> Result<void> {
            FilesLog& log = logs[id.log];
            if (log.version > id.version) return {};
            log.version = id.version;
            log.length = length;
            log.state = std::move(state);
            return {};
        },
        .drop =
            [&](const LogId& log) {
                folder.remove_all(log);
                logs.erase(log);
            },
        .record =
            [&](const RecordKey& key, std::optional<Record> record, std::uint64_t version) {
                catalog.record_version = std::max(catalog.record_version, version);
                if (record)
                    catalog.records().insert_or_assign(key, std::move(*record));
                else
                    catalog.records().erase(key);
            },
    };
    return disk.journal.replay_found(
        [&](std::string_view group) { return replay_change(group, target); });
}

// They have no name of their own.
void name_lost_logs(Logs& logs, const FilesCatalog& catalog) {
    std::vector<const Header*> headers;
    for (const auto& [uid, log] : logs) headers.push_back(&log.header());
    for (auto& [uid, log] : logs)
        if (log.state.lost) log.state.header.name = name_of_lost(uid, headers, catalog.records());
}

void fill_catalog(FilesCatalog& catalog, Logs logs, std::vector<std::string>& notices) {
    name_lost_logs(logs, catalog);
    std::vector<FilesLog*> order;
    for (auto& [uid, log] : logs)
        if (log.header().log == uid) order.push_back(&log);
    // Where two claim a name (only a rebuilt index can bring that), the newer one has it.
    std::ranges::sort(order, {}, [](const FilesLog* log) { return log->header().created; });
    for (FilesLog* log : order) {
        if (log->named() && catalog.find(log->header().name))
            notices.push_back("two logs are called \"" + log->header().name.id +
                              "\"; the newer one is");
        catalog.add(std::move(*log));
    }
    catalog.tie();
}

// All that was found is durable, and the journal empty.
Result<void> settle_disk(FilesDisk& disk, const FilesCatalog& catalog) {
    PAL_CHECK(disk.folder->sync());
    const std::uint64_t next = disk.journal.generation() + 1;
    PAL_CHECK(disk.records.compact(catalog.record_version, [&](const auto& put) {
        for (const auto& [key, record] : catalog.records())
            put(record_key(key), record_value(record));
    }));
    PAL_CHECK(disk.index.compact(next, [&](const auto& put) {
        for (const auto& [uid, log] : catalog.logs()) put(index_key(uid), index_value(*log));
    }));
    return disk.journal.reset(false);
}

Result<void> take_in_lost_logs(FilesFolder& folder, const std::vector<LogFileName>& names,
                               FilesCatalog& catalog) {
    std::vector<const Header*> headers;
    for (const auto& [uid, log] : catalog.logs()) headers.push_back(&log->header());
    for (const LogFileName& name : names) {
        if (name.part || catalog.find(name.log)) continue;
        PAL_TRY(lost, read_lost_log(folder, name));
        if (!lost) continue;
        lost->state.header.name = name_of_lost(name.log, headers, catalog.records());
        catalog.add(*std::move(lost));
    }
    catalog.tie();
    return {};
}

}  // namespace

Result<void> remove_strays(FilesFolder& folder, FilesCatalog& catalog) {
    PAL_TRY(names, folder.log_files());
    PAL_CHECK(take_in_lost_logs(folder, names, catalog));
    for (const LogFileName& name : names) {
        const FilesLog* log = catalog.find(name.log);
        if (log && (name.part || name.number == log->version)) continue;
        name.part ? folder.remove_part(name.log, name.number)
                  : folder.remove({name.log, name.number});
    }
    return {};
}

namespace {

constexpr const char* without_journal =
    "Conversations were read from their own files; of keys, agents and other records, what was "
    "written last may be gone: look at `pal keys list` before anybody is served";

// One opening: what was found on the disk, and whether it may be relied on.
class Recovery {
public:
    Recovery(const FilesOpening& opening, FilesCatalog& catalog, std::vector<std::string>& notices)
        : opening_(opening), catalog_(catalog), notices_(notices) {}

    Result<FilesDisk> run() {
        PAL_TRY(disk, open_tables());
        PAL_CHECK(check_journal(disk));
        PAL_CHECK(check_records(disk));
        const bool trusted = !damaged_journal_ && index_is_newest(disk);
        if (!trusted) {
            PAL_CHECK(rebuild(*disk.folder, logs_, notices_));
            if (!logs_.empty())
                notices_.push_back("the index was missing, old or damaged; it was made anew from " +
                                   std::to_string(logs_.size()) + " files");
        }
        PAL_TRY(group_lost, replay_journal(disk, logs_, catalog_));
        if (disk.journal.was_torn())
            notices_.push_back(disk.journal.path() +
                               ": a write that was cut short by a crash was left out; it had not "
                               "been acknowledged");
        if (group_lost && disk.index.mark() <= disk.journal.generation())
            PAL_CHECK(without_group(disk));
        if (lost_records_ && lacks_store_key(catalog_.records()))
            return beyond_repair(disk.folder->file("records"));
        fill_catalog(catalog_, std::move(logs_), notices_);
        if (trusted && disk.journal.was_busy()) PAL_CHECK(remove_strays(*disk.folder, catalog_));
        if (!trusted || lost_records_ || disk.journal.was_busy() || !disk.records.whole())
            PAL_CHECK(settle_disk(disk, catalog_));
        return disk;
    }

private:
    static std::unexpected<Error> beyond_repair(const std::string& path) {
        return fail(ErrorCode::internal,
                    path +
                        ": the key of this encrypted store is among what is damaged: put a backup "
                        "of the file in its place");
    }

    Result<FilesDisk> open_tables() {
        auto folder = std::make_unique<FilesFolder>(opening_.path, opening_.syncs);
        PAL_TRY(index,
                KeyedFile::open(folder->file("index"), opening_.syncs, [&](auto key, auto value) {
                    return read_index_row(logs_, key, value);
                }));
        PAL_TRY(records,
                KeyedFile::open(folder->file("records"), opening_.syncs, [&](auto, auto value) {
                    return read_record_row(catalog_, value);
                }));
        std::error_code ignored;
        const bool fresh = !std::filesystem::exists(folder->file("journal"), ignored) &&
                           !std::filesystem::exists(folder->file("logs"), ignored) &&
                           index.mark() == 0;
        // From here on a file without a mark has lost it.
        if (fresh) PAL_CHECK(records.write(0));
        catalog_.record_version = std::max(catalog_.record_version, records.mark());
        if (!fresh) PAL_CHECK(look_for_journal(*folder));
        PAL_TRY(journal, FilesJournal::open(folder->file("journal"), opening_.syncs));
        return FilesDisk{std::move(folder), std::move(journal), std::move(index),
                         std::move(records)};
    }

    static bool index_is_newest(const FilesDisk& disk) {
        const std::uint64_t generation = disk.journal.generation();
        return disk.index.was_there() && disk.index.whole() && disk.journal.was_there() &&
               (disk.index.mark() == generation || disk.index.mark() == generation + 1);
    }

    // Refuses, or puts a copy of the file aside and says so.
    Result<void> go_without(const std::string& path, const std::string& what,
                            const std::string& lost) {
        if (!opening_.mend)
            return fail(ErrorCode::internal,
                        path + ": " + what +
                            ". Put a backup of the folder in its place, or let `pal doctor "
                            "--repair` go on without it");
        std::string aside = path + ".damaged";
        std::error_code error;
        for (int i = 2; std::filesystem::exists(aside, error); ++i)
            aside = path + ".damaged" + std::to_string(i);
        const bool there = std::filesystem::exists(path, error);
        if (there) std::filesystem::copy_file(path, aside, error);
        if (there && error)
            return fail(code_of_errno(error.value()), aside + ": " + error.message());
        notices_.push_back(path + ": " + what + (there ? "; a copy of it is " + aside : "") + ". " +
                           lost);
        return {};
    }

    // Every store has one from its first opening on, also when it is closed.
    Result<void> look_for_journal(const FilesFolder& folder) {
        std::error_code ignored;
        if (std::filesystem::exists(folder.file("journal"), ignored)) return {};
        damaged_journal_ = true;
        return go_without(folder.file("journal"), "the journal is missing", without_journal);
    }

    Result<void> check_journal(FilesDisk& disk) {
        if (disk.journal.head_damaged()) {
            damaged_journal_ = true;
            PAL_CHECK(go_without(disk.journal.path(), "the head of the journal is damaged",
                                 without_journal));
        }
        if (damaged_journal_) disk.journal.take_generation(disk.index.mark());
        return {};
    }

    // What was synced is gone: the files of the conversations may have it all the same.
    Result<void> without_group(FilesDisk& disk) {
        PAL_CHECK(
            go_without(disk.journal.path(), "a group of the journal is damaged", without_journal));
        return rebuild(*disk.folder, logs_, notices_);
    }

    // A crash in the middle of a checkpoint leaves the last write of the records unfinished; then
    // the index was written before it, and the journal still has what it was about.
    Result<void> check_records(const FilesDisk& disk) {
        const KeyedLoss loss = disk.records.loss();
        const bool crashed = disk.journal.was_busy() && !damaged_journal_ &&
                             disk.index.mark() == disk.journal.generation() + 1;
        if (loss == KeyedLoss::none || (loss == KeyedLoss::last_write && crashed)) return {};
        lost_records_ = true;
        return go_without(disk.folder->file("records"),
                          "API keys, encryption keys, agents or other records are damaged",
                          "What is whole was kept, " + std::to_string(catalog_.records().size()) +
                              " records; look at `pal keys list` before anybody is served");
    }

    const FilesOpening& opening_;
    FilesCatalog& catalog_;
    std::vector<std::string>& notices_;
    Logs logs_;
    bool damaged_journal_ = false, lost_records_ = false;
};

}  // namespace

Result<FilesDisk> open_files_disk(const FilesOpening& opening, FilesCatalog& catalog,
                                  std::vector<std::string>& notices) {
    return Recovery(opening, catalog, notices).run();
}

}  // namespace palimpsest
