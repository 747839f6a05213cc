#include "store/postgres_store.h"

#include "base/ids.h"
#include "store/entry_guard.h"
#include "store/epoch_ms.h"
#include "store/listing.h"
#include "store/postgres_schema.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

const PgStatement asking_settings{
    "",
    "SELECT current_setting('server_version'), current_setting('fsync'), "
    "current_setting('synchronous_commit'), current_setting('full_page_writes')"};

const PgStatement begin_snapshot{"begin_snapshot",
                                 "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
const PgStatement end_snapshot{"end_snapshot", "COMMIT"};

// Of pal_entry e.
std::string columns(bool content) {
    return std::string("SELECT e.seq, e.kind, e.at, e.ordinal, e.meta, ") +
           (content ? "CASE WHEN e.shared IS NULL THEN e.payload ELSE (SELECT b.bytes FROM "
                      "pal_body b WHERE b.hash = e.shared AND b.root = (SELECT l.root FROM pal_log "
                      "l WHERE l.log = $1::uuid)) END"
                    : "NULL::bytea");
}

// $1 log, $2 and $3 the range, $4 kinds as bits, $5 limit. Each comes forwards and backwards.
std::string scan_sql(bool content, bool newest_first) {
    return columns(content) +
           " FROM pal_entry e WHERE log = $1::uuid AND seq BETWEEN $2::bigint AND $3::bigint AND "
           "((1 << kind) & $4::bigint) <> 0 ORDER BY seq" +
           (newest_first ? " DESC" : "") + " LIMIT $5::bigint";
}

// The same for kinds other than messages: each is found through its index, never by walking over
// messages.
std::string pick_sql(bool content, bool newest_first) {
    const std::string order = newest_first ? " ORDER BY seq DESC" : " ORDER BY seq";
    return columns(content) +
           " FROM generate_series(1, 15) AS k(kind) CROSS JOIN LATERAL (SELECT * FROM pal_entry "
           "WHERE log = $1::uuid AND kind = k.kind::smallint AND kind > 0 AND seq BETWEEN "
           "$2::bigint AND $3::bigint" +
           order + " LIMIT $5::bigint) AS e WHERE ((1 << k.kind) & $4::bigint) <> 0" + order +
           " LIMIT $5::bigint";
}

const PgStatement readings[] = {
    {"scan_0", scan_sql(false, false)}, {"scan_1", scan_sql(false, true)},
    {"scan_2", scan_sql(true, false)},  {"scan_3", scan_sql(true, true)},
    {"pick_0", pick_sql(false, false)}, {"pick_1", pick_sql(false, true)},
    {"pick_2", pick_sql(true, false)},  {"pick_3", pick_sql(true, true)},
};

PgCall read_range(const LogId& log, const ReadQuery& query, Range range) {
    const std::size_t which = (query.newest_first ? 1U : 0U) + (query.content ? 2U : 0U) +
                              (query.kinds.has(EntryKind::message) ? 0U : 4U);
    PgCall call{readings[which]};
    const std::size_t limit = std::min<std::size_t>(query.limit, INT64_MAX);
    call.params.uid(log).seq(range.from).seq(std::min(range.to, seq_max));
    call.params.integer(query.kinds.bits).number(limit);
    return call;
}

std::vector<Range> ranges_of(const ReadQuery& query) {
    std::vector<Range> ranges = query.ranges;
    if (ranges.empty()) ranges.push_back({Seq{1}, seq_max});
    if (query.newest_first) std::ranges::reverse(ranges);
    return ranges;
}

Result<void> add_entries_of(const PgTable& table, const ReadQuery& query,
                            std::vector<Entry>& found) {
    for (std::size_t row = 0; row < table.rows() && found.size() < query.limit; ++row) {
        Entry entry{.seq = Seq{table.number(row, 0)},
                    .at = time_of(table.integer(row, 2)),
                    .ordinal = table.number(row, 3)};
        const auto kind = static_cast<EntryKind>(table.integer(row, 1));
        Bytes payload;
        if (!table.is_null(row, 5)) payload = make_bytes(std::string(table.bytes(row, 5)));
        PAL_TRY(body,
                decode_guarded({entry.seq, kind, table.bytes(row, 4), payload, query.content}));
        entry.body = std::move(body);
        found.push_back(std::move(entry));
    }
    return {};
}

}  // namespace

PostgresStore::PostgresStore(Options options)
    : options_(std::move(options)),
      pool_(
          [this](std::chrono::milliseconds within) {
              return PgConnection::open(options_.connection, within);
          },
          {.connections = options_.connection.connections,
           .wait = std::chrono::milliseconds(options_.connection.timeout_ms)}) {}

Result<std::unique_ptr<PostgresStore>> PostgresStore::open(Options options) {
    std::unique_ptr<PostgresStore> store(new PostgresStore(std::move(options)));
    PAL_TRY(connection, store->pool_.borrow());
    PAL_CHECK(
        prepare_postgres_schema(*connection, store->options_.connection, store->options_.create));
    PAL_CHECK(store->learn_durability(*connection));
    return store;
}

