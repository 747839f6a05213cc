// The batch: checks in the order of store.h, then writes. Creating, forking, appending and changing
// the header are one path.
#include "base/clock.h"
#include "base/ids.h"
#include "core/metadata.h"
#include "store/rules.h"
#include "store/shared_payload.h"
#include "store/sqlite_logs.h"

namespace palimpsest {
namespace {

std::string digest_bytes(const Fingerprint& digest) {
    std::string out;
    for (const std::uint64_t half : {digest.low, digest.high})
        for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<char>(half >> (8 * i)));
    return out;
}

// Two statements, so that an entry with its own payload costs what it did without bodies.
constexpr const char* insert_entry =
    "INSERT INTO entry(log, seq, kind, at, ordinal, sum, payload_sum, meta, payload) "
    "VALUES(?,?,?,?,?,?,?,?,?)";
constexpr const char* insert_shared =
    "INSERT INTO entry(log, seq, kind, at, ordinal, sum, payload_sum, meta, shared) "
    "VALUES(?,?,?,?,?,?,?,?,?)";

// Of headers that are known: many times what is busy at once; larger ones are read anew.
constexpr std::size_t known_count = 4096;
constexpr std::size_t known_bytes = 16 << 10;

// A batch on its way through the checks.
struct Pending {
    LogRow row = {};
    bool created = false;
    std::optional<LogRow> leaving = {};  // had the name, and has expired
};

// The range of the first time, when the key was seen.
Result<std::optional<Range>> seen_before(SqliteDatabase& db, const LogRow& row, const Batch& batch,
                                         Time now) {
    if (batch.key.empty()) return std::nullopt;
    SqliteQuery query =
        db.query("SELECT digest, first, last, at FROM once WHERE log = ? AND key = ?");
    query.integer(row.log).text(batch.key);
    PAL_TRY(found, query.step());
    if (!found || from_ms(query.integer_at(3)) + key_lifetime < now) return std::nullopt;
    if (query.bytes_at(0) != digest_bytes(batch.digest))
        return fail(ErrorCode::unprocessable,
                    "the idempotency key was used for another request on this conversation", "key");
    return Range{Seq{query.number_at(1)}, Seq{query.number_at(2)}};
}

Result<void> write_once(SqliteDatabase& db, const LogRow& row, const Batch& batch, Range range,
                        Time now) {
    if (batch.key.empty()) return {};
    const std::string digest = digest_bytes(batch.digest);
    SqliteQuery query = db.query(
        "INSERT OR REPLACE INTO once(log, key, digest, first, last, at) VALUES(?,?,?,?,?,?)");
    query.integer(row.log).text(batch.key).blob(digest);
    query.number(range.from.value).number(range.to.value).integer(to_ms(now));
    return query.run();
}

// Gives the parent's epoch: it may have been scrubbed since the fork point was looked up.
Result<std::uint64_t> check_parent(SqliteDatabase& db, const ReadyBatch& ready, Time now) {
    if (!ready.batch.fork) return std::uint64_t{0};
    const ForkPoint& fork = *ready.batch.fork;
    PAL_TRY(stored, find_log(db, fork.parent));
    if (stored) {
        PAL_TRY(parent, as_of(db, std::move(*stored), now));
        if (parent) {
            PAL_CHECK(check_fork(parent->header, ready.name, fork));
            return parent->header.epoch;
        }
    }
    return fail(ErrorCode::not_found, "no log " + hex(fork.parent));
}

// A uid names one log for ever. One that goes with this very batch does not count.
Result<void> check_uid_is_free(SqliteDatabase& db, const ReadyBatch& ready,
                               const std::optional<LogRow>& leaving) {
    if (ready.batch.new_log.empty()) return {};
    PAL_TRY(taken, find_log(db, ready.batch.new_log));
    if (!taken) return {};
    if (leaving && leaving->log == taken->log) {
        PAL_TRY(fork, largest_fork(db, ready.batch.new_log));
        if (!fork) return {};
    }
    return fail(ErrorCode::conflict, "a log " + hex(ready.batch.new_log) + " exists");
}

// Entries begin after `before`, the header as it was.
Result<void> insert_entries(SqliteDatabase& db, const ReadyBatch& ready, const LogRow& log,
                            const Header& before, Time now) {
    EntryRow row;
    row.seq = before.end;
    row.ordinal = before.messages;
    for (std::size_t i = 0; i < ready.entries.size(); ++i) {
        const ReadyEntry& entry = ready.entries[i];
        row.seq = row.seq + 1;
        row.kind = entry.kind;
        row.at = ready.batch.entries[i].at.value_or(now);
        if (row.kind == EntryKind::message) ++row.ordinal;
        row.payload_sum = entry.payload_sum;
        std::optional<std::int64_t> shared;
        if (!entry.hash.empty()) {
            PAL_TRY(body, share_payload(db, log.header.name.tenant, entry));
            shared = body;
        }
        const std::uint64_t sum = sum_of_entry(log.header.log, row, entry.body.meta);
        SqliteQuery query = db.query(shared ? insert_shared : insert_entry);
        query.integer(log.log).number(row.seq.value).integer(static_cast<std::int64_t>(row.kind));
        query.integer(to_ms(row.at)).number(row.ordinal).number(sum).number(row.payload_sum);
        query.blob(entry.body.meta);
        if (shared)
            query.integer(*shared);
        else
            entry.body.payload ? query.blob(*entry.body.payload) : query.null();
        PAL_CHECK(query.run());
    }
    return {};
}

// Labels follow the metadata: what the old one had and the new one has not goes.
Result<void> update_labels(SqliteDatabase& db, const LogRow& row, std::string_view old_metadata) {
    if (old_metadata == row.header.metadata) return {};
    const std::map<std::string, std::string> old = labels_of(old_metadata);
    const std::map<std::string, std::string> now = labels_of(row.header.metadata);
    const auto change = [&](const char* sql, const auto& label) {
        SqliteQuery query = db.query(sql);
        query.text(row.header.name.tenant).text(label.first).text(label.second).integer(row.log);
        return query.run();
    };
    for (const auto& label : old)
        PAL_CHECK(
            change("DELETE FROM label WHERE tenant = ? AND k = ? AND v = ? AND log = ?", label));
    for (const auto& label : now)
        PAL_CHECK(change("INSERT OR REPLACE INTO label(tenant, k, v, log) VALUES(?,?,?,?)", label));
    return {};
}

Result<void> write_batch(SqliteDatabase& db, const ReadyBatch& ready, Pending& pending,
                         const Header& before, Time now) {
    LogRow& row = pending.row;
    if (pending.leaving) PAL_CHECK(remove_log(db, std::move(*pending.leaving)));
    if (pending.created) PAL_CHECK(insert_log(db, row));
    PAL_CHECK(insert_entries(db, ready, row, before, now));
    if (!pending.created) {
        if (!ready.batch.patch.empty()) PAL_CHECK(update_log(db, row));
        PAL_CHECK(update_head(db, row, before));
    }
    PAL_CHECK(update_labels(db, row, before.metadata));
    return write_once(db, row, ready.batch, {before.end + 1, row.header.end}, now);
}

Result<std::optional<LogRow>> find_log(SqliteDatabase& db, const KnownLogs& known,
                                       const ConversationId& name) {
    if (const LogRow* row = known.find(name)) return *row;
    return find_log(db, name);
}

Result<Pending> find_or_make(SqliteDatabase& db, const KnownLogs& known, const ReadyBatch& ready,
                             Time now) {
    PAL_TRY(stored, find_log(db, known, ready.name));
    if (stored && !expired(stored->header, now)) return Pending{.row = std::move(*stored)};
    if (ready.batch.if_absent == IfAbsent::fail)
        return fail(ErrorCode::not_found, "no conversation \"" + ready.name.id + "\"");
    PAL_TRY(epoch, check_parent(db, ready, now));
    PAL_CHECK(check_uid_is_free(db, ready, stored));
    Pending pending{.created = true, .leaving = std::move(stored)};
    const LogId uid = ready.batch.new_log.empty() ? random_log_id() : ready.batch.new_log;
    pending.row.header = new_header(ready.name, uid, ready.batch, now);
    pending.row.header.ttl = ready.ttl;
    pending.row.header.epoch = std::max(pending.row.header.epoch, epoch);
    return pending;
}

std::string key_of(const ConversationId& name) {
    return name.tenant + "\n" + name.id;  // No name has one.
}

}  // namespace

