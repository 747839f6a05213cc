#include "store/sqlite_rows.h"

#include <algorithm>

#include "base/hash.h"
#include "base/ids.h"
#include "base/wire.h"

namespace palimpsest {
namespace {

std::uint64_t sum_of_log(const LogRow& row) {
    const Header& header = row.header;
    WireWriter out;
    out.fixed64(static_cast<std::uint64_t>(row.log));
    out.bytes(bytes_of(header.log));
    out.text(header.name.tenant);
    out.text(header.name.id);
    out.byte(header.parent ? 1 : 0);
    if (header.parent) out.bytes(bytes_of(*header.parent));
    out.fixed64(header.base.value);
    for (const std::string* field :
         {&header.owner, &header.title, &header.system_prompt, &header.metadata, &header.policy})
        out.text(*field);
    out.fixed64(static_cast<std::uint64_t>(to_ms(header.created)));
    out.fixed64(header.ttl ? static_cast<std::uint64_t>(header.ttl->count()) : UINT64_MAX);
    out.fixed64(header.revision);
    return hash_bytes(out.take()).low;
}

std::uint64_t sum_of_head(const LogRow& row) {
    const Header& header = row.header;
    WireWriter out;
    out.fixed64(static_cast<std::uint64_t>(row.log));
    out.text(header.name.id.empty() ? "" : header.name.tenant);
    for (const std::uint64_t value :
         {header.end.value, header.basis.value, header.messages, header.epoch})
        out.fixed64(value);
    out.fixed64(static_cast<std::uint64_t>(to_ms(header.updated)));
    out.fixed64(static_cast<std::uint64_t>(to_ms(header.accessed)));
    out.fixed64(header.expires ? static_cast<std::uint64_t>(to_ms(*header.expires)) : UINT64_MAX);
    return hash_bytes(out.take()).low;
}

std::optional<LogId> uid_at(const SqliteQuery& query, int column) {
    const std::string_view bytes = query.bytes_at(column);
    LogId uid;
    if (bytes.size() != uid.bytes.size()) return {};
    std::copy(bytes.begin(), bytes.end(), uid.bytes.begin());
    return uid;
}

std::optional<std::int64_t> count_of(const std::optional<Duration>& duration) {
    if (!duration) return {};
    return duration->count();
}
std::optional<std::int64_t> ms_of(const std::optional<Time>& time) {
    if (!time) return {};
    return to_ms(*time);
}

Result<std::optional<LogRow>> one_log(SqliteQuery& query) {
    PAL_TRY(found, query.step());
    if (!found) return std::nullopt;
    PAL_TRY(row, read_log_row(query));
    return std::move(row);
}

// One whose row of `head` is lost is damaged, not absent.
std::string select_logs(std::string_view where) {
    return "SELECT " + std::string(log_columns) +
           " FROM log l LEFT JOIN head h ON h.log = l.log WHERE " + std::string(where);
}

}  // namespace

const char* const log_columns =
    "l.log, l.uid, l.tenant, l.name, l.parent, l.base, l.owner, l.title, l.system_prompt, "
    "l.metadata, l.policy, l.created, l.ttl, l.revision, l.sum, h.\"end\", h.basis, h.messages, "
    "h.epoch, h.updated, h.accessed, h.expires, h.sum";
const char* const entry_columns =
    "seq, kind, at, ordinal, sum, payload_sum, meta, "
    "coalesce(payload, (SELECT bytes FROM body WHERE body.id = entry.shared))";
const char* const entry_columns_without_payload = "seq, kind, at, ordinal, sum, payload_sum, meta";

Time from_ms(std::int64_t ms) {
    return Time(std::chrono::milliseconds(ms));
}
std::int64_t to_ms(Time time) {
    return time.time_since_epoch().count();
}
std::int64_t minute_of(Time time) {
    return to_ms(time) / 60'000;
}
std::string_view bytes_of(const LogId& uid) {
    return {reinterpret_cast<const char*>(uid.bytes.data()), uid.bytes.size()};
}
std::string where_is(const LogRow& row) {
    if (row.named()) return row.header.name.tenant + "/" + row.header.name.id;
    return "log " + hex(row.header.log);
}

StoredLog read_stored_log(const SqliteQuery& query) {
    StoredLog stored;
    LogRow& row = stored.row;
    Header& header = row.header;
    row.log = query.integer_at(0);
    const std::optional<LogId> uid = uid_at(query, 1);
    header.name = {std::string(query.bytes_at(2)), std::string(query.bytes_at(3))};
    header.parent = uid_at(query, 4);
    header.base = Seq{query.number_at(5)};
    header.owner = query.bytes_at(6);
    header.title = query.bytes_at(7);
    header.system_prompt = query.bytes_at(8);
    header.metadata = query.bytes_at(9);
    header.policy = query.bytes_at(10);
    header.created = from_ms(query.integer_at(11));
    if (const auto ttl = query.maybe_integer_at(12)) header.ttl = Duration(*ttl);
    header.revision = query.number_at(13);
    header.end = Seq{query.number_at(15)};
    header.basis = Seq{query.number_at(16)};
    header.messages = query.number_at(17);
    header.epoch = query.number_at(18);
    header.updated = from_ms(query.integer_at(19));
    header.accessed = from_ms(query.integer_at(20));
    if (const auto expires = query.maybe_integer_at(21)) header.expires = from_ms(*expires);
    if (uid) header.log = *uid;
    stored.cold_right = uid && query.number_at(14) == sum_of_log(row);
    stored.head_right = uid && query.number_at(22) == sum_of_head(row);
    return stored;
}

Result<LogRow> read_log_row(const SqliteQuery& query) {
    StoredLog stored = read_stored_log(query);
    if (stored.whole()) return std::move(stored.row);
    return fail(ErrorCode::internal, "the header of " + where_is(stored.row) +
                                         " is damaged; `pal doctor` lists what is readable");
}

Result<std::optional<StoredLog>> find_stored_log(SqliteDatabase& db, const ConversationId& name) {
    static const std::string by_name = select_logs("l.tenant = ? AND l.name = ?");
    SqliteQuery query = db.query(by_name);
    query.text(name.tenant).text(name.id);
    PAL_TRY(found, query.step());
    if (!found) return std::nullopt;
    return read_stored_log(query);
}

Result<std::optional<StoredLog>> find_stored_log(SqliteDatabase& db, std::int64_t log) {
    static const std::string by_number = select_logs("l.log = ?");
    SqliteQuery query = db.query(by_number);
    query.integer(log);
    PAL_TRY(found, query.step());
    if (!found) return std::nullopt;
    return read_stored_log(query);
}

Result<std::optional<LogRow>> find_log(SqliteDatabase& db, const ConversationId& name) {
    static const std::string by_name = select_logs("l.tenant = ? AND l.name = ?");
    SqliteQuery query = db.query(by_name);
    query.text(name.tenant).text(name.id);
    PAL_TRY(row, one_log(query));
    if (row && row->header.name != name)
        return fail(ErrorCode::internal, "the index of names is damaged at " + name.tenant + "/" +
                                             name.id + "; `pal doctor` lists what is readable");
    return std::move(row);
}

Result<std::optional<LogRow>> find_log(SqliteDatabase& db, const LogId& uid) {
    static const std::string by_uid = select_logs("l.uid = ?");
    SqliteQuery query = db.query(by_uid);
    query.blob(bytes_of(uid));
    PAL_TRY(row, one_log(query));
    if (row && row->header.log != uid)
        return fail(ErrorCode::internal, "the index of logs is damaged at " + hex(uid));
    return std::move(row);
}

Result<std::optional<StoredLog>> find_stored_log(SqliteDatabase& db, const LogId& uid) {
    static const std::string by_uid = select_logs("l.uid = ?");
    SqliteQuery query = db.query(by_uid);
    query.blob(bytes_of(uid));
    PAL_TRY(found, query.step());
    if (!found) return std::nullopt;
    return read_stored_log(query);
}

Result<std::vector<StoredLog>> stored_children_of(SqliteDatabase& db, const LogId& uid) {
    static const std::string by_parent = select_logs("l.parent = ? ORDER BY l.base");
    SqliteQuery query = db.query(by_parent);
    query.blob(bytes_of(uid));
    std::vector<StoredLog> rows;
    for (;;) {
        PAL_TRY(found, query.step());
        if (!found) return rows;
        rows.push_back(read_stored_log(query));
    }
}

Result<std::vector<LogRow>> children_of(SqliteDatabase& db, const LogId& uid) {
    static const std::string by_parent = select_logs("l.parent = ? ORDER BY l.base");
    SqliteQuery query = db.query(by_parent);
    query.blob(bytes_of(uid));
    std::vector<LogRow> rows;
    for (;;) {
        PAL_TRY(found, query.step());
        if (!found) return rows;
        PAL_TRY(row, read_log_row(query));
        rows.push_back(std::move(row));
    }
}

Result<std::optional<Seq>> largest_fork(SqliteDatabase& db, const LogId& uid) {
    SqliteQuery query = db.query("SELECT max(base) FROM log WHERE parent = ?");
    query.blob(bytes_of(uid));
    PAL_TRY(found, query.step());
    if (!found || query.null_at(0)) return std::nullopt;
    return Seq{query.number_at(0)};
}

// The number of the row is part of its checksum, so it is taken before the row is written.
Result<void> insert_log(SqliteDatabase& db, LogRow& row) {
    {
        SqliteQuery next = db.query("SELECT seq FROM sqlite_sequence WHERE name = 'log'");
        PAL_TRY(found, next.step());
        row.log = (found ? next.integer_at(0) : 0) + 1;
    }
    const Header& header = row.header;
    SqliteQuery cold = db.query(
        "INSERT INTO log(log, uid, tenant, name, parent, base, owner, title, system_prompt, "
        "metadata, policy, created, ttl, revision, sum) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    cold.integer(row.log).blob(bytes_of(header.log)).text(header.name.tenant);
    cold.text(header.name.id);
    header.parent ? cold.blob(bytes_of(*header.parent)) : cold.null();
    cold.number(header.base.value).text(header.owner).text(header.title);
    cold.text(header.system_prompt).text(header.metadata).text(header.policy);
    cold.integer(to_ms(header.created)).integer(count_of(header.ttl)).number(header.revision);
    cold.number(sum_of_log(row));
    PAL_CHECK(cold.run());
    return insert_head(db, row);
}

Result<void> insert_head(SqliteDatabase& db, const LogRow& row) {
    const Header& header = row.header;
    SqliteQuery hot = db.query(
        "INSERT OR REPLACE INTO head(log, uid, tenant, \"end\", basis, messages, epoch, updated, "
        "accessed, expires, sum, updated_minute, accessed_minute) "
        "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    hot.integer(row.log).blob(bytes_of(header.log));
    row.named() ? hot.text(header.name.tenant) : hot.null();
    hot.number(header.end.value);
    hot.number(header.basis.value).number(header.messages).number(header.epoch);
    hot.integer(to_ms(header.updated)).integer(to_ms(header.accessed));
    hot.integer(ms_of(header.expires)).number(sum_of_head(row));
    hot.integer(minute_of(header.updated)).integer(minute_of(header.accessed));
    return hot.run();
}

Result<void> update_log(SqliteDatabase& db, const LogRow& row) {
    const Header& header = row.header;
    SqliteQuery cold = db.query(
        "UPDATE log SET name = ?, owner = ?, title = ?, system_prompt = ?, metadata = ?, "
        "policy = ?, ttl = ?, revision = ?, sum = ? WHERE log = ?");
    row.named() ? cold.text(header.name.id) : cold.null();
    cold.text(header.owner).text(header.title).text(header.system_prompt).text(header.metadata);
    cold.text(header.policy).integer(count_of(header.ttl)).number(header.revision);
    cold.number(sum_of_log(row)).integer(row.log);
    return cold.run();
}

Result<void> update_head(SqliteDatabase& db, const LogRow& row, const Header& before) {
    const Header& header = row.header;
    SqliteQuery hot = db.query(
        "UPDATE head SET \"end\" = ?, basis = ?, messages = ?, epoch = ?, updated = ?, "
        "accessed = ?, sum = ? WHERE log = ?");
    hot.number(header.end.value).number(header.basis.value).number(header.messages);
    hot.number(header.epoch).integer(to_ms(header.updated)).integer(to_ms(header.accessed));
    hot.number(sum_of_head(row)).integer(row.log);
    PAL_CHECK(hot.run());
    if (header.name == before.name && header.expires == before.expires &&
        minute_of(header.updated) == minute_of(before.updated) &&
        minute_of(header.accessed) == minute_of(before.accessed))
        return {};
    SqliteQuery indexed = db.query(
        "UPDATE head SET tenant = ?, expires = ?, updated_minute = ?, accessed_minute = ? "
        "WHERE log = ?");
    row.named() ? indexed.text(header.name.tenant) : indexed.null();
    indexed.integer(ms_of(header.expires)).integer(minute_of(header.updated));
    indexed.integer(minute_of(header.accessed)).integer(row.log);
    return indexed.run();
}

// ---- entries ------------------------------------------------------------------------------------

std::uint64_t sum_of_payload(const Bytes& payload) {
    return payload ? hash_bytes(*payload).low : 0;
}

std::uint64_t sum_of_entry(const LogId& uid, const EntryRow& row, std::string_view meta) {
    WireWriter out;
    out.bytes(bytes_of(uid));
    out.fixed64(row.seq.value);
    out.byte(static_cast<std::uint8_t>(row.kind));
    out.fixed64(static_cast<std::uint64_t>(to_ms(row.at)));
    out.fixed64(row.ordinal);
    out.fixed64(row.payload_sum);
    out.bytes(meta);
    return hash_bytes(out.take()).low;
}

Result<Entry> read_entry_row(const SqliteQuery& query, const LogRow& log, bool content) {
    EntryRow row;
    row.seq = Seq{query.number_at(0)};
    const std::int64_t kind = query.integer_at(1);
    row.kind = static_cast<EntryKind>(kind);
    row.at = from_ms(query.integer_at(2));
    row.ordinal = query.number_at(3);
    row.payload_sum = query.number_at(5);
    const std::string_view meta = query.bytes_at(6);
    const auto damaged = [&](std::string_view why) {
        return fail(ErrorCode::internal, "entry " + std::to_string(row.seq.value) + " of " +
                                             where_is(log) + " is damaged: " + std::string(why) +
                                             "; `pal doctor` lists what is readable");
    };
    if (kind < 0 || kind > UINT8_MAX ||
        sum_of_entry(log.header.log, row, meta) != query.number_at(4))
        return damaged("its checksum does not match");
    Bytes payload;
    if (content && !query.null_at(7)) payload = make_bytes(std::string(query.bytes_at(7)));
    if (content && sum_of_payload(payload) != row.payload_sum)
        return damaged("the checksum of its content does not match");
    Result<Body> body = decode_body(row.kind, meta, payload);
    if (!body) return damaged(body.error().message);
    return Entry{row.seq, row.at, row.ordinal, std::move(*body)};
}

}  // namespace palimpsest