// What an acknowledgement is worth is the server's setting; we read it and say it.
Result<void> PostgresStore::learn_durability(PgConnection& connection) {
    PAL_TRY(found, connection.run(PgCall{asking_settings}, Commits::no));
    const auto on = [&](int column) { return found.bytes(0, column) == "on"; };
    const std::string_view commit = found.bytes(0, 2);
    durability_.level = "PostgreSQL " + std::string(found.bytes(0, 0)) +
                        ", synchronous_commit=" + std::string(commit);
    durability_.process_killed = true;
    durability_.power_cut = on(1) && commit != "off" && on(3);
    if (!on(1)) durability_.level += ", fsync=off: a power cut may lose anything";
    if (on(1) && commit == "off")
        durability_.level += ": a power cut or a crash of the server loses the newest writes";
    if (commit == "off") durability_.process_killed = false;
    if (durability_.power_cut) durability_.level += ": synced before every acknowledgement";
    return {};
}

PgNow PostgresStore::now() const {
    if (!options_.clock) return std::nullopt;
    return ms_of(options_.clock());
}

bool PostgresStore::another_was_faster(const PgConnection& connection) {
    const std::string& state = connection.sqlstate();
    return !connection.is_broken() && (state == "23505" || state == "40001" || state == "40P01");
}

Result<std::vector<PgTable>> PostgresStore::ask(const std::vector<PgCall>& calls) {
    return ask(calls, std::chrono::milliseconds(options_.connection.timeout_ms));
}

Result<std::vector<PgTable>> PostgresStore::ask(const std::vector<PgCall>& calls,
                                                std::chrono::milliseconds within) {
    using SteadyClock = std::chrono::steady_clock;
    const SteadyClock::time_point until = SteadyClock::now() + within;
    const auto left = [&] {
        return std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
    };
    for (bool again = false;; again = true) {
        PAL_TRY(connection, pool_.borrow(left()));
        auto tables = connection->run(calls, Commits::no, left());
        const bool dead = !tables && connection->is_broken();
        if (!dead || again || left() <= std::chrono::milliseconds(0)) return tables;
    }
}

Result<PgTable> PostgresStore::ask(const PgCall& call) {
    PAL_TRY(tables, ask(std::vector<PgCall>{call}));
    return std::move(tables.front());
}

// ---- reading ------------------------------------------------------------------------------------

Result<Header> PostgresStore::head(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    PAL_TRY(found, ask(find_by_name(now(), name)));
    PAL_TRY(log, read_named(found));
    if (log && !expired(log->header(), log->now)) return std::move(log->log.header);
    return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
}

Result<Header> PostgresStore::living(const PgLog& log) {
    if (log.log.named() && !expired(log.header(), log.now)) return log.header();
    PAL_TRY(rows, ask(find_family(now(), log.root)));
    const ForkTree family = family_of(read_logs(rows));
    if (const auto header = family.as_of(log.header().log, log.now)) return *header;
    return fail(ErrorCode::not_found, "no log " + hex(log.header().log));
}

Result<Header> PostgresStore::head(const LogId& log) {
    PAL_TRY(found, ask(find_by_log(now(), log)));
    if (found.rows() > 0) return living(read_log(found, 0));
    PAL_TRY(torn, ask(find_torn(log)));
    return lost_or_absent(torn, log);
}

Result<std::vector<Entry>> PostgresStore::read(const LogId& log, const ReadQuery& query) {
    PAL_CHECK(check_read(query));
    // One snapshot and one round trip for the header and all the ranges.
    std::vector<PgCall> calls{PgCall{begin_snapshot}, find_by_log(now(), log)};
    for (const Range& range : ranges_of(query)) calls.push_back(read_range(log, query, range));
    calls.push_back(PgCall{end_snapshot});
    PAL_TRY(tables, ask(calls));
    if (tables[1].rows() == 0) {
        PAL_TRY(torn, ask(find_torn(log)));
        return lost_or_absent(torn, log);
    }
    const PgLog found = read_log(tables[1], 0);
    PAL_TRY(header, living(found));
    if (header.end < found.header().end) {  // it has expired: only what its forks share is left
        calls.clear();
        for (const Range& range : ranges_of(query))
            calls.push_back(read_range(log, query, {range.from, std::min(range.to, header.end)}));
        PAL_TRY(rest, ask(calls));
        tables = std::move(rest);
        tables.insert(tables.begin(), 2, tables.front());
        tables.push_back(tables.front());
    }
    std::vector<Entry> entries;
    for (std::size_t i = 2; i + 1 < tables.size(); ++i)
        PAL_CHECK(add_entries_of(tables[i], query, entries));
    PAL_CHECK(check_no_gap(header, query, entries));
    return entries;
}

}  // namespace palimpsest
