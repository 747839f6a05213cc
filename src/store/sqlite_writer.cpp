#include "store/sqlite_writer.h"

#include <algorithm>
#include <utility>

namespace palimpsest {
namespace {

// About 8 MiB of WAL: long enough to spare syncs, short enough to be read and written back fast.
constexpr std::int64_t checkpoint_pages = 2000;
// Readers hold a snapshot for as long as one call; whoever holds one longer is not waited for.
constexpr int purge_wait_ms = 250;

}  // namespace

struct SqliteWriter::Waiting {
    const Work* work = nullptr;
    std::size_t bytes = 0;
    bool purge = false;
    const std::function<void()>* written = nullptr;
    Result<void> outcome = {};

    // Once, and not of what was refused: the commit of a group is not theirs who are not in it.
    void tell_written() {
        if (outcome && written && *written) (*std::exchange(written, nullptr))();
    }
};

SqliteWriter::SqliteWriter(std::unique_ptr<SqliteDatabase> db, std::string path, SyncLevel sync,
                           const StoreLock& lock)
    : db_(std::move(db)),
      path_(std::move(path)),
      sync_(sync),
      lock_(lock),
      checkpoint_at_(checkpoint_pages) {}

SqliteWriter::~SqliteWriter() {
    if (db_ && !distrusted_) (void)db_->checkpoint(true, 0);
}

Result<void> SqliteWriter::run(const Work& work, std::size_t bytes,
                               const std::function<void()>& written) {
    Waiting me{.work = &work, .bytes = bytes, .written = &written};
    return wait_in_line(me);
}

Result<void> SqliteWriter::run_and_purge(const Work& work) {
    Waiting me{.work = &work, .purge = true};
    return wait_in_line(me);
}

Result<void> SqliteWriter::wait_in_line(Waiting& me) {
    line_.pass(
        me, [this](std::span<Waiting* const> waiting) { return lead(waiting); },
        [this] { checkpoint_if_due(); });
    return std::move(me.outcome);
}

std::size_t SqliteWriter::lead(std::span<Waiting* const> waiting) {
    std::size_t size = 1, bytes = waiting.front()->bytes;
    while (size < waiting.size() && (bytes += waiting[size]->bytes) <= write_group_bytes) ++size;
    const std::span<Waiting* const> group = waiting.first(size);
    do_group(group);
    // Before anybody is told that it is gone.
    if (std::ranges::any_of(group, &Waiting::purge)) empty_wal();
    return size;
}

void SqliteWriter::do_group(std::span<Waiting* const> group) {
    const auto no_space = [&] {
        return std::ranges::any_of(group, [](const Waiting* waiting) {
            return !waiting->outcome && waiting->outcome.error().code == ErrorCode::no_space;
        });
    };
    bool done = do_together(group);
    // What the WAL takes can be had back, once.
    if (no_space() && db_ && db_->wal_pages() > 0) {
        empty_wal();
        done = do_together(group);
    }
    if (!done)
        for (Waiting* const& waiting : group) (void)do_together({&waiting, 1});
    // What was taken back is in it, too, and has filled the disk.
    if (no_space()) empty_wal();
}

// False: one of several failed half way; nothing was written, and each must be done alone.
bool SqliteWriter::do_together(std::span<Waiting* const> group) {
    const auto all = [&](const Error& error) {
        for (Waiting* waiting : group)
            if (waiting->outcome) waiting->outcome = std::unexpected(error);
        return true;
    };
    for (Waiting* waiting : group) waiting->outcome = {};
    if (const Result<void> ready = get_ready(); !ready) return all(ready.error());
    for (Waiting* waiting : group) {
        const std::int64_t before = db_->changed();
        waiting->outcome = (*waiting->work)(*db_);
        const bool clean = waiting->outcome || db_->changed() == before;
        if (clean && db_->in_transaction()) continue;
        ++undone_;
        db_->roll_back();
        return group.size() == 1;
    }
    const CommitResult commit = db_->commit([&] {
        for (Waiting* waiting : group) waiting->tell_written();
    });
    if (commit.outcome == CommitOutcome::done) {
        ++commits_;
        return true;
    }
    ++undone_;
    db_->roll_back();
    if (commit.outcome == CommitOutcome::failed) return all(commit.error);
    distrusted_ = true;
    return all({ErrorCode::outcome_unknown,
                commit.error.message + "; it is not known whether the write is there: repeat it "
                                       "with the same key"});
}

// Leaves a transaction open.
Result<void> SqliteWriter::get_ready() {
    PAL_CHECK(lock_.check_in_place());
    if (distrusted_ || !db_) {
        db_.reset();
        PAL_TRY(db, open_sqlite_writer(path_, sync_));
        // Everything that is readable is written once more, into the file, and synced there: what
        // is found from now on is durable.
        PAL_TRY(complete, db->checkpoint(true, purge_wait_ms));
        if (!complete)
            return fail(ErrorCode::unavailable,
                        "the store is being made good after a disk fault; try again");
        db_ = std::move(db);
        distrusted_ = false;
        checkpoint_at_ = checkpoint_pages;
    }
    db_->roll_back();
    SqliteQuery begin = db_->query("BEGIN IMMEDIATE");
    return begin.run();
}

void SqliteWriter::empty_wal() {
    if (distrusted_ || !db_) return;
    const Result<bool> complete = db_->checkpoint(true, purge_wait_ms);
    purge_due_ = !complete || !*complete;
    checkpoint_at_ = checkpoint_pages;
}

// A fault here loses nothing: the WAL stays as it is, and the next checkpoint begins again.
void SqliteWriter::checkpoint_if_due() {
    const std::int64_t pages = db_ ? db_->wal_pages() : 0;
    if (distrusted_ || !db_ || (pages < checkpoint_at_ && !purge_due_)) return;
    const Result<bool> complete = db_->checkpoint(purge_due_, 0);
    const bool good = complete && *complete;
    checkpoint_at_ = good ? checkpoint_pages : pages + checkpoint_pages;
    purge_due_ = purge_due_ && !good;
}

}  // namespace palimpsest
