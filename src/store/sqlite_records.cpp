#include "store/sqlite_records.h"

#include <algorithm>

#include "base/hash.h"
#include "base/wire.h"
#include "store/sqlite_rows.h"

namespace palimpsest {
namespace {

constexpr const char* select_one =
    "SELECT key, version, expires, sum, value FROM record "
    "WHERE tenant = ? AND space = ? AND key = ?";
constexpr const char* select_from =
    "SELECT key, version, expires, sum, value FROM record "
    "WHERE tenant = ? AND space = ? AND key >= ? ORDER BY key";

std::uint64_t sum_of(const Record& record) {
    WireWriter out;
    out.text(record.key.tenant);
    out.text(record.key.space);
    out.text(record.key.key);
    out.fixed64(record.version);
    out.fixed64(record.expires ? static_cast<std::uint64_t>(to_ms(*record.expires)) : UINT64_MAX);
    const Fingerprint value = hash_bytes(record.value);
    out.fixed64(value.low);
    return hash_bytes(out.take()).low;
}

bool is_expired(const Record& record, Time now) {
    return record.expires && *record.expires <= now;
}

// False: the row is damaged.
bool read_row(const SqliteQuery& query, Record& record) {
    record.key.key = query.bytes_at(0);
    record.version = query.number_at(1);
    record.expires = std::nullopt;
    if (const auto expires = query.maybe_integer_at(2)) record.expires = from_ms(*expires);
    record.value = query.bytes_at(4);
    return sum_of(record) == query.number_at(3);
}

std::unexpected<Error> damaged_record(const RecordKey& key) {
    return fail(ErrorCode::internal, "record \"" + key.key + "\" in " + key.space +
                                         " is damaged: its checksum does not match; `pal doctor` "
                                         "lists what is readable");
}

Result<std::optional<Record>> stored(SqliteDatabase& db, const RecordKey& key) {
    SqliteQuery query = db.query(select_one);
    query.text(key.tenant).text(key.space).text(key.key);
    PAL_TRY(found, query.step());
    if (!found) return std::nullopt;
    Record record{.key = key};
    if (!read_row(query, record) || record.key != key) return damaged_record(key);
    return record;
}

Result<std::uint64_t> next_version(SqliteDatabase& db) {
    SqliteQuery query = db.query(
        "UPDATE counter SET value = value + 1 WHERE name = 'record_version' RETURNING value");
    PAL_TRY(found, query.step());
    if (!found)
        return fail(ErrorCode::internal,
                    "the counter of versions is missing: `pal doctor --repair` sets it");
    const std::uint64_t version = query.number_at(0);
    PAL_CHECK(query.run());
    return version;
}

Result<void> upsert(SqliteDatabase& db, const Record& record) {
    SqliteQuery query = db.query(
        "INSERT INTO record(tenant, space, key, version, expires, sum, value) "
        "VALUES(?,?,?,?,?,?,?) ON CONFLICT(tenant, space, key) DO UPDATE SET "
        "version = excluded.version, expires = excluded.expires, sum = excluded.sum, "
        "value = excluded.value");
    query.text(record.key.tenant).text(record.key.space).text(record.key.key);
    query.number(record.version);
    record.expires ? query.integer(to_ms(*record.expires)) : query.null();
    query.number(sum_of(record)).blob(record.value);
    return query.run();
}

}  // namespace

Result<Record> find_record(SqliteDatabase& db, const RecordKey& key, Time now) {
    PAL_TRY(record, stored(db, key));
    if (record && !is_expired(*record, now)) return std::move(*record);
    return fail(ErrorCode::not_found, "no record \"" + key.key + "\" in " + key.space);
}

Result<std::uint64_t> write_record(SqliteDatabase& db, const RecordWrite& write, Time now) {
    PAL_TRY(old, stored(db, write.key));
    const std::uint64_t have = old && !is_expired(*old, now) ? old->version : 0;
    if (write.expected && *write.expected != have)
        return fail(ErrorCode::conflict, "record \"" + write.key.key + "\" has version " +
                                             std::to_string(have) + ", not " +
                                             std::to_string(*write.expected) + " as expected");
    PAL_TRY(version, next_version(db));
    if (write.value) {
        Record record{.key = write.key, .value = *write.value, .version = version};
        if (write.ttl) record.expires = now + *write.ttl;
        PAL_CHECK(upsert(db, record));
        return version;
    }
    SqliteQuery query = db.query("DELETE FROM record WHERE tenant = ? AND space = ? AND key = ?");
    query.text(write.key.tenant).text(write.key.space).text(write.key.key);
    PAL_CHECK(query.run());
    return version;
}

Result<std::vector<Record>> list_records(SqliteDatabase& db, const RecordQuery& query, Time now) {
    std::vector<Record> found;
    SqliteQuery rows = db.query(select_from);
    rows.text(query.tenant).text(query.space).text(std::max(query.prefix, query.after));
    while (found.size() < query.limit) {
        PAL_TRY(more, rows.step());
        if (!more) break;
        const std::string_view key = rows.bytes_at(0);
        if (!key.starts_with(query.prefix)) break;
        if (key <= query.after) continue;
        Record record{.key = {query.tenant, query.space, ""}};
        if (!read_row(rows, record)) return damaged_record(record.key);
        if (!is_expired(record, now)) found.push_back(std::move(record));
    }
    return found;
}

Result<void> remove_expired_records(SqliteDatabase& db, Time now, std::size_t limit) {
    SqliteQuery query = db.query(
        "DELETE FROM record WHERE id IN (SELECT id FROM record INDEXED BY record_expires "
        "WHERE expires <= ? LIMIT ?)");
    query.integer(to_ms(now)).number(std::min<std::size_t>(limit, INT32_MAX));
    return query.run();
}

Result<std::uint64_t> check_records(SqliteDatabase& db,
                                    const std::function<void(const RecordKey&)>& damaged) {
    SqliteQuery rows =
        db.query("SELECT key, version, expires, sum, value, tenant, space FROM record");
    std::uint64_t count = 0;
    for (;;) {
        PAL_TRY(more, rows.step());
        if (!more) return count;
        ++count;
        Record record;
        record.key.tenant = rows.bytes_at(5);
        record.key.space = rows.bytes_at(6);
        if (!read_row(rows, record)) damaged(record.key);
    }
}

Result<bool> counter_is_right(SqliteDatabase& db) {
    PAL_TRY(right, db.integer("SELECT coalesce((SELECT value FROM counter WHERE name = "
                              "'record_version') >= coalesce(max(version), 0), 0) FROM record"));
    return right != 0;
}

// Records that were removed may have had higher versions than those that are left.
Result<bool> mend_counter(SqliteDatabase& db) {
    PAL_TRY(right, counter_is_right(db));
    if (right) return false;
    PAL_CHECK(
        db.execute("INSERT OR REPLACE INTO counter(name, value) SELECT 'record_version', "
                   "coalesce(max(version), 0) + 1000000 FROM record"));
    return true;
}

}  // namespace palimpsest
