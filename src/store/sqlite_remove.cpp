// Taking content away: scrub, erase, expiry, and the forgetting of old idempotency keys.
//
// Design rule: a log whose name is gone is kept for its forks only, ends at the largest of their
// fork points, and goes with the last of them.
#include <algorithm>
#include <map>

#include "base/ids.h"
#include "core/metadata.h"
#include "store/rules.h"
#include "store/sqlite_logs.h"

namespace palimpsest {
namespace {

Result<std::uint64_t> delete_entries(SqliteDatabase& db, const LogRow& row, Seq above) {
    SqliteQuery query = db.query("DELETE FROM entry WHERE log = ? AND seq > ?");
    query.integer(row.log).number(above.value);
    PAL_CHECK(query.run());
    return static_cast<std::uint64_t>(db.changed_last());
}

Result<void> delete_where_log(SqliteDatabase& db, const char* sql, const LogRow& row) {
    SqliteQuery query = db.query(sql);
    query.integer(row.log);
    return query.run();
}

// What people wrote into the header goes with the name, and so do keys and labels.
Result<void> take_name(SqliteDatabase& db, LogRow& row) {
    for (const auto& [name, value] : labels_of(row.header.metadata)) {
        SqliteQuery query =
            db.query("DELETE FROM label WHERE tenant = ? AND k = ? AND v = ? AND log = ?");
        query.text(row.header.name.tenant).text(name).text(value).integer(row.log);
        PAL_CHECK(query.run());
    }
    PAL_CHECK(delete_where_log(db, "DELETE FROM once WHERE log = ?", row));
    Header& header = row.header;
    header.name.id.clear();
    header.owner.clear();
    header.title.clear();
    header.system_prompt.clear();
    header.policy.clear();
    header.metadata = "{}";
    header.ttl = std::nullopt;
    header.expires = std::nullopt;
    return {};
}

// Of a nameless log: everything above the largest fork point.
Result<void> trim(SqliteDatabase& db, LogRow& row, Seq top, Receipt& receipt) {
    PAL_TRY(removed, delete_entries(db, row, top));
    receipt.entries += removed;
    PAL_TRY(standing, standing_at(db, row, top));
    row.header.end = top;
    row.header.basis = standing.basis;
    row.header.messages = standing.messages;
    PAL_CHECK(update_log(db, row));
    return insert_head(db, row);
}

Result<void> delete_log(SqliteDatabase& db, const LogRow& row, Receipt& receipt) {
    PAL_TRY(removed, delete_entries(db, row, Seq{}));
    receipt.entries += removed;
    ++receipt.logs;
    PAL_CHECK(delete_where_log(db, "DELETE FROM head WHERE log = ?", row));
    return delete_where_log(db, "DELETE FROM log WHERE log = ?", row);
}

// The log and everything forked from it, however deep.
Result<std::vector<LogRow>> family_below(SqliteDatabase& db, const LogRow& row) {
    std::vector<LogRow> rows{row};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        PAL_TRY(children, children_of(db, rows[i].header.log));
        for (LogRow& child : children) rows.push_back(std::move(child));
    }
    return rows;
}

// The same for whoever removes: a fork whose head is damaged still says where it begins. It is not
// taken for expired.
Result<std::vector<LogRow>> forks_below(SqliteDatabase& db, const LogRow& row) {
    std::vector<LogRow> rows{row};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        PAL_TRY(children, stored_children_of(db, rows[i].header.log));
        for (StoredLog& child : children) {
            if (!child.cold_right)
                return fail(ErrorCode::internal,
                            "the header of " + where_is(child.row) +
                                " is damaged, and it may share what would go: erase it first, or "
                                "repair it (`pal doctor --repair`)");
            if (!child.head_right) child.row.header.expires = std::nullopt;
            rows.push_back(std::move(child.row));
        }
    }
    rows.erase(rows.begin());
    return rows;
}

