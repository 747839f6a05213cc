// The batch on PostgreSQL. The common one, entries for a conversation that is there, is a single
// statement that finds, checks and writes; when that finds nothing to write to, the same batch goes
// through a transaction that says why, creates, forks or changes the header.
#include "base/clock.h"
#include "base/ids.h"
#include "store/epoch_ms.h"
#include "store/postgres_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

// $1 now, $2 tenant, $3 id, $4 entries, $5 place of the newest basis, $6 messages, $7 log, $8 end,
// $9 basis, $10 epoch, $11 revision, $12 key, $13 digest, $14-18 the entries. A key that is there
// in any form leaves no row, and so does everything that is not as expected: the transaction below
// finds out. Two with one key at once: the later breaks the primary key of pal_once.
const std::string moving_head =
    "WITH t AS MATERIALIZED (SELECT " + pg_now +
    " AS now), h AS (UPDATE pal_head AS h SET last = h.last + $4::bigint, "
    "basis = COALESCE(h.last + $5::bigint, h.basis), messages = h.messages + $6::bigint, "
    "updated = CASE WHEN $4 > 0 THEN t.now ELSE h.updated END, "
    "updated_minute = CASE WHEN $4 > 0 THEN t.now / 60000 ELSE h.updated_minute END, "
    "accessed = t.now, accessed_minute = t.now / 60000, "
    "expires = CASE WHEN h.ttl IS NOT NULL THEN GREATEST(h.expires, t.now + h.ttl) END, "
    "expires_minute = CASE WHEN h.ttl IS NOT NULL THEN GREATEST(h.expires, t.now + h.ttl) END "
    "/ 60000 "
    "FROM pal_name n, t WHERE n.tenant = $2::text AND n.id = $3::text AND h.log = n.log "
    "AND h.named AND (h.expires IS NULL OR h.expires > t.now) "
    "AND ($7::uuid IS NULL OR h.log = $7) AND ($8::bigint IS NULL OR h.last = $8) "
    "AND ($9::bigint IS NULL OR h.basis = $9) AND ($10::bigint IS NULL OR h.epoch = $10) "
    "AND ($11::bigint IS NULL OR h.revision = $11) AND ($12::bytea IS NULL OR NOT EXISTS "
    "(SELECT 1 FROM pal_once o WHERE o.log = h.log AND o.key = $12)) RETURNING h.*, t.now), ";
const std::string telling_it =
    "o AS (INSERT INTO pal_once(log, key, digest, first, last, at) SELECT h.log, $12, "
    "$13::bytea, h.last - $4 + 1, h.last, h.now FROM h WHERE $12 IS NOT NULL) "
    "SELECT " +
    log_columns_of_l_and_h + ", h.now, l.revision FROM h JOIN pal_log l ON l.log = h.log";
const PgStatement appending{
    "append", moving_head +
                  "e AS (INSERT INTO pal_entry(log, seq, kind, at, ordinal, meta, payload) "
                  "SELECT h.log, h.last - $4 + u.o, u.kind::smallint, COALESCE(u.at, h.now), "
                  "h.messages - $6 + u.ordinal, u.meta, u.payload FROM h, unnest($14::bigint[], "
                  "$15::bigint[], $16::bigint[], $17::bytea[], $18::bytea[]) WITH ORDINALITY "
                  "AS u(kind, at, ordinal, meta, payload, o)), " +
                  telling_it};
// The same where some payloads are shared, $19 their hashes. A body is written after the head is
// ours, so nobody removes it as unused meanwhile; in the order of the hashes, so that two with the
// same ones do not wait for each other.
const PgStatement appending_shared{
    "append_shared",
    moving_head +
        "e AS (INSERT INTO pal_entry(log, seq, kind, at, ordinal, meta, payload, shared) "
        "SELECT h.log, h.last - $4 + u.o, u.kind::smallint, COALESCE(u.at, h.now), "
        "h.messages - $6 + u.ordinal, u.meta, CASE WHEN u.hash IS NULL THEN u.payload END, u.hash "
        "FROM h, unnest($14::bigint[], $15::bigint[], $16::bigint[], $17::bytea[], $18::bytea[], "
        "$19::bytea[]) WITH ORDINALITY AS u(kind, at, ordinal, meta, payload, hash, o)), "
        "b AS (INSERT INTO pal_body(root, hash, bytes) SELECT DISTINCT ON (u.hash) l.root, u.hash, "
        "u.payload FROM h JOIN pal_log l ON l.log = h.log, unnest($18::bytea[], $19::bytea[]) "
        "AS u(payload, hash) WHERE u.hash IS NOT NULL ORDER BY u.hash ON CONFLICT DO NOTHING), " +
        telling_it};

