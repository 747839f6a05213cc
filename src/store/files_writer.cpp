#include "store/files_writer.h"

#include <algorithm>

#include "base/wire.h"
#include "store/files_read.h"
#include "store/port_fields.h"

namespace palimpsest {
namespace {

// Long enough to spare syncs of many files, short enough to be read back fast.
constexpr std::uint64_t journal_bytes_max = 8 << 20;
constexpr std::size_t dirty_logs_max = 1024;
constexpr std::size_t filled_files_max = 4096;
// Places of this many entries are kept in memory: about 160 MB.
constexpr std::uint64_t places_max = 2'000'000;

}  // namespace

std::string index_key(const LogId& log) {
    return {reinterpret_cast<const char*>(log.bytes.data()), log.bytes.size()};
}

std::string index_value(const FilesLog& log) {
    WireWriter out;
    out.varint(log.version);
    out.varint(log.length);
    out.bytes(encode_state(log.state));
    return out.take();
}

std::string record_key(const RecordKey& key) {
    WireWriter out;
    out.text(key.tenant);
    out.text(key.space);
    out.text(key.key);
    return out.take();
}

std::string record_value(const Record& record) {
    WireWriter out;
    FieldWriter write(out);
    write(record);
    return out.take();
}

struct FilesWriter::Waiting {
    const Join* join = nullptr;
    const Alone* alone = nullptr;
    std::size_t bytes = 0;
    Result<void> outcome = {};
};

FilesWriter::FilesWriter(FilesDisk disk, FilesCatalog& catalog, std::shared_mutex& mutex,
                         FilesSync sync, const StoreLock& lock)
    : disk_(std::move(disk)), catalog_(catalog), catalog_mutex_(mutex), sync_(sync), lock_(lock) {}

FilesWriter::~FilesWriter() {
    close();
}

void FilesWriter::close() {
    const Alone end = [&]() -> Result<void> {
        if (closed_) return {};
        closed_ = true;
        trim_files();
        if (distrusted_ || !checkpoint()) return {};
        return disk_.journal.shrink();
    };
    (void)run_alone(end);
}

Result<void> FilesWriter::run(const Join& join, const Alone& alone, std::size_t bytes) {
    Waiting me{.join = &join, .alone = &alone, .bytes = bytes};
    return wait_in_line(me);
}

Result<void> FilesWriter::run_alone(const Alone& alone) {
    Waiting me{.alone = &alone};
    return wait_in_line(me);
}

Result<void> FilesWriter::wait_in_line(Waiting& me) {
    line_.pass(
        me, [this](std::span<Waiting* const> waiting) { return do_group(waiting); },
        [this] { checkpoint_if_due(); });
    return std::move(me.outcome);
}

// Takes from the front as many as can share a change; at least one.
std::size_t FilesWriter::do_group(std::span<Waiting* const> candidates) {
    FilesChange change;
    std::vector<Waiting*> shared;
    std::size_t taken = 0, bytes = 0;
    for (Waiting* waiting : candidates) {
        if (taken > 0 && bytes + waiting->bytes > write_group_bytes) break;
        auto staged = waiting->join ? (*waiting->join)(change) : Staged::must_be_alone;
        if (staged && *staged == Staged::must_be_alone) {
            if (taken > 0) break;
            waiting->outcome = (*waiting->alone)();
            return 1;
        }
        bytes += waiting->bytes;
        ++taken;
        if (staged)
            shared.push_back(waiting);
        else
            waiting->outcome = std::unexpected(staged.error());
    }
    const Result<void> outcome = commit(change);
    const bool settled = outcome || outcome.error().code == ErrorCode::outcome_unknown;
    if (settled || shared.size() == 1) {
        for (Waiting* waiting : shared) waiting->outcome = outcome;
        return taken;
    }
    for (Waiting* waiting : shared) {
        FilesChange own;
        const auto staged = (*waiting->join)(own);
        waiting->outcome = staged ? commit(own) : std::unexpected(staged.error());
    }
    return taken;
}

// ---- one change ---------------------------------------------------------------------------------

Result<void> FilesWriter::commit(FilesChange& change) {
    if (change.empty()) return {};
    Result<void> done = make_durable(change);
    if (done)
        finish(change);
    else
        undo_files(change, done.error().code == ErrorCode::outcome_unknown);
    return done;
}

Result<void> FilesWriter::make_durable(const FilesChange& change) {
    if (closed_) return fail(ErrorCode::unavailable, "the store is closed");
    PAL_CHECK(get_ready());
    const std::string group = encode_change(change);
    if (disk_.journal.bytes() > 0 && disk_.journal.bytes() + group.size() > journal_bytes_max)
        (void)checkpoint();
    PAL_CHECK(get_ready());
    PAL_CHECK(disk_.journal.prepare(group.size()));
    PAL_CHECK(write_files(change));
    const bool removes = !change.dropped.empty() || !change.swapped.empty();
    const bool sync =
        change.sync && (sync_ == FilesSync::always || (removes && sync_ == FilesSync::interval));
    Error error;
    const JournalOutcome outcome = disk_.journal.append(group, sync, error);
    if (outcome == JournalOutcome::failed) return std::unexpected(error);
    if (outcome == JournalOutcome::unknown) {
        distrusted_ = true;
        return fail(ErrorCode::outcome_unknown,
                    error.message +
                        "; it is not known whether the write is there: repeat it with "
                        "the same key");
    }
    unsynced_ = unsynced_ || !sync;
    ++commits_;
    return {};
}

Result<void> FilesWriter::begin() {
    PAL_CHECK(get_ready());
    return disk_.journal.prepare(0);
}

Result<void> FilesWriter::get_ready() {
    PAL_CHECK(lock_.check_in_place());
    if (!distrusted_) return {};
    auto mended = mend();
    if (!mended) return mended;
    distrusted_ = false;
    return {};
}

Result<void> FilesWriter::write_files(const FilesChange& change) {
    FilesFolder& folder = *disk_.folder;
    for (const StagedLog& created : change.created)
        PAL_CHECK(folder.write({created.state.header.log, 1}, 0, created.bytes));
    for (const auto& [log, staged] : change.staged) {
        const LogFileId id{log->header().log, log->version};
        PAL_CHECK(folder.open_known(id));
        PAL_CHECK(folder.write(id, log->length, staged.bytes));
    }
    return {};
}

// `doubtful`: the journal may still bring the change back; all but the parts is in it too.
void FilesWriter::undo_files(const FilesChange& change, bool doubtful) {
    FilesFolder& folder = *disk_.folder;
    const auto undo_parts = [&](const LogId& log, std::uint64_t from, std::uint64_t next) {
        for (std::uint64_t number = from; number < next; ++number)
            if (doubtful)
                doubtful_parts_.emplace_back(log, number);
            else
                folder.remove_part(log, number);
    };
    for (const StagedLog& created : change.created) {
        folder.remove({created.state.header.log, 1});
        undo_parts(created.state.header.log, 1, created.apart_next);
    }
    for (const auto& [log, staged] : change.staged) {
        folder.cut({log->header().log, log->version}, log->length);
        if (log->places) undo_parts(log->header().log, log->places->apart_next, staged.apart_next);
    }
    for (const SwappedLog& swapped : change.swapped)
        folder.remove({swapped.log->header().log, swapped.version});
}

// It is durable: memory follows, then the files that nobody needs any more go.
void FilesWriter::finish(const FilesChange& change) {
    FilesFolder& folder = *disk_.folder;
    std::vector<LogId> gone;
    std::vector<LogFileId> old_versions;
    for (const FilesLog* log : change.dropped) {
        gone.push_back(log->header().log);
        wipe_logs_.push_back(index_key(log->header().log));
    }
    for (const SwappedLog& swapped : change.swapped) {
        old_versions.push_back({swapped.log->header().log, swapped.log->version});
        dirty_logs_.insert(swapped.log->header().log);
        if (change.purge) wipe_logs_.push_back(index_key(swapped.log->header().log));
    }
    for (const auto& [log, staged] : change.staged) dirty_logs_.insert(log->header().log);
    for (const StagedLog& created : change.created) dirty_logs_.insert(created.state.header.log);
    for (const auto& [key, record] : change.records) {
        dirty_records_.insert(key);
        if (change.purge) wipe_records_.push_back(record_key(key));
    }
    dirty_logs_.insert(gone.begin(), gone.end());
    dirty_version_ = dirty_version_ || change.record_version > 0;
    {
        const std::unique_lock lock(catalog_mutex_);
        carry_out(change, catalog_);
    }
    for (const LogId& log : gone)
        if (std::ranges::none_of(change.created,
                                 [&](const StagedLog& it) { return it.state.header.log == log; }))
            folder.remove_all(log);
    for (const LogFileId& id : old_versions) folder.remove(id);
    for (const SwappedLog& swapped : change.swapped)
        for (const std::uint64_t part : swapped.parts_gone)
            folder.remove_part(swapped.state.header.log, part);
    if (change.purge) (void)purge();
}

// ---- checkpoints --------------------------------------------------------------------------------

Result<void> FilesWriter::write_tables(std::uint64_t mark) {
    for (const LogId& uid : dirty_logs_) {
        const FilesLog* log = catalog_.find(uid);
        if (log)
            disk_.index.put(index_key(uid), index_value(*log));
        else
            disk_.index.remove(index_key(uid));
    }
    for (const RecordKey& key : dirty_records_) {
        const auto found = catalog_.records().find(key);
        if (found != catalog_.records().end())
            disk_.records.put(record_key(key), record_value(found->second));
        else
            disk_.records.remove(record_key(key));
    }
    const bool any_record = !dirty_records_.empty() || dirty_version_;
    PAL_CHECK(disk_.index.write(mark, wipe_due_ ? wipe_logs_ : std::vector<std::string>()));
    if (any_record)
        PAL_CHECK(disk_.records.write(catalog_.record_version,
                                      wipe_due_ ? wipe_records_ : std::vector<std::string>()));
    return {};
}

void FilesWriter::trim_files() {
    disk_.folder->trim([&](const LogFileId& id) -> std::optional<std::uint64_t> {
        const FilesLog* log = catalog_.find(id.log);
        return log && log->version == id.version ? std::optional(log->length) : std::nullopt;
    });
}

Result<void> FilesWriter::checkpoint() {
    if (disk_.folder->filled() > filled_files_max) trim_files();
    const bool nothing = disk_.journal.bytes() == 0 && dirty_logs_.empty() && !wipe_due_ &&
                         disk_.folder->unsynced() == 0;
    if (nothing) return {};
    const std::uint64_t next = disk_.journal.generation() + 1;
    const auto done = [&]() -> Result<void> {
        PAL_CHECK(disk_.folder->sync());
        PAL_CHECK(write_tables(next));
        return disk_.journal.reset(wipe_due_);
    }();
    if (!done) {
        distrusted_ = true;  // What was not synced is written anew before it is relied on.
        return done;
    }
    all_is_synced();
    if (disk_.index.wants_compaction() || disk_.records.wants_compaction())
        (void)compact_tables(next);
    return {};
}

Result<void> FilesWriter::compact_tables(std::uint64_t mark) {
    PAL_CHECK(disk_.index.compact(mark, [&](const auto& put) {
        for (const auto& [uid, log] : catalog_.logs()) put(index_key(uid), index_value(*log));
    }));
    return disk_.records.compact(catalog_.record_version, [&](const auto& put) {
        for (const auto& [key, record] : catalog_.records())
            put(record_key(key), record_value(record));
    });
}

Result<void> FilesWriter::rewrite_tables() {
    PAL_CHECK(get_ready());
    PAL_CHECK(checkpoint());
    return compact_tables(disk_.journal.generation());
}

void FilesWriter::all_is_synced() {
    dirty_logs_.clear();
    dirty_records_.clear();
    if (wipe_due_) {
        wipe_logs_.clear();
        wipe_records_.clear();
    }
    dirty_version_ = wipe_due_ = unsynced_ = false;
}

Result<void> FilesWriter::purge() {
    wipe_due_ = true;
    return checkpoint();
}

void FilesWriter::checkpoint_if_due() {
    if (distrusted_ || closed_) return;
    if (disk_.journal.bytes() >= journal_bytes_max || dirty_logs_.size() >= dirty_logs_max)
        (void)checkpoint();
}

// Everything that was acknowledged since the last checkpoint, from the journal into the files once
// more; then a new journal, because the old one may hold what was never acknowledged.
Result<void> FilesWriter::mend() {
    FilesFolder& folder = *disk_.folder;
    const ReplayTarget target{
        .put = [&](const LogFileId& id, std::uint64_t at, std::string_view bytes) -> Result<void> {
            const FilesLog* log = catalog_.find(id.log);
            if (!log || log->version != id.version) return {};
            return folder.write(id, at, bytes);
        },
        .swap = [](const LogFileId&, std::uint64_t, LogState) -> Result<void> { return {}; },
        .drop = [](const LogId&) {},
        .record = [](const RecordKey&, std::optional<Record>, std::uint64_t) {},
    };
    PAL_CHECK(disk_.journal.replay_acknowledged(
        [&](std::string_view group) { return replay_change(group, target); }));
    PAL_CHECK(folder.sync());
    PAL_CHECK(write_tables(disk_.journal.generation() + 1));
    PAL_CHECK(disk_.journal.renew());
    for (const auto& [log, number] : std::exchange(doubtful_parts_, {}))
        folder.remove_part(log, number);
    all_is_synced();
    return {};
}

Result<void> FilesWriter::sync_now() {
    const Alone sync = [&]() -> Result<void> {
        if (!unsynced_ || distrusted_ || closed_) return {};
        const Result<void> done = disk_.journal.sync();
        distrusted_ = !done;
        unsynced_ = false;
        return done;
    };
    return run_alone(sync);
}

// ---- places -------------------------------------------------------------------------------------

Result<void> FilesWriter::load(FilesLog& log) {
    if (log.places) return {};
    PAL_TRY(file, disk_.folder->open_known({log.header().log, log.version}));
    PAL_TRY(places, read_places(*file, log));
    const std::unique_lock lock(catalog_mutex_);
    places_loaded_ += places->entries.size();
    if (places_loaded_ > places_max) {
        for (const auto& [uid, other] : catalog_.logs()) other->places = nullptr;
        places_loaded_ = places->entries.size();
    }
    log.places = std::move(places);
    return {};
}

}  // namespace palimpsest