// What a log was forked from, unless nobody can say what that is.
Result<std::optional<LogRow>> known_parent(SqliteDatabase& db, const LogRow& row) {
    if (!row.header.parent) return std::nullopt;
    PAL_TRY(parent, find_stored_log(db, *row.header.parent));
    if (!parent || !parent->cold_right) return std::nullopt;
    if (!parent->head_right) parent->row.header.expires = std::nullopt;
    return std::move(parent->row);
}

Result<LogRow> scrubbed_log(SqliteDatabase& db, const ReadyReplacement& replacement, Time now) {
    PAL_TRY(stored, find_log(db, replacement.log));
    std::optional<LogRow> row;
    if (stored) {
        PAL_TRY(living, as_of(db, *stored, now));
        if (living) row = std::move(stored);
        if (living && replacement.seq > living->header.end) row.reset();
    }
    if (!row) return fail(ErrorCode::not_found, "no log " + hex(replacement.log));
    return std::move(*row);
}

Result<EntryRow> scrubbed_entry(SqliteDatabase& db, const LogRow& log,
                                const ReadyReplacement& replacement) {
    SqliteQuery query = db.query("SELECT kind, at, ordinal FROM entry WHERE log = ? AND seq = ?");
    query.integer(log.log).number(replacement.seq.value);
    PAL_TRY(found, query.step());
    if (!found)
        return fail(ErrorCode::not_found,
                    "the log owns no entry " + std::to_string(replacement.seq.value));
    EntryRow row{.seq = replacement.seq,
                 .kind = static_cast<EntryKind>(query.integer_at(0)),
                 .at = from_ms(query.integer_at(1)),
                 .ordinal = query.number_at(2),
                 .payload_sum = replacement.entry.payload_sum};
    if (row.kind != replacement.entry.kind)
        return fail(ErrorCode::invalid_request, "a scrubbed entry keeps its kind", "body");
    return row;
}

Result<void> replace_entry(SqliteDatabase& db, const LogRow& log, const EntryRow& row,
                           const EncodedBody& body) {
    SqliteQuery query = db.query(
        "UPDATE entry SET sum = ?, payload_sum = ?, meta = ?, payload = ?, shared = NULL "
        "WHERE log = ? AND seq = ?");
    query.number(sum_of_entry(log.header.log, row, body.meta)).number(row.payload_sum);
    query.blob(body.meta);
    body.payload ? query.blob(*body.payload) : query.null();
    query.integer(log.log).number(row.seq.value);
    return query.run();
}

}  // namespace

ReadyEntry make_ready(const Body& body) {
    ReadyEntry ready{.kind = kind_of(body), .body = encode_body(body)};
    ready.payload_sum = sum_of_payload(ready.body.payload);
    return ready;
}

Result<void> scrub_entries(SqliteDatabase& db, std::span<const ReadyReplacement> replacements,
                           Time now) {
    std::vector<LogRow> logs;
    std::vector<EntryRow> entries;
    for (const ReadyReplacement& replacement : replacements) {
        PAL_TRY(log, scrubbed_log(db, replacement, now));
        PAL_TRY(entry, scrubbed_entry(db, log, replacement));
        logs.push_back(std::move(log));
        entries.push_back(entry);
    }
    std::map<std::int64_t, LogRow> stale;
    for (const LogRow& log : logs) {
        if (stale.contains(log.log)) continue;
        PAL_TRY(family, family_below(db, log));
        for (LogRow& row : family) stale.emplace(row.log, std::move(row));
    }
    for (std::size_t i = 0; i < logs.size(); ++i)
        PAL_CHECK(replace_entry(db, logs[i], entries[i], replacements[i].entry.body));
    for (auto& [number, row] : stale) {
        ++row.header.epoch;
        PAL_CHECK(update_head(db, row, row.header));
    }
    return {};
}

