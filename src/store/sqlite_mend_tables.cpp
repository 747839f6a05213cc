// What lost its place in the tables of the SQLite store: logs without a row of `log`, and
// labels that do not say what the metadata says.
#include <algorithm>
#include <map>

#include "base/ids.h"
#include "core/metadata.h"
#include "store/rules.h"
#include "store/sqlite_logs.h"

namespace palimpsest {
namespace {

Result<void> run_about(SqliteDatabase& db, const char* sql, std::int64_t log) {
    SqliteQuery query = db.query(sql);
    query.integer(log);
    return query.run();
}

Result<bool> has_entries(SqliteDatabase& db, const LogRow& row) {
    SqliteQuery query = db.query("SELECT 1 FROM entry WHERE log = ? LIMIT 1");
    query.integer(row.log);
    return query.step();
}

// A row with a wrong sum: a damaged header, which is made from its entries or can be erased.
Result<void> insert_damaged(SqliteDatabase& db, const LogRow& row) {
    SqliteQuery query = db.query(
        "INSERT INTO log(log, uid, tenant, name, base, owner, title, system_prompt, metadata, "
        "policy, created, revision, sum) SELECT log, uid, ?, ?, 0, '', '', '', '{}', '', updated, "
        "0, 0 FROM head WHERE log = ?");
    query.text(row.header.name.tenant);
    row.named() ? query.text(row.header.name.id) : query.null();
    query.integer(row.log);
    return query.run();
}

struct Label {
    std::string tenant, k, v;
    std::int64_t log = 0;
};

Result<void> run_label(SqliteDatabase& db, const char* sql, const Label& label) {
    SqliteQuery query = db.query(sql);
    query.text(label.tenant).text(label.k).text(label.v).integer(label.log);
    return query.run();
}

Result<void> insert_labels(SqliteDatabase& db, const LogRow& row) {
    for (const auto& [k, v] : labels_of(row.header.metadata))
        PAL_CHECK(run_label(db, "INSERT OR IGNORE INTO label(tenant, k, v, log) VALUES(?,?,?,?)",
                            {row.header.name.tenant, k, v, row.log}));
    return {};
}

// Those that no log has, or whose log says something else.
Result<std::vector<Label>> wrong_labels(SqliteDatabase& db) {
    SqliteQuery query = db.query(
        "SELECT f.tenant, f.k, f.v, f.log, l.metadata, l.tenant FROM label f LEFT JOIN log l ON "
        "l.log = f.log AND l.name IS NOT NULL");
    std::vector<Label> wrong;
    for (;;) {
        PAL_TRY(row, query.step());
        if (!row) return wrong;
        Label label{std::string(query.bytes_at(0)), std::string(query.bytes_at(1)),
                    std::string(query.bytes_at(2)), query.integer_at(3)};
        const auto right = labels_of(query.bytes_at(4));
        const auto found = right.find(label.k);
        if (found == right.end() || found->second != label.v || query.bytes_at(5) != label.tenant)
            wrong.push_back(std::move(label));
    }
}

}  // namespace

Result<std::vector<LogRow>> lost_logs(SqliteDatabase& db) {
    SqliteQuery query = db.query(
        "SELECT log, uid, tenant FROM head h WHERE NOT EXISTS (SELECT 1 FROM log l WHERE "
        "l.log = h.log) ORDER BY log");
    std::vector<LogRow> found;
    for (;;) {
        PAL_TRY(more, query.step());
        if (!more) return found;
        LogRow row{.log = query.integer_at(0)};
        Header& header = row.header;
        const std::string_view uid = query.bytes_at(1);
        if (uid.size() != header.log.bytes.size()) continue;
        std::ranges::copy(uid, header.log.bytes.begin());
        header.name = {std::string(query.bytes_at(2)), hex(header.log)};
        if (header.name.tenant.empty()) {
            PAL_TRY(forks, stored_children_of(db, header.log));
            header.name.tenant = forks.empty() ? lost_tenant : forks[0].row.header.name.tenant;
            if (!forks.empty()) header.name.id.clear();
        }
        found.push_back(std::move(row));
    }
}

Result<std::vector<Finding>> mend_lost_logs(SqliteDatabase& db) {
    PAL_TRY(lost, lost_logs(db));
    std::vector<Finding> mended;
    for (const LogRow& row : lost) {
        PAL_TRY(there, has_entries(db, row));
        // Words that are kept without a name may be its own, and this the last that tells of them.
        PAL_TRY(kept, db.integer("SELECT count(*) FROM log WHERE name IS NULL"));
        if (!there && kept > 0) {
            mended.push_back({"log", where_is(row),
                              "its row of the table `log` was lost, and it has no entries of its "
                              "own: what it shared may be in a log that has lost its name; it is "
                              "left as it is"});
            continue;
        }
        if (there)
            PAL_CHECK(insert_damaged(db, row));
        else
            PAL_CHECK(run_about(db, "DELETE FROM head WHERE log = ?", row.log));
        mended.push_back({"mended", where_is(row),
                          there ? "its row of the table `log` was lost, and with it its id, title, "
                                  "owner and metadata: its id is its uid now"
                                : "its row of the table `log` and its entries were lost: what was "
                                  "left of it is removed"});
    }
    PAL_CHECK(db.execute("DELETE FROM once WHERE log NOT IN (SELECT log FROM log)"));
    return mended;
}

Result<std::uint64_t> missing_labels(SqliteDatabase& db, const LogRow& row) {
    std::uint64_t missing = 0;
    for (const auto& [k, v] : labels_of(row.header.metadata)) {
        SqliteQuery query =
            db.query("SELECT 1 FROM label WHERE tenant = ? AND k = ? AND v = ? AND log = ?");
        query.text(row.header.name.tenant).text(k).text(v).integer(row.log);
        PAL_TRY(found, query.step());
        missing += found ? 0 : 1;
    }
    return missing;
}

Result<std::uint64_t> count_wrong_labels(SqliteDatabase& db) {
    PAL_TRY(wrong, wrong_labels(db));
    return wrong.size();
}

Result<std::uint64_t> mend_labels(SqliteDatabase& db) {
    PAL_TRY(wrong, wrong_labels(db));
    for (const Label& label : wrong)
        PAL_CHECK(run_label(
            db, "DELETE FROM label WHERE tenant = ? AND k = ? AND v = ? AND log = ?", label));
    std::uint64_t mended = wrong.size();
    for (const std::int64_t number : numbers_of_logs(db)) {
        PAL_TRY(stored, find_stored_log(db, number));
        if (!stored || !stored->whole() || !stored->row.named()) continue;
        PAL_TRY(missing, missing_labels(db, stored->row));
        mended += missing;
        if (missing > 0) PAL_CHECK(insert_labels(db, stored->row));
    }
    return mended;
}

}  // namespace palimpsest
