// Bodies: large payloads, one row for all entries of a tenant that have the same bytes. Never
// shared by tenants: how long an append takes must not tell one of them what another has said.
//
// A body is written by the append that first needs it, and goes with the last entry that names it:
// by triggers on `entry` (sqlite_schema.cpp), so that no way of removing an entry can forget it.
#include "store/sqlite_logs.h"

namespace palimpsest {

// Bytes that are there already and damaged are put right: the hash says that these are the ones.
Result<std::int64_t> share_payload(SqliteDatabase& db, const std::string& tenant,
                                   const ReadyEntry& entry) {
    {
        SqliteQuery query = db.query(
            "INSERT INTO body(tenant, hash, bytes) VALUES(?,?,?) ON CONFLICT(tenant, hash) "
            "DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes");
        query.text(tenant).blob(entry.hash).blob(*entry.body.payload);
        PAL_CHECK(query.run());
    }
    SqliteQuery query = db.query("SELECT id FROM body WHERE tenant = ? AND hash = ?");
    query.text(tenant).blob(entry.hash);
    PAL_TRY(found, query.step());
    if (found) return query.integer_at(0);
    return fail(ErrorCode::internal,
                "the index of bodies is damaged; `pal doctor` lists what is readable");
}

Result<std::uint64_t> count_unused_bodies(SqliteDatabase& db) {
    PAL_TRY(count, db.integer("SELECT count(*) FROM body WHERE id NOT IN "
                              "(SELECT shared FROM entry WHERE shared IS NOT NULL)"));
    return static_cast<std::uint64_t>(count);
}

// Asks the entries themselves: an index that hides one must not cost it its content.
Result<void> remove_unused_bodies(SqliteDatabase& db) {
    return db.execute(
        "DELETE FROM body WHERE id NOT IN "
        "(SELECT shared FROM entry NOT INDEXED WHERE shared IS NOT NULL)");
}

}  // namespace palimpsest
