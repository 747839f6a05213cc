// Taking content away on PostgreSQL: scrub, erase and expiry. All of them hold the head of the
// family's root and then the heads of the family, so nothing of it moves meanwhile.
#include <set>

#include "base/ids.h"
#include "store/entry_guard.h"
#include "store/epoch_ms.h"
#include "store/postgres_mend.h"
#include "store/postgres_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

// How many rows one call of sweep removes beside conversations.
constexpr std::size_t rows_swept = 1000;

const PgStatement finding_entry{
    "find_entry", "SELECT kind FROM pal_entry WHERE log = $1::uuid AND seq = $2::bigint"};
const PgStatement replacing_entry{"replace_entry",
                                  "UPDATE pal_entry SET meta = $3::bytea, payload = $4::bytea, "
                                  "shared = NULL WHERE log = $1::uuid AND seq = $2::bigint"};
const PgStatement finding_expired{"find_expired",
                                  "SELECT log FROM pal_head WHERE expires_minute <= " + pg_now +
                                      " / 60000 AND expires <= " + pg_now +
                                      " ORDER BY expires_minute LIMIT $2::bigint"};
const PgStatement pruning_once{
    "prune_once",
    "DELETE FROM pal_once WHERE (log, key) IN (SELECT log, key FROM pal_once WHERE at < " + pg_now +
        " - $2::bigint ORDER BY at LIMIT $3::bigint)"};
const PgStatement pruning_records{
    "prune_records",
    "DELETE FROM pal_record WHERE (tenant, space, key) IN (SELECT tenant, space, key FROM "
    "pal_record WHERE expires <= " +
        pg_now + " ORDER BY expires LIMIT $2::bigint) AND expires <= " + pg_now};

PgCall entry_call(const PgStatement& statement, const Replacement& replacement) {
    PgCall call{statement};
    call.params.uid(replacement.log).seq(replacement.seq);
    return call;
}

PgCall replace_entry(const Replacement& replacement) {
    const EncodedBody body = encode_guarded(replacement.body);
    PgCall call = entry_call(replacing_entry, replacement);
    call.params.bytes(body.meta);
    body.payload ? call.params.bytes(view_of(body.payload)) : call.params.null();
    return call;
}

std::unexpected<Error> no_log(const LogId& log) {
    return fail(ErrorCode::not_found, "no log " + hex(log));
}

}  // namespace

// A family whose heads are all ours.
struct PostgresStore::Held {
    std::vector<PgLog> logs;
    ForkTree family;
    Time now;
};

// A log that lost its head is of the family all the same, and what it shares stays: it gets one.
Result<std::optional<PostgresStore::Held>> PostgresStore::hold_family(PgTransaction& transaction,
                                                                      const LogId& root) {
    PAL_TRY(tables, transaction.run({mend_heads(now(), options_.ttl, root), lock_log(root),
                                     lock_family(root), find_family(now(), root),
                                     server_time(now()), find_strays(root)}));
    if (tables[5].integer(0, 0) != 0)
        return fail(
            ErrorCode::internal,
            "the family of log " + hex(root) +
                " is damaged: a fork and its parent do not say the same root in pal_log, so "
                "what they share is not guarded. Nothing was removed; `pal doctor --repair` "
                "puts it right");
    std::vector<PgLog> logs = read_logs(tables[3]);
    // Without the head of its root nobody forks from it, and all heads that are left are ours.
    if (logs.empty()) return std::nullopt;
    ForkTree family = family_of(logs);
    return Held{std::move(logs), std::move(family), time_of(tables[4].integer(0, 0))};
}

Result<Receipt> PostgresStore::erase(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    return retry<Receipt>([&](PgConnection& connection) { return erase_locked(connection, name); });
}

// What is lost of its header is made anew first, in the same transaction: whatever is damaged, a
// conversation can be erased.
Result<std::optional<PostgresStore::Removable>> PostgresStore::find_removable(
    PgTransaction& transaction, const ConversationId& name) {
    PAL_TRY(found, transaction.run(find_by_name(now(), name)));
    if (const auto torn = torn_log_of(found)) {
        PAL_TRY(tables,
                transaction.run({find_body_roots(name), mend_log(now(), name), find_root(name)}));
        if (tables[2].rows() == 0) return std::nullopt;  // erased meanwhile
        Removable torn_one{.log = *torn, .root = tables[2].uid(0, 0), .torn = true};
        for (std::size_t row = 0; row < tables[0].rows(); ++row)
            torn_one.body_roots.push_back(tables[0].uid(row, 0));
        return torn_one;
    }
    PAL_TRY(named, read_named(found));
    if (!named) return std::nullopt;
    return Removable{.log = named->header().log, .root = named->root};
}

Result<std::optional<Receipt>> PostgresStore::erase_locked(PgConnection& connection,
                                                           const ConversationId& name) {
    const auto absent = [&] {
        return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
    };
    PgTransaction transaction(connection);
    PAL_TRY(named, find_removable(transaction, name));
    if (!named) return absent();
    PAL_TRY(held, hold_family(transaction, named->root));
    if (!held) return std::nullopt;
    const TreeLog* still = held->family.find(named->log);
    if (!still || !still->named()) return std::nullopt;
    // A sweep does not find what lacks a row.
    if (expired(still->header, held->now) && !named->torn) return absent();
    Receipt receipt = held->family.erase(named->log, held->now);
    std::vector<PgCall> calls;
    add_changes(held->family, held->logs, calls);
    calls.push_back(remove_unused_bodies(named->root));
    for (const LogId& root : named->body_roots) {
        PAL_CHECK(transaction.run({lock_log(root), lock_family(root)}));
        calls.push_back(remove_unused_bodies(root));
    }
    PAL_CHECK(transaction.commit(std::move(calls)));
    receipt.remains = {"dead rows until VACUUM FULL", "the write-ahead log until it is recycled",
                       "replicas and backups"};
    return receipt;
}

