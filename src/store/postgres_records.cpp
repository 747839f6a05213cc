// Records on PostgreSQL: each write is one statement. Versions come from a sequence, so they grow
// over the whole store and none is ever given out twice.
#include "base/ids.h"
#include "store/epoch_ms.h"
#include "store/postgres_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

const std::string living = "(expires IS NULL OR expires > " + pg_now + ")";

const PgStatement getting{"get_record",
                          "SELECT key, version, expires, value FROM pal_record WHERE tenant = "
                          "$2::text AND space = $3::text AND key = $4::bytea AND " +
                              living};
// $5 value, $6 time to live, $7 the version expected: none for any, 0 for absent.
const PgStatement putting{
    "put_record",
    "INSERT INTO pal_record AS r (tenant, space, key, version, expires, value) "
    "VALUES($2::text, $3::text, $4::bytea, nextval('pal_record_version'), " +
        pg_now +
        " + $6::bigint, $5::bytea) ON CONFLICT (tenant, space, key) DO UPDATE SET "
        "version = excluded.version, expires = excluded.expires, value = excluded.value "
        "WHERE $7::bigint IS NULL OR r.expires <= " +
        pg_now + " RETURNING version"};
const PgStatement replacing{
    "replace_record",
    "UPDATE pal_record SET version = nextval('pal_record_version'), value = $5::bytea, expires = " +
        pg_now +
        " + $6::bigint WHERE tenant = $2::text AND space = $3::text AND key = $4::bytea AND "
        "version = $7::bigint AND " +
        living + " RETURNING version"};
const PgStatement removing{
    "remove_record",
    "WITH gone AS (DELETE FROM pal_record WHERE tenant = $2::text AND space = $3::text AND "
    "key = $4::bytea AND ($5::bigint IS NULL OR version = $5 OR NOT " +
        living + ") RETURNING version, " + living +
        " AS living) SELECT nextval('pal_record_version'), (SELECT version FROM gone WHERE "
        "living)"};
const PgStatement listing{
    "list_records",
    "SELECT key, version, expires, value FROM pal_record WHERE tenant = $2::text AND "
    "space = $3::text AND key >= $4::bytea AND key > $5::bytea AND "
    "substring(key FROM 1 FOR octet_length($4)) = $4 AND " +
        living + " ORDER BY key LIMIT $6::bigint"};

Record read_record(const PgTable& table, std::size_t row, RecordKey key) {
    Record record{.key = std::move(key)};
    record.key.key = table.bytes(row, 0);
    record.version = table.number(row, 1);
    if (const auto expires = table.maybe(row, 2)) record.expires = time_of(*expires);
    record.value = table.bytes(row, 3);
    return record;
}

PgCall about(const PgStatement& statement, PgNow now, const RecordKey& key) {
    PgCall call{statement};
    call.params.maybe(now).bytes(key.tenant).bytes(key.space).bytes(key.key);
    return call;
}

std::unexpected<Error> moved(const RecordWrite& write) {
    return fail(ErrorCode::conflict, "record \"" + write.key.key + "\" does not have version " +
                                         std::to_string(write.expected.value_or(0)) +
                                         " as expected; read it again");
}

}  // namespace

Result<Record> PostgresStore::get_record(const RecordKey& key) {
    PAL_CHECK(check_record(key));
    PAL_TRY(found, ask(about(getting, now(), key)));
    if (found.rows() > 0) return read_record(found, 0, key);
    return fail(ErrorCode::not_found, "no record \"" + key.key + "\" in " + key.space);
}

Result<std::uint64_t> PostgresStore::put_record(const RecordWrite& write) {
    PAL_CHECK(check_record(write));
    std::optional<std::int64_t> expected;
    if (write.expected) expected = static_cast<std::int64_t>(*write.expected);
    const PgStatement& setting = expected.value_or(0) > 0 ? replacing : putting;
    PgCall call = about(write.value ? setting : removing, now(), write.key);
    if (write.value) call.params.bytes(*write.value);
    if (write.value) write.ttl ? call.params.integer(write.ttl->count()) : call.params.null();
    call.params.maybe(expected);
    PAL_TRY(connection, pool_.borrow());
    PAL_TRY(done, connection->run(call, Commits::yes));
    if (done.rows() == 0) return moved(write);
    if (write.value || !expected) return done.number(0, 0);
    // Removing with an expectation: it was there at that version, or expected absent and is.
    if (*expected != 0) {
        if (done.is_null(0, 1)) return moved(write);
        return done.number(0, 0);
    }
    PAL_TRY(there, connection->run(about(getting, now(), write.key), Commits::no));
    if (there.rows() > 0) return moved(write);
    return done.number(0, 0);
}

Result<std::vector<Record>> PostgresStore::list_records(const RecordQuery& query) {
    PAL_CHECK(check_id(query.tenant, "tenant"));
    PAL_CHECK(check_id(query.space, "space"));
    const RecordKey key{query.tenant, query.space, query.prefix};
    PgCall call = about(listing, now(), key);
    call.params.bytes(query.after).number(std::min<std::size_t>(query.limit, INT32_MAX));
    PAL_TRY(found, ask(call));
    std::vector<Record> records;
    for (std::size_t row = 0; row < found.rows(); ++row)
        records.push_back(read_record(found, row, key));
    return records;
}

}  // namespace palimpsest
