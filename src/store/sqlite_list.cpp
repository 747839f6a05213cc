// Listings. Without a filter a page is read off the index of its order, minute by minute where that
// is the time of the last change or access, so its cost is that of the page and of its last minute.
// A filter by owner or metadata is asked first and what it finds is sorted: the cost is that of
// what matches. Forks of a log are looked at one by one, because one that has expired is still
// listed, nameless, while forks of its own live.
#include <algorithm>

#include "core/metadata.h"
#include "store/rules.h"
#include "store/sqlite_logs.h"

namespace palimpsest {
namespace {

struct Order {
    std::string_view minute, time, index;
};
constexpr Order orders[] = {{"", "l.created", "log_created"},
                            {"h.updated_minute", "h.updated", "head_updated"},
                            {"h.accessed_minute", "h.accessed", "head_accessed"}};

const Order& order_of(const ListQuery& query) {
    return orders[static_cast<std::size_t>(query.sort)];
}

std::string tables_of(const ListQuery& query) {
    const std::string log_first = " CROSS JOIN head h ON h.log = l.log WHERE l.tenant = ?1";
    const std::string named = " AND l.name IS NOT NULL";
    if (!query.metadata.empty())
        return "label f CROSS JOIN log l ON l.log = f.log" + log_first + named;
    if (query.owner) return "log l INDEXED BY log_owner" + log_first + named;
    const std::string index(order_of(query).index);
    if (query.sort == SortBy::created) return "log l INDEXED BY " + index + log_first + named;
    return "head h INDEXED BY " + index + " CROSS JOIN log l ON l.log = h.log WHERE h.tenant = ?1" +
           named;
}

// ?1 tenant, ?2 now, ?3 owner, ?4 limit, ?5 time, ?6 uid and ?7 minute of the cursor, then names
// and values of labels.
std::string list_sql(const ListQuery& query) {
    std::string sql = "SELECT " + std::string(log_columns) + " FROM " + tables_of(query) +
                      " AND (h.expires IS NULL OR h.expires > ?2)";
    if (query.owner) sql += " AND l.owner = ?3";
    for (std::size_t i = 0; i < query.metadata.size(); ++i) {
        const std::string k = "?" + std::to_string(8 + 2 * i);
        const std::string v = "?" + std::to_string(9 + 2 * i);
        if (i == 0)
            sql += " AND f.tenant = ?1 AND f.k = " + k + " AND f.v = " + v;
        else
            sql += " AND EXISTS(SELECT 1 FROM label WHERE tenant = ?1 AND k = " + k +
                   " AND v = " + v + " AND log = l.log)";
    }
    const std::string time(order_of(query).time), minute(order_of(query).minute);
    const std::string compare = query.newest_first ? " <" : " >";
    const std::string down = query.newest_first ? " DESC" : " ASC";
    if (!query.after.empty()) sql += " AND (" + time + ", l.uid)" + compare + " (?5, ?6)";
    if (!query.after.empty())
        sql += minute.empty() ? " AND ?7 IS NOT NULL" : " AND " + minute + compare + "= ?7";
    sql += " ORDER BY ";
    if (!minute.empty()) sql += minute + down + ", ";
    return sql + time + down + ", l.uid" + down + " LIMIT ?4";
}

bool matches(const Header& header, const ListQuery& query) {
    if (header.name.tenant != query.tenant) return false;
    if (query.owner && header.owner != *query.owner) return false;
    const std::map<std::string, std::string> labels = labels_of(header.metadata);
    return std::ranges::all_of(query.metadata, [&](const auto& field) {
        const auto found = labels.find(field.first);
        return found != labels.end() && found->second == field.second;
    });
}

Result<Page> list_forks(SqliteDatabase& db, const ListQuery& query, Time now) {
    std::optional<Cursor> after;
    if (!query.after.empty()) {
        PAL_TRY(cursor, parse_cursor(query));
        after = cursor;
    }
    const auto place = [&](const Header& header) {
        return Cursor{sort_time(header, query.sort), header.log};
    };
    const auto precedes = [&](const Cursor& a, const Cursor& b) {
        return query.newest_first ? b < a : a < b;
    };
    Page page;
    PAL_TRY(children, children_of(db, *query.children_of));
    for (LogRow& child : children) {
        PAL_TRY(row, as_of(db, std::move(child), now));
        if (row && matches(row->header, query) && (!after || precedes(*after, place(row->header))))
            page.headers.push_back(std::move(row->header));
    }
    std::ranges::sort(page.headers, precedes, place);
    if (page.headers.size() <= query.limit) return page;
    page.headers.resize(query.limit);
    page.next = write_cursor(query, place(page.headers.back()));
    return page;
}

// One that is damaged does not hide the others. Whoever asks for it by itself is told.
Header named_only(const Header& damaged) {
    return {.name = damaged.name,
            .log = damaged.log,
            .created = damaged.created,
            .updated = damaged.updated,
            .accessed = damaged.accessed};
}

}  // namespace

Result<Page> list_logs(SqliteDatabase& db, const ListQuery& query, Time now) {
    if (query.children_of) return list_forks(db, query, now);
    Cursor after;
    if (!query.after.empty()) {
        PAL_TRY(cursor, parse_cursor(query));
        after = cursor;
    }
    const std::string sql = list_sql(query);
    SqliteQuery found = db.query(sql);
    found.text(query.tenant).integer(to_ms(now));
    query.owner ? found.text(*query.owner) : found.null();
    const std::size_t limit = std::min<std::size_t>(query.limit, INT32_MAX);
    found.number(limit + 1);
    if (!query.after.empty() || !query.metadata.empty())
        found.integer(to_ms(after.time)).blob(bytes_of(after.log)).integer(minute_of(after.time));
    for (const auto& [name, value] : query.metadata) found.text(name).text(value);
    Page page;
    for (;;) {
        PAL_TRY(more, found.step());
        if (!more) return page;
        if (page.headers.size() == limit) break;
        StoredLog stored = read_stored_log(found);
        page.headers.push_back(stored.whole() ? std::move(stored.row.header)
                                              : named_only(stored.row.header));
    }
    const Header& last = page.headers.back();
    page.next = write_cursor(query, {sort_time(last, query.sort), last.log});
    return page;
}

}  // namespace palimpsest
