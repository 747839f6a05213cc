// Listings. Without a filter a page is read off the index of its order, so its cost is that of the
// page. A filter by owner, metadata or parent is asked first and what it finds is sorted: the cost
// is that of what matches.
#include "store/rules.h"
#include "store/sqlite_logs.h"

namespace palimpsest {
namespace {

constexpr std::string_view sort_columns[] = {"l.created", "h.updated", "h.accessed"};
constexpr std::string_view sort_indexes[] = {"log_created", "head_updated", "head_accessed"};

std::string tables_of(const ListQuery& query) {
    const std::string log_first = " CROSS JOIN head h ON h.log = l.log WHERE l.tenant = ?1";
    if (query.children_of) return "log l INDEXED BY log_forks" + log_first + " AND l.parent = ?3";
    const std::string named = " AND l.name IS NOT NULL";
    if (!query.metadata.empty())
        return "label f CROSS JOIN log l ON l.log = f.log" + log_first + named;
    if (query.owner) return "log l INDEXED BY log_owner" + log_first + named;
    const std::string index(sort_indexes[static_cast<std::size_t>(query.sort)]);
    if (query.sort == SortBy::created) return "log l INDEXED BY " + index + log_first + named;
    return "head h INDEXED BY " + index + " CROSS JOIN log l ON l.log = h.log WHERE h.tenant = ?1" +
           named;
}

// The uid of the table that the order's index is on.
std::string_view uid_column(const ListQuery& query) {
    const bool by_head = query.sort != SortBy::created && !query.children_of && !query.owner &&
                         query.metadata.empty();
    return by_head ? "h.uid" : "l.uid";
}

// ?1 tenant, ?2 now, ?3 parent, ?4 owner, ?5 limit, ?6 time and ?7 uid of the cursor, then names
// and values of labels.
std::string list_sql(const ListQuery& query) {
    std::string sql = "SELECT " + std::string(log_columns) + " FROM " + tables_of(query) +
                      " AND (h.expires IS NULL OR h.expires > ?2)";
    if (query.owner) sql += " AND l.owner = ?4";
    for (std::size_t i = 0; i < query.metadata.size(); ++i) {
        const std::string k = "?" + std::to_string(8 + 2 * i);
        const std::string v = "?" + std::to_string(9 + 2 * i);
        if (i == 0 && !query.children_of)
            sql += " AND f.tenant = ?1 AND f.k = " + k + " AND f.v = " + v;
        else
            sql += " AND EXISTS(SELECT 1 FROM label WHERE tenant = ?1 AND k = " + k +
                   " AND v = " + v + " AND log = l.log)";
    }
    const std::string time(sort_columns[static_cast<std::size_t>(query.sort)]);
    const std::string uid(uid_column(query));
    if (!query.after.empty())
        sql += " AND (" + time + ", " + uid + ") " + (query.newest_first ? "<" : ">") + " (?6, ?7)";
    const std::string order = query.newest_first ? " DESC" : " ASC";
    return sql + " ORDER BY " + time + order + ", " + uid + order + " LIMIT ?5";
}

}  // namespace

Result<Page> list_logs(SqliteDatabase& db, const ListQuery& query, Time now) {
    Cursor after;
    if (!query.after.empty()) {
        PAL_TRY(cursor, parse_cursor(query));
        after = cursor;
    }
    const std::string sql = list_sql(query);
    SqliteQuery found = db.query(sql);
    found.text(query.tenant).integer(to_ms(now));
    query.children_of ? found.blob(bytes_of(*query.children_of)) : found.null();
    query.owner ? found.text(*query.owner) : found.null();
    const std::size_t limit = std::min<std::size_t>(query.limit, INT32_MAX);
    found.number(limit + 1);
    if (!query.after.empty() || !query.metadata.empty())
        found.integer(to_ms(after.time)).blob(bytes_of(after.log));
    for (const auto& [name, value] : query.metadata) found.text(name).text(value);
    Page page;
    for (;;) {
        PAL_TRY(more, found.step());
        if (!more) return page;
        if (page.headers.size() == limit) break;
        PAL_TRY(row, read_log_row(found));
        page.headers.push_back(std::move(row.header));
    }
    const Header& last = page.headers.back();
    page.next = write_cursor(query, {sort_time(last, query.sort), last.log});
    return page;
}

}  // namespace palimpsest