void KnownLogs::enter(std::uint64_t undone) {
    if (undone != undone_) forget();
    undone_ = undone;
}

const LogRow* KnownLogs::find(const ConversationId& name) const {
    const auto found = rows_.find(key_of(name));
    return found == rows_.end() ? nullptr : &found->second;
}

void KnownLogs::put(const LogRow& row) {
    const Header& header = row.header;
    const bool large =
        header.system_prompt.size() + header.metadata.size() + header.policy.size() > known_bytes;
    if (large) {
        rows_.erase(key_of(header.name));
        return;
    }
    if (rows_.size() >= known_count) forget();
    rows_.insert_or_assign(key_of(header.name), row);
}

ReadyBatch make_ready(const ConversationId& name, const Batch& batch) {
    ReadyBatch ready{.name = name, .batch = batch};
    ready.entries.reserve(batch.entries.size());
    for (const Draft& draft : batch.entries) {
        ready.entries.push_back(make_ready(draft.body));
        ready.entries.back().hash = shared_hash(ready.entries.back().body.payload);
        const EncodedBody& body = ready.entries.back().body;
        ready.bytes += body.meta.size() + view_of(body.payload).size();
    }
    return ready;
}

Result<Appended> append_batch(SqliteDatabase& db, KnownLogs& known, const ReadyBatch& ready,
                              Time now) {
    const Batch& batch = ready.batch;
    PAL_TRY(pending, find_or_make(db, known, ready, now));
    if (!pending.created) {
        PAL_TRY(seen, seen_before(db, pending.row, batch, now));
        if (seen) return Appended{seen->from, seen->to, std::move(pending.row.header), true, false};
        if (batch.fork)
            return fail(ErrorCode::conflict,
                        "\"" + ready.name.id + "\" exists: a fork needs a new id");
    }
    Header& header = pending.row.header;
    PAL_CHECK(check_expected(header, !pending.created, batch));
    const Header before = header;
    PAL_CHECK(apply_batch(header, batch, now));
    if (pending.leaving) known.forget();
    PAL_CHECK(write_batch(db, ready, pending, before, now));
    known.put(pending.row);
    return Appended{before.end + 1, header.end, std::move(header), false, pending.created};
}

}  // namespace palimpsest