Result<bool> PostgresStore::settle(PgConnection& connection, const LogId& log) {
    PgTransaction transaction(connection);
    PAL_TRY(found, transaction.run(find_by_log(now(), log)));
    if (found.rows() == 0) return false;
    const LogId root = read_log(found, 0).root;
    PAL_TRY(held, hold_family(transaction, root));
    const TreeLog* still = held ? held->family.find(log) : nullptr;
    if (!still || !still->named() || !expired(still->header, held->now)) return false;
    held->family.remove(log);
    std::vector<PgCall> calls;
    add_changes(held->family, held->logs, calls);
    calls.push_back(remove_unused_bodies(root));
    PAL_CHECK(transaction.commit(std::move(calls)));
    return true;
}

Result<std::optional<bool>> PostgresStore::remove_kept(PgConnection& connection, const LogId& root,
                                                       const LogId& log) {
    PgTransaction transaction(connection);
    PAL_TRY(held, hold_family(transaction, root));
    const TreeLog* still = held ? held->family.find(log) : nullptr;
    if (!still || still->named()) return false;
    held->family.remove(log);
    std::vector<PgCall> calls;
    add_changes(held->family, held->logs, calls);
    calls.push_back(remove_unused_bodies(root));
    PAL_CHECK(transaction.commit(std::move(calls)));
    return true;
}

Result<void> PostgresStore::scrub(std::span<const Replacement> replacements) {
    if (replacements.empty()) return {};
    PAL_CHECK(retry<bool>(
        [&](PgConnection& connection) { return scrub_locked(connection, replacements); }));
    return {};
}

Result<std::optional<bool>> PostgresStore::scrub_locked(PgConnection& connection,
                                                        std::span<const Replacement> replacements) {
    PgTransaction transaction(connection);
    std::vector<PgCall> asking;
    for (const Replacement& replacement : replacements)
        asking.push_back(find_by_log(now(), replacement.log));
    PAL_TRY(found, transaction.run(std::move(asking)));
    std::map<LogId, std::set<LogId>> roots;  // in one order for everybody
    for (std::size_t i = 0; i < replacements.size(); ++i) {
        if (found[i].rows() > 0) roots[read_log(found[i], 0).root].insert(replacements[i].log);
    }
    std::vector<PgCall> calls;
    std::map<LogId, Seq> ends;
    for (const auto& [root, logs] : roots) {
        PAL_TRY(held, hold_family(transaction, root));
        if (!held) return std::nullopt;
        for (const LogId& log : logs)
            if (const auto living = held->family.as_of(log, held->now)) ends[log] = living->end;
        held->family.grow_epochs(logs);
        add_changes(held->family, held->logs, calls);
    }
    std::vector<PgCall> kinds;
    for (const Replacement& replacement : replacements)
        kinds.push_back(entry_call(finding_entry, replacement));
    PAL_TRY(entries, transaction.run(std::move(kinds)));
    for (std::size_t i = 0; i < replacements.size(); ++i) {
        const Replacement& one = replacements[i];
        if (!ends.contains(one.log)) return no_log(one.log);
        if (entries[i].rows() == 0 || one.seq > ends.at(one.log))
            return fail(ErrorCode::not_found,
                        "the log owns no entry " + std::to_string(one.seq.value));
        if (entries[i].integer(0, 0) != static_cast<std::int64_t>(kind_of(one.body)))
            return fail(ErrorCode::invalid_request, "a scrubbed entry keeps its kind", "body");
        calls.push_back(replace_entry(one));
    }
    for (const auto& [root, logs] : roots) calls.push_back(remove_unused_bodies(root));
    PAL_CHECK(transaction.commit(std::move(calls)));
    return true;
}

Result<std::size_t> PostgresStore::sweep(std::size_t limit) {
    PgCall asking{finding_expired};
    asking.params.maybe(now()).number(std::min<std::size_t>(limit, INT32_MAX));
    PAL_TRY(found, ask(asking));
    std::size_t went = 0;
    for (std::size_t row = 0; row < found.rows(); ++row) {
        const LogId log = found.uid(row, 0);
        const auto gone = retry<bool>([&](PgConnection& connection) -> Result<std::optional<bool>> {
            PAL_TRY(settled, settle(connection, log));
            return settled;
        });
        // What is damaged stays, and stands in nobody's way.
        if (!gone && gone.error().code != ErrorCode::internal) return std::unexpected(gone.error());
        if (gone && *gone) ++went;
    }
    PgCall once{pruning_once}, records{pruning_records};
    once.params.maybe(now()).integer(key_lifetime.count()).number(rows_swept);
    records.params.maybe(now()).number(rows_swept);
    PAL_TRY(connection, pool_.borrow());
    PAL_CHECK(connection->run(once, Commits::yes));
    PAL_CHECK(connection->run(records, Commits::yes));
    return went;
}

}  // namespace palimpsest
