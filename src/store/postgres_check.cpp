// What rows of one table say against those of another: logs without heads or names, names and
// entries without logs, families, and what listings go by. Whole statements over the tables, which
// may take long.
#include <algorithm>

#include "base/ids.h"
#include "store/log_check.h"
#include "store/postgres_mend.h"
#include "store/postgres_store.h"

namespace palimpsest {
namespace {

constexpr std::chrono::milliseconds long_timeout = std::chrono::minutes(10);

// $1 the tenant, or none for all.
const PgStatement lost_heads{
    "",
    "SELECT l.id, l.log, (SELECT count(*) FROM pal_entry e WHERE e.log = l.log), l.root FROM "
    "pal_log l "
    "LEFT JOIN pal_head h ON h.log = l.log WHERE h.log IS NULL AND "
    "($1::text IS NULL OR l.tenant = $1) ORDER BY l.tenant, l.id"};
const PgStatement lost_names{
    "",
    "SELECT l.tenant, l.id, l.log, n.log FROM pal_log l JOIN pal_head h ON h.log = l.log "
    "LEFT JOIN pal_name n ON n.tenant = l.tenant AND n.id = l.id WHERE l.id IS NOT NULL AND "
    "n.log IS DISTINCT FROM l.log AND ($1::text IS NULL OR l.tenant = $1) "
    "ORDER BY l.tenant, l.id"};
const PgStatement empty_names{
    "",
    "SELECT n.id, n.log, (SELECT count(*) FROM pal_entry e WHERE e.log = n.log) FROM pal_name n "
    "WHERE NOT EXISTS (SELECT 1 FROM pal_log l WHERE l.log = n.log) AND "
    "($1::text IS NULL OR n.tenant = $1) ORDER BY n.tenant, n.id"};
// Nothing tells whose these are.
const PgStatement orphans{
    "",
    "SELECT e.log, count(*) FROM pal_entry e WHERE NOT EXISTS (SELECT 1 FROM pal_log l WHERE "
    "l.log = e.log) AND NOT EXISTS (SELECT 1 FROM pal_name n WHERE n.log = e.log) "
    "GROUP BY e.log ORDER BY e.log"};
// What is kept of logs without a name behind the last of their forks.
const PgStatement kept_for_nobody{
    "",
    "SELECT l.id, l.log, h.last - COALESCE(f.top, l.base), l.root FROM pal_log l JOIN pal_head h "
    "ON h.log = l.log LEFT JOIN LATERAL (SELECT max(c.base) AS top FROM pal_log c WHERE c.parent = "
    "l.log) AS f ON true WHERE l.id IS NULL AND h.last > COALESCE(f.top, -1) AND "
    "($1::text IS NULL OR l.tenant = $1) ORDER BY l.log"};
const PgStatement wrong_counts{
    "",
    "SELECT l.id, l.log, h.messages, e.ordinal FROM pal_log l JOIN pal_head h ON h.log = l.log "
    "JOIN pal_entry e ON e.log = h.log AND e.seq = h.last WHERE e.ordinal <> h.messages AND "
    "($1::text IS NULL OR l.tenant = $1) ORDER BY l.tenant, l.id"};
const PgStatement setting_count{
    "",
    "UPDATE pal_head h SET messages = e.ordinal FROM pal_entry e WHERE h.log = $1::uuid AND e.log "
    "= h.log AND e.seq = h.last"};
// What the chain of parents says; a log whose chain is broken is told as an orphan.
const PgStatement wrong_roots{
    "",
    "WITH RECURSIVE chain(log, root) AS (SELECT log, log FROM pal_log WHERE parent IS NULL UNION "
    "ALL SELECT l.log, c.root FROM pal_log l JOIN chain c ON l.parent = c.log) "
    "SELECT l.id, l.log, l.root, c.root FROM pal_log l JOIN chain c ON c.log = l.log WHERE "
    "l.root <> c.root AND ($1::text IS NULL OR l.tenant = $1) ORDER BY l.tenant, l.id"};
const PgStatement moving_bodies{
    "",
    "INSERT INTO pal_body(root, hash, bytes) SELECT DISTINCT ON (b.hash) $2::uuid, b.hash, b.bytes "
    "FROM pal_entry e JOIN pal_body b ON b.hash = e.shared AND b.root = $3::uuid WHERE e.log = "
    "$1::uuid ORDER BY b.hash ON CONFLICT DO NOTHING"};
const PgStatement setting_root{"", "UPDATE pal_log SET root = $2::uuid WHERE log = $1::uuid"};
// What listings go by, beside what it is made from; $2 the log behind which to go on.
constexpr std::size_t page_rows = 500;
const PgStatement listed_by{
    "",
    "SELECT l.tenant, l.id, l.log, l.metadata, (SELECT string_agg(u.one, ''::bytea ORDER BY u.one) "
    "FROM unnest(l.labels) AS u(one)), h.named = (l.id IS NOT NULL) AND h.tenant = l.tenant AND "
    "h.updated_minute = h.updated / 60000 AND h.accessed_minute = h.accessed / 60000 AND "
    "h.expires_minute IS NOT DISTINCT FROM h.expires / 60000 FROM pal_log l JOIN pal_head h ON "
    "h.log = l.log WHERE ($1::text IS NULL OR l.tenant = $1) AND l.log > $2::uuid ORDER BY l.log "
    "LIMIT 500"};
const PgStatement counting_records{
    "", "SELECT count(*) FROM pal_record WHERE $1::text IS NULL OR tenant = $1"};
const PgStatement all_tenants{"", "SELECT DISTINCT tenant FROM pal_log ORDER BY tenant"};
const PgStatement all_spaces{
    "", "SELECT DISTINCT tenant, space FROM pal_record ORDER BY tenant, space"};

// What list() leaves out: rows that it joins are missing, or say otherwise. A row that is there is
// read by its log, which tells what is lost.
const PgStatement left_out{
    "",
    "SELECT l.tenant, l.id, l.log FROM pal_log l LEFT JOIN pal_head h ON h.log = l.log WHERE "
    "l.id IS NOT NULL AND (h.log IS NULL OR NOT h.named OR h.tenant <> l.tenant) AND "
    "($1::text IS NULL OR l.tenant = $1) UNION ALL SELECT n.tenant, n.id, n.log FROM pal_name n "
    "WHERE NOT EXISTS (SELECT 1 FROM pal_log l WHERE l.log = n.log) AND "
    "($1::text IS NULL OR n.tenant = $1)"};

PgCall about(const PgStatement& statement, const std::optional<std::string>& tenant) {
    PgCall call{statement};
    call.params.maybe_bytes(tenant);
    return call;
}

std::string entries_left(const PgTable& found, std::size_t row, int column) {
    return std::to_string(found.number(row, column)) + " entries of it are there";
}

std::string name_or_uid(const PgTable& found, std::size_t row) {
    return found.is_null(row, 0) ? hex(found.uid(row, 1)) : std::string(found.bytes(row, 0));
}

std::string joined_labels(const Header& header) {
    std::vector<std::string> labels = labels_for(header);
    std::ranges::sort(labels);
    std::string all;
    for (const std::string& label : labels) all += label;
    return all;
}

std::string listing_fault(bool listed, bool readable) {
    if (!readable) return "its metadata was no JSON object and is empty now";
    if (!listed)
        return "its row of pal_head says another name, tenant or minute than its header: listings "
               "miss or misplace it";
    return "its labels are not those of its metadata: listings by metadata miss it";
}

}  // namespace

Result<PgTable> PostgresStore::ask_long(const PgCall& call) {
    PAL_TRY(tables, ask({call}, long_timeout));
    return std::move(tables.front());
}

Result<Contents> PostgresStore::contents() {
    PAL_TRY(tables, ask({PgCall{all_tenants}, PgCall{all_spaces}}, long_timeout));
    Contents contents;
    for (std::size_t row = 0; row < tables[0].rows(); ++row)
        contents.tenants.emplace_back(tables[0].bytes(row, 0));
    for (std::size_t row = 0; row < tables[1].rows(); ++row)
        contents.spaces.push_back(
            {std::string(tables[1].bytes(row, 0)), std::string(tables[1].bytes(row, 1))});
    return contents;
}

Result<std::vector<Unlisted>> PostgresStore::unlisted(std::span<const std::string> tenants) {
    std::vector<std::optional<std::string>> wanted(tenants.begin(), tenants.end());
    if (wanted.empty()) wanted.emplace_back(std::nullopt);
    std::vector<Unlisted> all;
    for (const std::optional<std::string>& tenant : wanted) {
        PAL_TRY(found, ask_long(about(left_out, tenant)));
        for (std::size_t row = 0; row < found.rows(); ++row) {
            Unlisted one{
                .name = {std::string(found.bytes(row, 0)), std::string(found.bytes(row, 1))},
                .log = found.uid(row, 2)};
            const auto header = head(one.log);
            if (!header && header.error().code == ErrorCode::not_found) continue;  // just erased
            if (!header && header.error().code != ErrorCode::internal)
                return std::unexpected(header.error());
            if (!header) one.damage = header.error().message;
            all.push_back(std::move(one));
        }
    }
    if (!tenants.empty()) return all;
    PAL_TRY(lost, ask_long(PgCall{orphans}));
    for (std::size_t row = 0; row < lost.rows(); ++row)
        all.push_back({.log = lost.uid(row, 0),
                       .damage = std::to_string(lost.number(row, 1)) +
                                 " entries are there of a log that is not"});
    return all;
}

Result<void> PostgresStore::check_heads(const std::optional<std::string>& tenant, bool repair,
                                        CheckReport& report) {
    PAL_TRY(found, ask_long(about(lost_heads, tenant)));
    for (std::size_t row = 0; row < found.rows(); ++row) {
        if (repair) {
            PAL_TRY(connection, pool_.borrow());
            PAL_CHECK(
                connection->run(mend_heads(now(), options_.ttl, found.uid(row, 3)), Commits::yes));
        }
        report.findings.push_back(
            {"damaged", name_or_uid(found, row),
             "its row of pal_head is missing: nobody can say where it ends; " +
                 entries_left(found, row, 2) +
                 (repair ? "; it was made from them: look at its time to live, which they do not "
                           "tell"
                         : "")});
    }
    return {};
}

Result<void> PostgresStore::check_names(const std::optional<std::string>& tenant, bool repair,
                                        CheckReport& report) {
    PAL_TRY(found, ask_long(about(lost_names, tenant)));
    for (std::size_t row = 0; row < found.rows(); ++row) {
        const ConversationId name{std::string(found.bytes(row, 0)),
                                  std::string(found.bytes(row, 1))};
        const LogId log = found.uid(row, 2);
        std::string message = "its row of pal_name is missing: nobody finds it by its name";
        if (!found.is_null(row, 3))
            message = "its name belongs to another log, " + hex(found.uid(row, 3)) +
                      "; this one, " + hex(log) + ", is listed and cannot be opened";
        if (repair && found.is_null(row, 3)) {
            PAL_TRY(connection, pool_.borrow());
            PAL_TRY(put, connection->run(insert_name(name, log), Commits::yes));
            message += put.changed() == 1 ? "; it was put back" : "; another has taken the name";
        }
        report.findings.push_back({"name", name.id, std::move(message)});
    }
    return {};
}

Result<void> PostgresStore::check_orphans(const std::optional<std::string>& tenant,
                                          CheckReport& report) {
    PAL_TRY(names, ask_long(about(empty_names, tenant)));
    for (std::size_t row = 0; row < names.rows(); ++row)
        report.findings.push_back({"orphan", name_or_uid(names, row),
                                   "its row of pal_log is missing, its header is lost; " +
                                       entries_left(names, row, 2) +
                                       ", and go with it when it is erased"});
    PAL_TRY(records, ask_long(about(counting_records, tenant)));
    report.records += records.number(0, 0);
    return {};
}

// Where a fork has lost its row it may have shared them, and has to go first.
Result<void> PostgresStore::check_kept(const std::optional<std::string>& tenant, bool repair,
                                       CheckReport& report) {
    PAL_TRY(found, ask_long(about(kept_for_nobody, tenant)));
    PAL_TRY(lost, ask_long(about(empty_names, tenant)));
    for (std::size_t row = 0; row < found.rows(); ++row) {
        std::string message = "was erased, and " + std::to_string(found.number(row, 2)) +
                              " entries are kept of it that no fork shares";
        if (repair && lost.rows() > 0)
            message += "; they stay while nobody knows what \"" + name_or_uid(lost, 0) +
                       "\" shares: erase that first";
        if (repair && lost.rows() == 0) {
            PAL_CHECK(retry<bool>([&](PgConnection& connection) {
                return remove_kept(connection, found.uid(row, 3), found.uid(row, 1));
            }));
            message += "; they were removed";
        }
        report.findings.push_back({"kept", name_or_uid(found, row), std::move(message)});
    }
    return {};
}

// The last entry counts: a check names it by reading all of them.
Result<void> PostgresStore::mend_counts(const std::optional<std::string>& tenant,
                                        CheckReport& report) {
    PAL_TRY(found, ask_long(about(wrong_counts, tenant)));
    for (std::size_t row = 0; row < found.rows(); ++row) {
        PgCall setting{setting_count};
        setting.params.uid(found.uid(row, 1));
        PAL_TRY(connection, pool_.borrow());
        PAL_CHECK(connection->run(setting, Commits::yes));
        report.findings.push_back(
            {"count", name_or_uid(found, row),
             "has " + std::to_string(found.number(row, 3)) + " messages, its header said " +
                 std::to_string(found.number(row, 2)) + "; it was set right"});
    }
    return {};
}

Result<void> PostgresStore::set_root(const LogId& log, const LogId& wrong, const LogId& right) {
    PAL_TRY(connection, pool_.borrow());
    PgTransaction transaction(*connection);
    for (const LogId& root : {std::min(wrong, right), std::max(wrong, right)})
        PAL_CHECK(transaction.run({lock_log(root), lock_family(root)}));
    PgCall bodies{moving_bodies}, root{setting_root};
    bodies.params.uid(log).uid(right).uid(wrong);
    root.params.uid(log).uid(right);
    PAL_CHECK(
        transaction.commit({std::move(bodies), std::move(root), remove_unused_bodies(wrong)}));
    return {};
}

Result<void> PostgresStore::check_roots(const std::optional<std::string>& tenant, bool repair,
                                        CheckReport& report) {
    PAL_TRY(found, ask_long(about(wrong_roots, tenant)));
    for (std::size_t row = 0; row < found.rows(); ++row) {
        const LogId wrong = found.uid(row, 2), right = found.uid(row, 3);
        if (repair) PAL_CHECK(set_root(found.uid(row, 1), wrong, right));
        report.findings.push_back({"family", name_or_uid(found, row),
                                   "its root in pal_log is " + hex(wrong) +
                                       ", by its parents it is " + hex(right) +
                                       ": what it shares with them is not guarded" +
                                       (repair ? "; it was set right" : "")});
    }
    return {};
}

// Both rows anew, from what they say themselves.
Result<void> PostgresStore::write_header_anew(const LogId& log) {
    PAL_TRY(connection, pool_.borrow());
    PgTransaction transaction(*connection);
    PAL_TRY(tables, transaction.run({lock_log(log), find_by_log(now(), log)}));
    if (tables[1].rows() == 0) return {};
    Header header = read_log(tables[1], 0).header();
    if (!is_metadata(header.metadata)) {
        header.metadata = "{}";
        ++header.revision;
    }
    PAL_CHECK(transaction.commit({update_log(header), update_head(header)}));
    return {};
}

Result<void> PostgresStore::check_listings(const std::optional<std::string>& tenant, bool repair,
                                           CheckReport& report) {
    LogId last;
    for (std::size_t rows = page_rows; rows == page_rows;) {
        PgCall call = about(listed_by, tenant);
        call.params.uid(last);
        PAL_TRY(found, ask_long(call));
        rows = found.rows();
        for (std::size_t row = 0; row < rows; ++row) {
            last = found.uid(row, 2);
            Header header;
            header.name = {std::string(found.bytes(row, 0)), std::string(found.bytes(row, 1))};
            header.metadata = found.bytes(row, 3);
            const bool labelled = found.bytes(row, 4) == joined_labels(header);
            const bool listed = found.integer(row, 5) != 0;
            const bool readable = is_metadata(header.metadata);
            if (labelled && listed && readable) continue;
            if (!readable && !repair) continue;  // whoever reads it tells that
            if (repair) PAL_CHECK(write_header_anew(last));
            report.findings.push_back(
                {"listing", header.name.id.empty() ? hex(last) : header.name.id,
                 listing_fault(listed, readable) + (repair ? "; it was written anew" : "")});
        }
    }
    return {};
}

Result<CheckReport> PostgresStore::check_tables(std::span<const std::string> tenants, bool repair) {
    std::vector<std::optional<std::string>> wanted(tenants.begin(), tenants.end());
    if (wanted.empty()) wanted.emplace_back(std::nullopt);
    CheckReport found;
    for (const std::optional<std::string>& tenant : wanted) {
        PAL_CHECK(check_heads(tenant, repair, found));
        PAL_CHECK(check_names(tenant, repair, found));
        PAL_CHECK(check_orphans(tenant, found));
        PAL_CHECK(check_roots(tenant, repair, found));
        PAL_CHECK(check_kept(tenant, repair, found));
        if (repair) PAL_CHECK(mend_counts(tenant, found));
        PAL_CHECK(check_listings(tenant, repair, found));
    }
    PAL_TRY(lost, ask_long(PgCall{orphans}));
    for (std::size_t row = 0; row < lost.rows(); ++row)
        found.findings.push_back(
            {"orphan", hex(lost.uid(row, 0)),
             std::to_string(lost.number(row, 1)) +
                 " entries are there of a log that is not, and nobody can read them; they are left "
                 "for you to delete from pal_entry"});
    PAL_TRY(report, Store::check(tenants));
    report.records = found.records;
    report.findings.insert(report.findings.begin(), found.findings.begin(), found.findings.end());
    return std::move(report);
}

Result<CheckReport> PostgresStore::check(std::span<const std::string> tenants) {
    return check_tables(tenants, false);
}

Result<CheckReport> PostgresStore::repair(std::span<const std::string> tenants) {
    return check_tables(tenants, true);
}

}  // namespace palimpsest
