// Listings on PostgreSQL, by keyset. Without a filter a page is read off the index of its order:
// minute by minute, and by the exact time inside of a minute. A filter by owner or metadata is
// asked of its own index first and what it finds is sorted.
#include "store/epoch_ms.h"
#include "store/listing.h"
#include "store/postgres_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

struct Order {
    std::string_view minute, time;
};
constexpr Order orders[] = {
    {"", "l.created"}, {"h.updated_minute", "h.updated"}, {"h.accessed_minute", "h.accessed"}};

// $1 now, $2 tenant, $3 limit, $4 owner, $5 labels, $6 minute, $7 time and $8 log of the cursor.
PgStatement list_statement(const ListQuery& query) {
    const Order& order = orders[static_cast<std::size_t>(query.sort)];
    const std::string time(order.time), minute(order.minute);
    const std::string down = query.newest_first ? " DESC" : "";
    const std::string compare = query.newest_first ? " <" : " >";
    std::string sql = "SELECT " + log_columns_of_l_and_h + ", " + pg_now +
                      " FROM pal_log l JOIN pal_head h ON h.log = l.log WHERE l.tenant = $2::text "
                      "AND h.tenant = $2 AND l.id IS NOT NULL AND h.named AND (h.expires IS NULL "
                      "OR h.expires > " +
                      pg_now + ")" +
                      (query.owner ? " AND l.owner = $4::bytea" : " AND $4::bytea IS NULL");
    if (!query.metadata.empty()) sql += " AND l.labels @> $5::bytea[]";
    if (query.metadata.empty()) sql += " AND $5::bytea[] IS NULL";
    if (query.after.empty())
        sql += " AND $6::bigint IS NULL AND $7::bigint IS NULL AND $8::uuid IS NULL";
    else if (minute.empty())
        sql += " AND $6::bigint IS NOT NULL";
    else
        sql += " AND " + minute + compare + "= $6::bigint";
    if (!query.after.empty())
        sql += " AND (" + time + ", l.log)" + compare + " ($7::bigint, $8::uuid)";
    sql += " ORDER BY ";
    if (!minute.empty()) sql += minute + down + ", ";
    sql += time + down + ", l.log" + down + " LIMIT $3::bigint";
    const std::string name = "list_" + std::to_string(static_cast<int>(query.sort)) +
                             (query.newest_first ? "d" : "u") + (query.after.empty() ? "" : "a") +
                             (query.owner ? "o" : "") + (query.metadata.empty() ? "" : "m");
    return {name, std::move(sql)};
}

void add_labels(PgParams& params, const ListQuery& query) {
    if (query.metadata.empty()) {
        params.null();
        return;
    }
    std::vector<std::string> labels;
    for (const auto& [name, value] : query.metadata)
        labels.push_back(label_of(query.tenant, name, value));
    const std::vector<std::optional<std::string_view>> views(labels.begin(), labels.end());
    params.byte_strings(views);
}

}  // namespace

Result<Page> PostgresStore::list(const ListQuery& query) {
    PAL_CHECK(check_list(query));
    if (query.children_of) return list_forks(query);
    const std::size_t limit = std::min<std::size_t>(query.limit, INT32_MAX);
    const PgStatement statement = list_statement(query);
    PgCall call{statement};
    call.params.maybe(now()).bytes(query.tenant).number(limit + 1).maybe_bytes(query.owner);
    add_labels(call.params, query);
    if (query.after.empty()) {
        call.params.null().null().null();
    } else {
        PAL_TRY(cursor, parse_cursor(query));
        const std::int64_t ms = ms_of(cursor.time);
        call.params.integer(ms / 60'000).integer(ms).uid(cursor.log);
    }
    PAL_TRY(found, ask(call));
    Page page;
    for (std::size_t row = 0; row < std::min(limit, found.rows()); ++row)
        page.headers.push_back(read_log(found, row).log.header);
    if (found.rows() <= limit) return page;
    const Header& last = page.headers.back();
    page.next = write_cursor(query, {sort_time(last, query.sort), last.log});
    return page;
}

Result<Page> PostgresStore::list_forks(const ListQuery& query) {
    PAL_TRY(found, ask(find_by_log(now(), *query.children_of)));
    if (found.rows() == 0) return Page{};
    const PgLog parent = read_log(found, 0);
    PAL_TRY(rows, ask(find_family(now(), parent.root)));
    const ForkTree family = family_of(read_logs(rows));
    std::vector<Header> headers;
    for (const LogId& fork : family.children_of(*query.children_of))
        if (auto header = family.as_of(fork, parent.now)) headers.push_back(std::move(*header));
    return page_of(std::move(headers), query);
}

}  // namespace palimpsest