Result<Receipt> remove_log(SqliteDatabase& db, LogRow row) {
    Receipt receipt;
    PAL_TRY(forks, forks_below(db, row));
    for (const LogRow& fork : forks)
        if (fork.named()) receipt.kept_for.push_back(fork.header.name.id);
    std::ranges::sort(receipt.kept_for);
    PAL_CHECK(take_name(db, row));
    while (!row.named()) {
        PAL_TRY(top, largest_fork(db, row.header.log));
        if (top) {
            PAL_CHECK(trim(db, row, *top, receipt));
            break;
        }
        PAL_CHECK(delete_log(db, row, receipt));
        PAL_TRY(parent, known_parent(db, row));
        if (!parent) break;
        row = std::move(*parent);
    }
    return receipt;
}

Result<Receipt> erase_log(SqliteDatabase& db, const LogRow& row, Time now) {
    LogRow top = row;
    for (;;) {
        PAL_TRY(parent, known_parent(db, top));
        if (!parent || (parent->named() && !expired(parent->header, now))) break;
        top = std::move(*parent);
    }
    PAL_TRY(forks, forks_below(db, top));
    forks.push_back(std::move(top));
    for (const LogRow& fork : forks) {
        if (fork.log == row.log || !fork.named() || !expired(fork.header, now)) continue;
        PAL_TRY(due, find_log(db, fork.header.log));
        if (due) PAL_CHECK(remove_log(db, std::move(*due)));
    }
    return remove_log(db, row);
}

Result<Receipt> erase_damaged_log(SqliteDatabase& db, const StoredLog& stored, Time now) {
    PAL_TRY(fork, largest_fork(db, stored.row.header.log));
    if (fork) {
        PAL_TRY(mended, mend_log(db, stored, {.now = now}));
        return erase_log(db, mended.row, now);
    }
    // Its labels are not those that its metadata tells.
    PAL_CHECK(delete_where_log(db, "DELETE FROM label WHERE log = ?", stored.row));
    return remove_log(db, stored.row);
}

Result<std::vector<LogId>> expired_logs(SqliteDatabase& db, Time now, std::size_t limit) {
    SqliteQuery query = db.query(
        "SELECT uid FROM head INDEXED BY head_expires WHERE expires <= ? ORDER BY expires LIMIT ?");
    query.integer(to_ms(now)).number(std::min<std::size_t>(limit, INT32_MAX));
    std::vector<LogId> found;
    for (;;) {
        PAL_TRY(row, query.step());
        if (!row) return found;
        const std::string_view bytes = query.bytes_at(0);
        LogId uid;
        if (bytes.size() != uid.bytes.size()) continue;
        std::ranges::copy(bytes, uid.bytes.begin());
        found.push_back(uid);
    }
}

Result<void> KeyPruner::after_batch(SqliteDatabase& db, Time now) {
    constexpr unsigned batches = 16, looks_each = 2;
    if (++batches_ % batches != 0) return {};
    return prune(db, now, batches * looks_each);
}

Result<void> KeyPruner::prune(SqliteDatabase& db, Time now, std::size_t count) {
    std::vector<std::pair<std::int64_t, std::string>> old;
    std::size_t seen = 0;
    {
        SqliteQuery query = db.query(
            "SELECT log, key, at FROM once WHERE (log, key) > (?, ?) ORDER BY log, key LIMIT ?");
        query.integer(log_).text(key_).number(count);
        for (;; ++seen) {
            PAL_TRY(row, query.step());
            if (!row) break;
            log_ = query.integer_at(0);
            key_ = query.bytes_at(1);
            if (from_ms(query.integer_at(2)) + key_lifetime < now) old.emplace_back(log_, key_);
        }
    }
    if (seen < count) {
        log_ = 0;
        key_.clear();
    }
    for (const auto& [log, key] : old) {
        SqliteQuery query = db.query("DELETE FROM once WHERE log = ? AND key = ?");
        query.integer(log).text(key);
        PAL_CHECK(query.run());
    }
    return {};
}

}  // namespace palimpsest
