// Where a log stands when it ends earlier than it does now: after a trim, or because it has expired
// and only its forks keep it. The chain of parents is walked by uid.
#include <algorithm>

#include "store/rules.h"
#include "store/sqlite_rows.h"

namespace palimpsest {
namespace {

Result<Seq> newest_basis(SqliteDatabase& db, std::int64_t log, Seq at) {
    Seq newest{};
    for (std::int64_t kind = 0; kind < static_cast<std::int64_t>(entry_kind_count); ++kind) {
        if (!basis_kinds.has(static_cast<EntryKind>(kind))) continue;
        SqliteQuery query = db.query(
            "SELECT max(seq) FROM entry INDEXED BY entry_kind "
            "WHERE log = ? AND kind = ? AND kind > 0 AND seq <= ?");
        query.integer(log).integer(kind).number(at.value);
        PAL_TRY(found, query.step());
        if (found && !query.null_at(0)) newest = std::max(newest, Seq{query.number_at(0)});
    }
    return newest;
}

Result<std::uint64_t> messages_at(SqliteDatabase& db, const LogRow& row, Seq at) {
    SqliteQuery query = db.query("SELECT ordinal FROM entry WHERE log = ? AND seq = ?");
    query.integer(row.log).number(at.value);
    PAL_TRY(found, query.step());
    if (found) return query.number_at(0);
    return fail(ErrorCode::internal, "entry " + std::to_string(at.value) + " of " + where_is(row) +
                                         " is missing: the file is damaged");
}

Result<LogRow> parent_of(SqliteDatabase& db, const LogRow& row) {
    PAL_TRY(parent, find_log(db, *row.header.parent));
    if (parent) return std::move(*parent);
    return fail(ErrorCode::internal,
                "the parent of " + where_is(row) + " is missing: the file is damaged");
}

// The largest fork point that a living log still needs.
Result<std::optional<Seq>> living_top(SqliteDatabase& db, const LogId& uid, Time now) {
    PAL_TRY(children, children_of(db, uid));
    for (std::size_t i = children.size(); i-- > 0;) {
        const LogRow& child = children[i];
        if (child.named() && !expired(child.header, now)) return child.header.base;
        PAL_TRY(below, living_top(db, child.header.log, now));
        if (below) return child.header.base;
    }
    return std::nullopt;
}

}  // namespace

Result<Standing> standing_at(SqliteDatabase& db, const LogRow& row, Seq at) {
    LogRow owner = row;
    Standing standing;
    bool counted = at.value == 0;
    for (;;) {
        if (at > owner.header.base) {
            if (!counted) {
                PAL_TRY(messages, messages_at(db, owner, at));
                standing.messages = messages;
                counted = true;
            }
            PAL_TRY(basis, newest_basis(db, owner.log, at));
            standing.basis = basis;
            if (basis.value > 0) return standing;
        }
        if (!owner.header.parent) return standing;
        at = std::min(at, owner.header.base);
        PAL_TRY(parent, parent_of(db, owner));
        owner = std::move(parent);
    }
}

Result<std::optional<LogRow>> as_of(SqliteDatabase& db, LogRow row, Time now) {
    if (row.named() && !expired(row.header, now)) return row;
    PAL_TRY(top, living_top(db, row.header.log, now));
    if (!top) return std::nullopt;
    if (!row.named() && *top == row.header.end) return row;
    PAL_TRY(standing, standing_at(db, row, *top));
    Header& header = row.header;
    Header kept;
    kept.name.tenant = header.name.tenant;
    kept.log = header.log;
    kept.parent = header.parent;
    kept.base = header.base;
    kept.end = *top;
    kept.basis = standing.basis;
    kept.messages = standing.messages;
    kept.revision = header.revision;
    kept.epoch = header.epoch;
    kept.created = header.created;
    kept.updated = header.updated;
    kept.accessed = header.accessed;
    header = std::move(kept);
    return row;
}

}  // namespace palimpsest
