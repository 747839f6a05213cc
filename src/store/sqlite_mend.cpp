// A header of the SQLite store whose checksum is wrong, made right again. What its entries tell is
// taken from them, each of which has a checksum over the log's uid; what only the header knew
// (title, owner, ...) stays as it stands there, and whoever asked is told to look at it.
#include <algorithm>

#include "base/json.h"
#include "core/metadata.h"
#include "core/policy.h"
#include "store/rules.h"
#include "store/sqlite_logs.h"

namespace palimpsest {
namespace {

std::unexpected<Error> beyond_mending(const LogRow& row, std::string_view why) {
    return fail(ErrorCode::internal,
                "the header of " + where_is(row) +
                    " is damaged and cannot be made anew: " + std::string(why));
}

// The first or the last that the log owns, if its checksum is right.
Result<std::optional<Entry>> outer_entry(SqliteDatabase& db, const LogRow& row, bool last) {
    static const std::string from = "SELECT " + std::string(entry_columns_without_payload) +
                                    " FROM entry WHERE log = ? ORDER BY seq ";
    const std::string sql = from + (last ? "DESC LIMIT 1" : "ASC LIMIT 1");
    SqliteQuery query = db.query(sql);
    query.integer(row.log);
    PAL_TRY(found, query.step());
    if (!found) return std::nullopt;
    PAL_TRY(entry, read_entry_row(query, row, false));
    return std::move(entry);
}

// The other table says the same uid and tenant. Where its row is lost, the sum of this one does.
Result<bool> tables_agree(SqliteDatabase& db, const StoredLog& stored) {
    const LogRow& row = stored.row;
    SqliteQuery query = db.query("SELECT uid, tenant FROM head WHERE log = ?");
    query.integer(row.log);
    PAL_TRY(found, query.step());
    if (!found) return stored.cold_right;
    return query.bytes_at(0) == bytes_of(row.header.log) &&
           (!row.named() || query.bytes_at(1) == row.header.name.tenant);
}

Result<void> check_parent(SqliteDatabase& db, const LogRow& row) {
    const Header& header = row.header;
    if (!header.parent && header.base == Seq{}) return {};
    if (!header.parent) return beyond_mending(row, "its first entries are missing");
    PAL_TRY(parent, find_log(db, *header.parent));
    if (!parent || parent->header.end < header.base || parent->header.base >= header.base)
        return beyond_mending(row, "what it was forked from is not there");
    return {};
}

void derive_cold(Header& header) {
    if (!merge_metadata(header.metadata, "{}")) header.metadata = "{}";
    if (!parse_json(policy_json(header.policy))) header.policy.clear();
    ++header.revision;
}

Result<void> derive_head(SqliteDatabase& db, LogRow& row, const std::optional<Entry>& last) {
    Header& header = row.header;
    header.end = last ? last->seq : header.base;
    PAL_TRY(standing, standing_at(db, row, header.end));
    header.basis = standing.basis;
    header.messages = standing.messages;
    header.updated = header.accessed = last ? last->at : header.created;
    // Higher than any that it had, also where the row of the old one is lost.
    header.epoch = std::max(header.epoch + 1, static_cast<std::uint64_t>(to_ms(header.updated)));
    return {};
}

// The other half, where it is right, has the time that the last access set by it.
bool ttl_is_confirmed(const StoredLog& stored) {
    const Header& header = stored.row.header;
    if (stored.cold_right) return true;
    if (!stored.head_right || header.expires.has_value() != header.ttl.has_value()) return false;
    return !header.ttl || *header.expires == header.accessed + *header.ttl;
}

// Gives the note of it. Times that its entries bring may be long past: it counts from now.
std::string derive_expiry(Header& header, const StoredLog& stored, const MendTerms& terms) {
    const bool confirmed = ttl_is_confirmed(stored);
    if (confirmed && stored.head_right) return "";
    if (!confirmed && !header.name.id.empty()) header.ttl = terms.ttl;
    header.expires.reset();
    put_off_expiry(header, terms.now);
    const std::string length =
        header.ttl ? std::to_string(header.ttl->count() / 1000) + " s" : "none";
    if (!confirmed)
        return "; nothing confirms the time to live that stood there, so it has the store's (" +
               length + "), from now on: set it anew where it had another";
    return header.ttl ? "; its time to live (" + length + ") counts from now" : "";
}

Result<void> write(SqliteDatabase& db, const LogRow& row) {
    SqliteQuery base = db.query("UPDATE log SET base = ? WHERE log = ?");
    base.number(row.header.base.value).integer(row.log);
    PAL_CHECK(base.run());
    PAL_CHECK(update_log(db, row));
    return insert_head(db, row);
}

}  // namespace

std::vector<std::int64_t> numbers_of_logs(SqliteDatabase& db) {
    std::vector<std::int64_t> numbers;
    SqliteQuery query = db.query("SELECT log FROM log ORDER BY log");
    for (auto row = query.step(); row && *row; row = query.step())
        numbers.push_back(query.integer_at(0));
    return numbers;
}

Result<MendedLog> mend_log(SqliteDatabase& db, const StoredLog& stored, const MendTerms& terms) {
    MendedLog mended{.row = stored.row};
    LogRow& row = mended.row;
    PAL_TRY(agree, tables_agree(db, stored));
    if (!agree) return beyond_mending(row, "its tables do not say the same of it");
    PAL_TRY(first, outer_entry(db, row, false));
    PAL_TRY(last, outer_entry(db, row, true));
    if (first && !stored.cold_right) row.header.base = Seq{first->seq.value - 1};
    PAL_CHECK(check_parent(db, row));
    if (!stored.cold_right) derive_cold(row.header);
    if (!stored.head_right) PAL_CHECK(derive_head(db, row, last));
    mended.ttl_note = derive_expiry(row.header, stored, terms);
    PAL_CHECK(write(db, row));
    return mended;
}

Result<std::vector<Finding>> mend_logs(SqliteDatabase& db, const MendTerms& terms) {
    std::vector<Finding> mended;
    for (const std::int64_t number : numbers_of_logs(db)) {
        const auto stored = find_stored_log(db, number);
        if (!stored || !*stored || (*stored)->whole()) continue;
        const auto log = mend_log(db, **stored, terms);
        if (!log && log.error().code != ErrorCode::internal) return std::unexpected(log.error());
        if (log)
            mended.push_back({"mended", where_is(log->row),
                              "its header was damaged and is made from its entries; look at what "
                              "they do not tell: its id, title, owner and metadata" +
                                  log->ttl_note});
    }
    return mended;
}

}  // namespace palimpsest
