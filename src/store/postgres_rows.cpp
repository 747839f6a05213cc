#include "store/postgres_rows.h"

#include "base/hash.h"
#include "base/ids.h"
#include "core/metadata.h"
#include "store/entry_guard.h"
#include "store/epoch_ms.h"
#include "store/shared_payload.h"

namespace palimpsest {

constexpr int log_columns = 23;

namespace {

constexpr std::int64_t minute_ms = 60'000;

const std::string select_logs = "SELECT " + log_columns_of_l_and_h + ", " + pg_now +
                                " FROM pal_log l JOIN pal_head h ON h.log = l.log ";
const PgStatement by_name{
    "by_name", "SELECT " + log_columns_of_l_and_h + ", " + pg_now +
                   ", n.log, l.log IS NOT NULL AND h.log IS NOT NULL FROM pal_name n "
                   "LEFT JOIN pal_log l ON l.log = n.log LEFT JOIN pal_head h ON h.log = n.log "
                   "WHERE n.tenant = $2::text AND n.id = $3::text"};
const PgStatement by_log{"by_log", select_logs + "WHERE l.log = $2::uuid"};
const PgStatement by_root{"by_root", select_logs + "WHERE l.root = $2::uuid"};

const PgStatement torn_log{
    "torn_log",
    "SELECT (EXISTS(SELECT 1 FROM pal_log WHERE log = $1::uuid) OR EXISTS(SELECT 1 FROM pal_head "
    "WHERE log = $1) OR EXISTS(SELECT 1 FROM pal_entry WHERE log = $1)) AND NOT EXISTS(SELECT 1 "
    "FROM pal_log l JOIN pal_head h ON h.log = l.log WHERE l.log = $1)"};
const PgStatement stray_forks{
    "stray_forks",
    "SELECT EXISTS(SELECT 1 FROM pal_log p JOIN pal_log c ON c.parent = p.log WHERE p.root = "
    "$1::uuid AND c.root <> $1) OR EXISTS(SELECT 1 FROM pal_log c JOIN pal_log p ON p.log = "
    "c.parent WHERE c.root = $1 AND p.root <> $1)"};

const PgStatement locking_name{"lock_name",
                               "SELECT h.log FROM pal_name n JOIN pal_head h ON h.log = n.log "
                               "WHERE n.tenant = $1::text AND n.id = $2::text FOR UPDATE OF h"};
const PgStatement locking_log{"lock_log",
                              "SELECT log FROM pal_head WHERE log = $1::uuid FOR UPDATE"};
const PgStatement locking_family{"lock_family",
                                 "SELECT h.log FROM pal_head h JOIN pal_log l ON l.log = h.log "
                                 "WHERE l.root = $1::uuid ORDER BY h.log FOR UPDATE OF h"};

const PgStatement inserting_name{
    "insert_name",
    "INSERT INTO pal_name(tenant, id, log) VALUES($1::text, $2::text, $3::uuid) "
    "ON CONFLICT DO NOTHING"};
const PgStatement inserting_log{
    "insert_log",
    "INSERT INTO pal_log(log, root, tenant, id, parent, base, base_basis, base_messages, owner, "
    "title, system_prompt, metadata, policy, labels, created, revision) VALUES($1::uuid, "
    "$2::uuid, $3::text, $4::text, $5::uuid, $6::bigint, $7::bigint, $8::bigint, $9::bytea, "
    "$10::bytea, $11::bytea, $12::bytea, $13::bytea, $14::bytea[], $15::bigint, $16::bigint)"};
const PgStatement updating_log{
    "update_log",
    "UPDATE pal_log SET id = $2::text, owner = $3::bytea, title = $4::bytea, "
    "system_prompt = $5::bytea, metadata = $6::bytea, policy = $7::bytea, labels = $8::bytea[], "
    "revision = $9::bigint WHERE log = $1::uuid"};
const PgStatement inserting_head{
    "insert_head",
    "INSERT INTO pal_head(log, tenant, named, last, basis, messages, epoch, revision, ttl, "
    "updated, accessed, expires, updated_minute, accessed_minute, expires_minute) "
    "VALUES($1::uuid, $2::text, $3::boolean, $4::bigint, $5::bigint, $6::bigint, $7::bigint, "
    "$8::bigint, $9::bigint, $10::bigint, $11::bigint, $12::bigint, $13::bigint, $14::bigint, "
    "$15::bigint)"};
const PgStatement updating_head{
    "update_head",
    "UPDATE pal_head SET tenant = $2::text, named = $3::boolean, last = $4::bigint, "
    "basis = $5::bigint, messages = $6::bigint, epoch = $7::bigint, revision = $8::bigint, "
    "ttl = $9::bigint, updated = $10::bigint, accessed = $11::bigint, expires = $12::bigint, "
    "updated_minute = $13::bigint, accessed_minute = $14::bigint, expires_minute = $15::bigint "
    "WHERE log = $1::uuid"};
const PgStatement inserting_entries{
    "insert_entries",
    "INSERT INTO pal_entry(log, seq, kind, at, ordinal, meta, payload) "
    "SELECT $1::uuid, $2::bigint + u.o, u.kind::smallint, COALESCE(u.at, $3::bigint), "
    "$4::bigint + u.ordinal, u.meta, u.payload FROM unnest($5::bigint[], $6::bigint[], "
    "$7::bigint[], $8::bytea[], $9::bytea[]) WITH ORDINALITY "
    "AS u(kind, at, ordinal, meta, payload, o)"};
// The same where some are shared: $10 hashes, $11 root.
const PgStatement inserting_shared{
    "insert_shared",
    "WITH b AS (INSERT INTO pal_body(root, hash, bytes) SELECT DISTINCT ON (u.hash) $11::uuid, "
    "u.hash, u.payload FROM unnest($9::bytea[], $10::bytea[]) AS u(payload, hash) "
    "WHERE u.hash IS NOT NULL ORDER BY u.hash ON CONFLICT DO NOTHING) "
    "INSERT INTO pal_entry(log, seq, kind, at, ordinal, meta, payload, shared) "
    "SELECT $1::uuid, $2::bigint + u.o, u.kind::smallint, COALESCE(u.at, $3::bigint), "
    "$4::bigint + u.ordinal, u.meta, CASE WHEN u.hash IS NULL THEN u.payload END, u.hash "
    "FROM unnest($5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[], "
    "$10::bytea[]) WITH ORDINALITY AS u(kind, at, ordinal, meta, payload, hash, o)"};
const PgStatement inserting_once{
    "insert_once",
    "INSERT INTO pal_once(log, key, digest, first, last, at) VALUES($1::uuid, $2::bytea, "
    "$3::bytea, $4::bigint, $5::bigint, $6::bigint) ON CONFLICT (log, key) DO UPDATE SET "
    "digest = excluded.digest, first = excluded.first, last = excluded.last, at = excluded.at"};
const PgStatement finding_once{
    "find_once",
    "SELECT digest, first, last, at FROM pal_once WHERE log = $1::uuid AND key = $2::bytea"};

const PgStatement deleting_entries{
    "delete_entries", "DELETE FROM pal_entry WHERE log = $1::uuid AND seq > $2::bigint"};
const PgStatement deleting_once{"delete_once", "DELETE FROM pal_once WHERE log = $1::uuid"};
const PgStatement deleting_head{"delete_head", "DELETE FROM pal_head WHERE log = $1::uuid"};
const PgStatement deleting_log{"delete_log", "DELETE FROM pal_log WHERE log = $1::uuid"};
const PgStatement deleting_name{
    "delete_name",
    "DELETE FROM pal_name WHERE tenant = $1::text AND id = $2::text AND log = $3::uuid"};

// The inner question is asked for each body: as a join it might walk over all entries.
const PgStatement removing_bodies{
    "remove_bodies",
    "DELETE FROM pal_body b WHERE b.root = $1::uuid AND (SELECT e.seq FROM pal_log l "
    "JOIN pal_entry e ON e.log = l.log WHERE l.root = $1 AND e.shared = b.hash LIMIT 1) IS NULL"};

const PgStatement begin{"begin", "BEGIN ISOLATION LEVEL READ COMMITTED"};
const PgStatement commit_it{"commit", "COMMIT"};
const PgStatement rollback{"rollback", "ROLLBACK"};

std::int64_t count_of(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

std::string label_hash(std::string_view tenant, std::string_view name, std::string_view value) {
    Hasher hasher;
    hasher.field(tenant);
    hasher.field(name);
    hasher.field(value);
    return digest_bytes(hasher.digest());
}

// Hashes, because an index has a limit for what it holds and metadata has a larger one.
void add_labels(PgParams& params, const Header& header) {
    const std::vector<std::string> hashes = labels_for(header);
    const std::vector<std::optional<std::string_view>> views(hashes.begin(), hashes.end());
    params.byte_strings(views);
}

void add_id(PgParams& params, const Header& header) {
    if (header.name.id.empty())
        params.null();
    else
        params.bytes(header.name.id);
}

PgCall head_call(const PgStatement& statement, const Header& header) {
    PgCall call{statement};
    PgParams& p = call.params;
    p.uid(header.log).bytes(header.name.tenant).boolean(!header.name.id.empty());
    p.seq(header.end).seq(header.basis).number(header.messages).number(header.epoch);
    p.number(header.revision);
    header.ttl ? p.integer(header.ttl->count()) : p.null();
    p.integer(ms_of(header.updated)).integer(ms_of(header.accessed));
    header.expires ? p.integer(ms_of(*header.expires)) : p.null();
    p.integer(ms_of(header.updated) / minute_ms).integer(ms_of(header.accessed) / minute_ms);
    header.expires ? p.integer(ms_of(*header.expires) / minute_ms) : p.null();
    return call;
}

PgCall by_uid(const PgStatement& statement, const LogId& log) {
    PgCall call{statement};
    call.params.uid(log);
    return call;
}

}  // namespace

PgLog read_log(const PgTable& table, std::size_t row) {
    PgLog found;
    Header& header = found.log.header;
    header.name = {std::string(table.bytes(row, 0)), std::string(table.bytes(row, 1))};
    header.log = table.uid(row, 2);
    if (!table.is_null(row, 3)) header.parent = table.uid(row, 3);
    header.base = Seq{table.number(row, 4)};
    header.end = Seq{table.number(row, 5)};
    header.basis = Seq{table.number(row, 6)};
    header.messages = table.number(row, 7);
    header.revision = table.number(row, 8);
    header.epoch = table.number(row, 9);
    header.owner = table.bytes(row, 10);
    header.title = table.bytes(row, 11);
    header.system_prompt = table.bytes(row, 12);
    header.metadata = table.bytes(row, 13);
    header.policy = table.bytes(row, 14);
    header.created = time_of(table.integer(row, 15));
    header.updated = time_of(table.integer(row, 16));
    header.accessed = time_of(table.integer(row, 17));
    if (const auto ttl = table.maybe(row, 18)) header.ttl = Duration(*ttl);
    if (const auto expires = table.maybe(row, 19)) header.expires = time_of(*expires);
    found.root = table.uid(row, 20);
    found.log.base_basis = Seq{table.number(row, 21)};
    found.log.base_messages = table.number(row, 22);
    found.now = time_of(table.integer(row, log_columns));
    return found;
}

std::optional<LogId> torn_log_of(const PgTable& table) {
    if (table.rows() == 0 || table.integer(0, log_columns + 2) != 0) return std::nullopt;
    return table.uid(0, log_columns + 1);
}

Result<std::optional<PgLog>> read_named(const PgTable& table) {
    if (table.rows() == 0) return std::nullopt;
    const auto torn = torn_log_of(table);
    if (!torn) return read_log(table, 0);
    return fail(ErrorCode::internal,
                "log " + hex(*torn) +
                    " is damaged: its name is there, its header is not; run `pal doctor` to see "
                    "what is whole, and `pal doctor --repair` to mend what can be");
}

PgCall server_time(PgNow now) {
    static const PgStatement asking{"server_time", "SELECT " + pg_now};
    PgCall call{asking};
    call.params.maybe(now);
    return call;
}

PgCall find_by_name(PgNow now, const ConversationId& name) {
    PgCall call{by_name};
    call.params.maybe(now).bytes(name.tenant).bytes(name.id);
    return call;
}

PgCall find_by_log(PgNow now, const LogId& log) {
    PgCall call{by_log};
    call.params.maybe(now).uid(log);
    return call;
}

PgCall find_family(PgNow now, const LogId& root) {
    PgCall call{by_root};
    call.params.maybe(now).uid(root);
    return call;
}

PgCall find_torn(const LogId& log) {
    return by_uid(torn_log, log);
}

std::unexpected<Error> lost_or_absent(const PgTable& torn, const LogId& log) {
    if (torn.rows() == 0 || torn.integer(0, 0) == 0)
        return fail(ErrorCode::not_found, "no log " + hex(log));
    return fail(ErrorCode::internal,
                "log " + hex(log) +
                    " is damaged: a part of its header is missing; run `pal doctor` to see what is "
                    "whole");
}

PgCall find_strays(const LogId& root) {
    return by_uid(stray_forks, root);
}

std::vector<PgLog> read_logs(const PgTable& table) {
    std::vector<PgLog> logs;
    for (std::size_t row = 0; row < table.rows(); ++row) logs.push_back(read_log(table, row));
    return logs;
}

ForkTree family_of(const std::vector<PgLog>& logs) {
    std::vector<TreeLog> all;
    for (const PgLog& log : logs) all.push_back(log.log);
    return ForkTree(std::move(all));
}

PgCall lock_name(const ConversationId& name) {
    PgCall call{locking_name};
    call.params.bytes(name.tenant).bytes(name.id);
    return call;
}
PgCall lock_log(const LogId& log) {
    return by_uid(locking_log, log);
}
PgCall lock_family(const LogId& root) {
    return by_uid(locking_family, root);
}

// ---- writing ------------------------------------------------------------------------------------

std::string digest_bytes(const Fingerprint& digest) {
    std::string out;
    for (const std::uint64_t half : {digest.low, digest.high})
        for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<char>(half >> (8 * i)));
    return out;
}

std::vector<std::string> labels_for(const Header& header) {
    std::vector<std::string> hashes;
    if (!header.name.id.empty())
        for (const auto& [name, value] : labels_of(header.metadata))
            hashes.push_back(label_hash(header.name.tenant, name, value));
    return hashes;
}

std::string label_of(const std::string& tenant, const std::string& name, const std::string& value) {
    return label_hash(tenant, name, value);
}

PgEntries make_entries(const Batch& batch) {
    PgEntries entries;
    for (const Draft& draft : batch.entries) {
        const EntryKind kind = kind_of(draft.body);
        if (kind == EntryKind::message) ++entries.messages;
        entries.kinds.emplace_back(static_cast<std::int64_t>(kind));
        entries.times.emplace_back(draft.at ? std::optional(ms_of(*draft.at)) : std::nullopt);
        entries.ordinals.emplace_back(count_of(entries.messages));
        entries.bodies.push_back(encode_guarded(draft.body));
        entries.hashes.push_back(shared_hash(entries.bodies.back().payload));
        if (!entries.hashes.back().empty()) entries.shares = true;
        if (basis_kinds.has(kind)) entries.basis = count_of(entries.kinds.size());
    }
    return entries;
}

void add_entries(PgParams& params, const PgEntries& entries) {
    params.integers(entries.kinds).integers(entries.times).integers(entries.ordinals);
    std::vector<std::optional<std::string_view>> metas, payloads;
    for (const EncodedBody& body : entries.bodies) {
        metas.emplace_back(body.meta);
        payloads.emplace_back(body.payload ? std::optional(view_of(body.payload)) : std::nullopt);
    }
    params.byte_strings(metas).byte_strings(payloads);
    if (!entries.shares) return;
    std::vector<std::optional<std::string_view>> hashes;
    for (const std::string& hash : entries.hashes)
        hashes.push_back(hash.empty() ? std::nullopt : std::optional<std::string_view>(hash));
    params.byte_strings(hashes);
}

PgCall insert_name(const ConversationId& name, const LogId& log) {
    PgCall call{inserting_name};
    call.params.bytes(name.tenant).bytes(name.id).uid(log);
    return call;
}

PgCall insert_log(const PgLog& log) {
    const Header& header = log.header();
    PgCall call{inserting_log};
    PgParams& p = call.params;
    p.uid(header.log).uid(log.root).bytes(header.name.tenant);
    add_id(p, header);
    header.parent ? p.uid(*header.parent) : p.null();
    p.seq(header.base).seq(log.log.base_basis).number(log.log.base_messages);
    p.bytes(header.owner).bytes(header.title).bytes(header.system_prompt);
    p.bytes(header.metadata).bytes(header.policy);
    add_labels(p, header);
    p.integer(ms_of(header.created)).number(header.revision);
    return call;
}

PgCall insert_head(const Header& header) {
    return head_call(inserting_head, header);
}

PgCall update_head(const Header& header) {
    return head_call(updating_head, header);
}

PgCall update_log(const Header& header) {
    PgCall call{updating_log};
    call.params.uid(header.log);
    add_id(call.params, header);
    call.params.bytes(header.owner).bytes(header.title).bytes(header.system_prompt);
    call.params.bytes(header.metadata).bytes(header.policy);
    add_labels(call.params, header);
    call.params.number(header.revision);
    return call;
}

PgCall insert_entries(const Header& before, const LogId& root, const PgEntries& entries, Time now) {
    PgCall call{entries.shares ? inserting_shared : inserting_entries};
    call.params.uid(before.log).seq(before.end).integer(ms_of(now)).number(before.messages);
    add_entries(call.params, entries);
    if (entries.shares) call.params.uid(root);
    return call;
}

PgCall insert_once(const LogId& log, const Batch& batch, Range range, Time now) {
    PgCall call{inserting_once};
    call.params.uid(log).bytes(batch.key).bytes(digest_bytes(batch.digest));
    call.params.seq(range.from).seq(range.to).integer(ms_of(now));
    return call;
}

PgCall find_once(const LogId& log, const std::string& key) {
    PgCall call{finding_once};
    call.params.uid(log).bytes(key);
    return call;
}

void add_changes(const ForkTree& family, const std::vector<PgLog>& before,
                 std::vector<PgCall>& calls) {
    for (const PgLog& old : before) {
        const auto change = family.changes().find(old.header().log);
        if (change == family.changes().end()) continue;
        const LogId& log = change->first;
        const bool unnamed = old.log.named() && (!change->second || !change->second->named());
        if (unnamed) {
            PgCall name{deleting_name};
            name.params.bytes(old.header().name.tenant).bytes(old.header().name.id).uid(log);
            calls.push_back(std::move(name));
            calls.push_back(by_uid(deleting_once, log));
        }
        const Seq kept = change->second ? change->second->header.end : Seq{};
        if (!change->second || kept < old.header().end) {
            PgCall entries = by_uid(deleting_entries, log);
            entries.params.seq(kept);
            calls.push_back(std::move(entries));
        }
        if (!change->second) {
            calls.push_back(by_uid(deleting_head, log));
            calls.push_back(by_uid(deleting_log, log));
            continue;
        }
        if (unnamed) calls.push_back(update_log(change->second->header));
        calls.push_back(update_head(change->second->header));
    }
}

PgCall remove_unused_bodies(const LogId& root) {
    return by_uid(removing_bodies, root);
}

// ---- transactions -------------------------------------------------------------------------------

PgTransaction::~PgTransaction() {
    if (open_ && !connection_.is_broken()) (void)connection_.run(PgCall{rollback}, Commits::no);
}

Result<std::vector<PgTable>> PgTransaction::run(std::vector<PgCall> calls) {
    const bool first = !open_;
    std::vector<PgCall> all;
    if (first) all.push_back(PgCall{begin});
    for (PgCall& call : calls) all.push_back(std::move(call));
    open_ = true;
    PAL_TRY(tables, connection_.run(all, Commits::no));
    if (first) tables.erase(tables.begin());
    return std::move(tables);
}

Result<PgTable> PgTransaction::run(PgCall call) {
    std::vector<PgCall> one;
    one.push_back(std::move(call));
    PAL_TRY(tables, run(std::move(one)));
    return std::move(tables.front());
}

Result<std::vector<PgTable>> PgTransaction::commit(std::vector<PgCall> calls) {
    calls.push_back(PgCall{commit_it});
    PAL_TRY(tables, connection_.run(calls, Commits::yes));
    open_ = false;
    return std::move(tables);
}

}  // namespace palimpsest