std::optional<std::int64_t> maybe(const std::optional<Seq>& seq) {
    return seq ? std::optional(static_cast<std::int64_t>(seq->value)) : std::nullopt;
}
std::optional<std::int64_t> maybe(const std::optional<std::uint64_t>& number) {
    return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

}  // namespace

const PgStatement& PostgresStore::append_statement() {
    return appending;
}

// A batch on its way through the checks.
struct PostgresStore::Pending {
    const ConversationId& name;
    const Batch& batch;
    const PgEntries& entries;
    LogId fresh = {};
    std::optional<LogId> leaving = {};  // has the name, and has expired
};

Result<Appended> PostgresStore::append(const ConversationId& name, const Batch& batch) {
    PAL_CHECK(check_batch(name, batch));
    const PgEntries entries = make_entries(batch);
    if (!batch.fork && batch.patch.empty() && !batch.stamp) {
        PAL_TRY(done, append_at_once(name, batch, entries));
        if (done) return std::move(*done);
    }
    Pending pending{name, batch, entries, batch.new_log};
    if (pending.fresh.empty()) pending.fresh = random_log_id();
    return retry<Appended>([&](PgConnection& connection) -> Result<std::optional<Appended>> {
        if (pending.leaving) PAL_CHECK(settle(connection, *pending.leaving));
        pending.leaving.reset();
        return append_locked(connection, pending);
    });
}

// Nothing: the transaction has to look.
Result<std::optional<Appended>> PostgresStore::append_at_once(const ConversationId& name,
                                                              const Batch& batch,
                                                              const PgEntries& entries) {
    PgCall call{entries.shares ? appending_shared : appending};
    PgParams& p = call.params;
    p.maybe(now()).bytes(name.tenant).bytes(name.id);
    p.number(entries.kinds.size()).maybe(entries.basis).number(entries.messages);
    batch.expected_log ? p.uid(*batch.expected_log) : p.null();
    p.maybe(maybe(batch.expected_end)).maybe(maybe(batch.expected_basis));
    p.maybe(maybe(batch.expected_epoch)).maybe(maybe(batch.expected_revision));
    batch.key.empty() ? p.null() : p.bytes(batch.key);
    p.bytes(digest_bytes(batch.digest));
    add_entries(p, entries);
    PAL_TRY(connection, pool_.borrow());
    const Result<PgTable> rows = connection->run(call, Commits::yes);
    if (!rows && another_was_faster(*connection)) return std::nullopt;
    if (!rows) return std::unexpected(rows.error());
    if (rows->rows() == 0) return std::nullopt;
    Header header = read_log(*rows, 0).header();
    const Seq first = header.end - entries.kinds.size() + 1;
    const Seq last = header.end;
    // Whoever changed the header while we waited for its head is seen in the head only.
    if (rows->number(0, 24) != header.revision) {
        PAL_TRY(again, connection->run(find_by_log(now(), header.log), Commits::no));
        if (again.rows() > 0) header = read_log(again, 0).header();
    }
    return Appended{first, last, std::move(header), false, false};
}

Result<std::optional<Appended>> PostgresStore::append_locked(PgConnection& connection,
                                                             Pending& pending) {
    PgTransaction transaction(connection);
    PAL_TRY(tables, transaction.run({lock_name(pending.name), find_by_name(now(), pending.name)}));
    PAL_TRY(found, read_named(tables[1]));
    if (!found) return make(transaction, pending);
    // Not locked: it was made between the two.
    if (tables[0].rows() == 0 || tables[0].uid(0, 0) != found->header().log) return std::nullopt;
    if (!expired(found->header(), found->now)) return change(transaction, pending, *found);
    if (pending.batch.if_absent == IfAbsent::fail)
        return fail(ErrorCode::not_found, "no conversation \"" + pending.name.id + "\"");
    pending.leaving = found->header().log;
    return std::nullopt;
}

