// What rows of one table say against those of another: logs without heads or names, names and
// entries without logs. Whole statements over the tables, which may take long.
#include "base/ids.h"
#include "store/log_check.h"
#include "store/postgres_store.h"

namespace palimpsest {
namespace {

constexpr std::chrono::milliseconds long_timeout = std::chrono::minutes(10);

// $1 the tenant, or none for all.
const PgStatement lost_heads{
    "",
    "SELECT l.id, l.log, (SELECT count(*) FROM pal_entry e WHERE e.log = l.log) FROM pal_log l "
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
const PgStatement counting_records{
    "", "SELECT count(*) FROM pal_record WHERE $1::text IS NULL OR tenant = $1"};
const PgStatement all_tenants{"", "SELECT DISTINCT tenant FROM pal_log ORDER BY tenant"};
const PgStatement all_spaces{
    "", "SELECT DISTINCT tenant, space FROM pal_record ORDER BY tenant, space"};

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

Result<void> PostgresStore::check_heads(const std::optional<std::string>& tenant,
                                        CheckReport& report) {
    PAL_TRY(found, ask_long(about(lost_heads, tenant)));
    for (std::size_t row = 0; row < found.rows(); ++row)
        report.findings.push_back(
            {"damaged", name_or_uid(found, row),
             "its row of pal_head is missing: nobody can say where it ends; " +
                 entries_left(found, row, 2)});
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
        report.findings.push_back(
            {"orphan", name_or_uid(names, row),
             "its row of pal_log is missing, its header is lost; " + entries_left(names, row, 2)});
    PAL_TRY(records, ask_long(about(counting_records, tenant)));
    report.records += records.number(0, 0);
    return {};
}

Result<CheckReport> PostgresStore::check_tables(std::span<const std::string> tenants, bool repair) {
    std::vector<std::optional<std::string>> wanted(tenants.begin(), tenants.end());
    if (wanted.empty()) wanted.emplace_back(std::nullopt);
    CheckReport found;
    for (const std::optional<std::string>& tenant : wanted) {
        PAL_CHECK(check_heads(tenant, found));
        PAL_CHECK(check_names(tenant, repair, found));
        PAL_CHECK(check_orphans(tenant, found));
    }
    PAL_TRY(lost, ask_long(PgCall{orphans}));
    for (std::size_t row = 0; row < lost.rows(); ++row)
        found.findings.push_back(
            {"orphan", hex(lost.uid(row, 0)),
             std::to_string(lost.number(row, 1)) + " entries are there of a log that is not"});
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
