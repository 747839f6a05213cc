// What the SQLite store does to logs, inside a transaction of the writer or of a reader. Each
// function makes all its checks before its first write.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "palimpsest/store.h"
#include "store/sqlite_rows.h"

namespace palimpsest {

// A body, encoded and summed, which is done before it waits for its turn.
struct ReadyEntry {
    EntryKind kind = EntryKind::message;
    EncodedBody body = {};
    std::uint64_t payload_sum = 0;
    std::string hash = {};  // of a payload that is stored once; empty: it stays with its entry
};
ReadyEntry make_ready(const Body& body);

struct ReadyBatch {
    const ConversationId& name;
    const Batch& batch;
    std::vector<ReadyEntry> entries = {};  // one for each of batch.entries
    std::size_t bytes = 0;
    std::optional<Duration> ttl = {};  // of a log that this batch creates and gives none
};
ReadyBatch make_ready(const ConversationId& name, const Batch& batch);

// Headers as the last appends left them, which need not be read and checked again for the next one:
// one connection alone writes. Whoever changes logs in another way calls forget().
class KnownLogs {
public:
    // Forgets all that was kept before what was written was taken back (SqliteWriter::undone).
    void enter(std::uint64_t undone);
    const LogRow* find(const ConversationId& name) const;
    void put(const LogRow& row);
    void forget() { rows_.clear(); }

private:
    std::unordered_map<std::string, LogRow> rows_;
    std::uint64_t undone_ = 0;
};

Result<Appended> append_batch(SqliteDatabase& db, KnownLogs& known, const ReadyBatch& ready,
                              Time now);

// Puts the payload among the bodies of the tenant, unless it is there: gives the number of the
// body.
Result<std::int64_t> share_payload(SqliteDatabase& db, const std::string& tenant,
                                   const ReadyEntry& entry);
// Bodies that no entry names, which nothing but damage leaves behind.
Result<std::uint64_t> count_unused_bodies(SqliteDatabase& db);
Result<void> remove_unused_bodies(SqliteDatabase& db);

Result<std::vector<Entry>> read_entries(SqliteDatabase& db, const LogRow& log,
                                        const ReadQuery& query);
Result<Page> list_logs(SqliteDatabase& db, const ListQuery& query, Time now);

struct ReadyReplacement {
    LogId log = {};
    Seq seq = {};
    ReadyEntry entry = {};
};
Result<void> scrub_entries(SqliteDatabase& db, std::span<const ReadyReplacement> replacements,
                           Time now);

// Takes the log's name away and removes what no fork needs, of it and of nameless logs above it.
Result<Receipt> remove_log(SqliteDatabase& db, LogRow row);
// The same, after the expiry of every log on which it depends what can go: a conversation that has
// expired keeps nothing and is named to nobody.
Result<Receipt> erase_log(SqliteDatabase& db, const LogRow& row, Time now);
// Of one whose header is damaged: made right first where forks need it to be.
Result<Receipt> erase_damaged_log(SqliteDatabase& db, const StoredLog& stored, Time now);

// Writes a header whose checksum is wrong anew: what its entries tell, and for the rest what
// stands there, where it can be what it must be. A time to live that nothing confirms is not
// believed: the store's takes its place. `internal`: it cannot be told, nothing is changed.
struct MendTerms {
    Time now = {};
    std::optional<Duration> ttl = {};  // the store's, of conversations that bring none
};
struct MendedLog {
    LogRow row = {};
    std::string ttl_note = {};  // what became of its time to live, where that is not as it was
};
Result<MendedLog> mend_log(SqliteDatabase& db, const StoredLog& stored, const MendTerms& terms);
// Where pages are damaged, as far as they can be read. A fork comes after what it was forked from.
std::vector<std::int64_t> numbers_of_logs(SqliteDatabase& db);
// All that are damaged; one finding for each that was mended.
Result<std::vector<Finding>> mend_logs(SqliteDatabase& db, const MendTerms& terms);

// Logs that have lost their row of `log`: number and uid, and for a name the tenant and the uid;
// nameless where forks keep it.
Result<std::vector<LogRow>> lost_logs(SqliteDatabase& db);
// Gives them a row that mend_logs() makes right where their entries tell enough; in any case they
// are listed and can be erased. What has no entry left is removed.
Result<std::vector<Finding>> mend_lost_logs(SqliteDatabase& db);

// Labels by which the metadata of a log should be found and is not.
Result<std::uint64_t> missing_labels(SqliteDatabase& db, const LogRow& row);
// Those that say what no log's metadata says.
Result<std::uint64_t> count_wrong_labels(SqliteDatabase& db);
// Makes them what the metadata says; gives how many were not.
Result<std::uint64_t> mend_labels(SqliteDatabase& db);

// Logs that have expired, at most `limit`.
Result<std::vector<LogId>> expired_logs(SqliteDatabase& db, Time now, std::size_t limit);
// Forgets idempotency keys that are older than they must be kept. They stand in the order of their
// logs, so it goes round all of them, some at a time and more than come in the meantime.
class KeyPruner {
public:
    // To be called after each batch with a key; does something at some of the calls.
    Result<void> after_batch(SqliteDatabase& db, Time now);
    // Looks at the next so many.
    Result<void> prune(SqliteDatabase& db, Time now, std::size_t count);

private:
    std::int64_t log_ = 0;  // Behind this key of this log it goes on.
    std::string key_ = {};
    unsigned batches_ = 0;
};

}  // namespace palimpsest