// The conversation is there and its head is ours.
Result<std::optional<Appended>> PostgresStore::change(PgTransaction& transaction, Pending& pending,
                                                      const PgLog& found) {
    const Batch& batch = pending.batch;
    const Header& before = found.header();
    if (!batch.key.empty()) {
        PAL_TRY(once, transaction.run(find_once(before.log, batch.key)));
        const bool seen =
            once.rows() > 0 && time_of(once.integer(0, 3)) + key_lifetime >= found.now;
        if (seen && once.bytes(0, 0) != digest_bytes(batch.digest))
            return fail(ErrorCode::unprocessable,
                        "the idempotency key was used for another request on this conversation",
                        "key");
        if (seen)
            return Appended{Seq{once.number(0, 1)}, Seq{once.number(0, 2)}, before, true, false};
    }
    if (batch.fork)
        return fail(ErrorCode::conflict,
                    "\"" + pending.name.id + "\" exists: a fork needs a new id");
    PAL_CHECK(check_expected(before, true, batch));
    Header header = before;
    PAL_CHECK(apply_batch(header, batch, found.now));
    std::vector<PgCall> calls{update_head(header)};
    if (!batch.patch.empty()) calls.push_back(update_log(header));
    const Range range{before.end + 1, header.end};
    if (!batch.entries.empty())
        calls.push_back(insert_entries(before, found.root, pending.entries, found.now));
    if (!batch.key.empty()) calls.push_back(insert_once(before.log, batch, range, found.now));
    PAL_CHECK(transaction.commit(std::move(calls)));
    return Appended{range.from, range.to, std::move(header), false, false};
}

// Sets the root of the fork, and its epoch: the parent may have been scrubbed since the fork point
// was looked up. The head of the root is ours from here on.
Result<void> PostgresStore::check_parent(PgTransaction& transaction, const Pending& pending,
                                         PgLog& fresh) {
    const ForkPoint& fork = *pending.batch.fork;
    const auto absent = [&] { return fail(ErrorCode::not_found, "no log " + hex(fork.parent)); };
    PAL_TRY(found, transaction.run(find_by_log(now(), fork.parent)));
    if (found.rows() == 0) return absent();
    fresh.root = read_log(found, 0).root;
    PAL_TRY(tables, transaction.run({lock_log(fresh.root), find_family(now(), fresh.root)}));
    const std::vector<PgLog> logs = read_logs(tables[1]);
    const std::optional<Header> parent = family_of(logs).as_of(fork.parent, fresh.now);
    if (tables[0].rows() == 0 || !parent) return absent();
    PAL_CHECK(check_fork(*parent, pending.name, fork));
    fresh.log.base_basis = fork.basis;
    fresh.log.base_messages = fork.messages;
    fresh.log.header.epoch = std::max(fresh.log.header.epoch, parent->epoch);
    return {};
}

Result<std::optional<Appended>> PostgresStore::make(PgTransaction& transaction, Pending& pending) {
    const Batch& batch = pending.batch;
    if (batch.if_absent == IfAbsent::fail)
        return fail(ErrorCode::not_found, "no conversation \"" + pending.name.id + "\"");
    PAL_TRY(asked, transaction.run({find_by_log(now(), pending.fresh), server_time(now())}));
    PgLog fresh;
    fresh.root = pending.fresh;
    fresh.now = time_of(asked[1].integer(0, 0));
    Header& header = fresh.log.header;
    header = new_header(pending.name, pending.fresh, batch, fresh.now);
    header.ttl = options_.ttl;
    if (batch.fork) PAL_CHECK(check_parent(transaction, pending, fresh));
    if (asked[0].rows() > 0)
        return fail(ErrorCode::conflict, "a log " + hex(pending.fresh) + " exists");
    PAL_CHECK(check_expected(header, false, batch));
    const Header before = header;
    PAL_CHECK(apply_batch(header, batch, fresh.now));
    PAL_TRY(named, transaction.run(insert_name(pending.name, header.log)));
    if (named.changed() == 0) return std::nullopt;
    std::vector<PgCall> calls{insert_log(fresh), insert_head(header)};
    if (!batch.entries.empty())
        calls.push_back(insert_entries(before, fresh.root, pending.entries, fresh.now));
    const Range range{before.end + 1, header.end};
    if (!batch.key.empty()) calls.push_back(insert_once(header.log, batch, range, fresh.now));
    PAL_CHECK(transaction.commit(std::move(calls)));
    return Appended{range.from, range.to, std::move(header), false, true};
}

}  // namespace palimpsest
