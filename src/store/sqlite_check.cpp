#include "store/sqlite_check.h"

#include "base/ids.h"
#include "store/sqlite_logs.h"
#include "store/sqlite_records.h"

namespace palimpsest {
namespace {

// Entries are read a few at a time: a conversation may be larger than memory.
constexpr std::uint64_t entries_at_once = 256;
constexpr int faults_listed = 100;

class Check {
public:
    Check(SqliteDatabase& db, const std::string& path) : db_(db), path_(path) {}

    CheckReport run() {
        note_failure("unreadable", path_, look_at_pages());
        note_failure("unreadable", path_, look_at_logs());
        note_failure("unreadable", path_, look_for_orphans());
        const auto damaged = [&](const RecordKey& key) {
            note("unreadable", key.tenant + "/" + key.space + "/" + key.key,
                 "the checksum of a record does not match");
        };
        const Result<std::uint64_t> records = check_records(db_, damaged);
        if (records)
            report_.records = *records;
        else
            note("unreadable", path_, records.error().message);
        if (!report_.findings.empty())
            for (const std::string& name : readable_)
                note("readable", name, "this conversation is whole");
        return std::move(report_);
    }

private:
    void note(std::string what, std::string where, std::string message) {
        report_.findings.push_back({std::move(what), std::move(where), std::move(message)});
    }
    template <class T>
    void note_failure(std::string_view what, const std::string& where, const Result<T>& result) {
        if (!result) note(std::string(what), where, result.error().message);
    }

    Result<void> look_at_pages() {
        const std::string sql = "PRAGMA integrity_check(" + std::to_string(faults_listed) + ")";
        SqliteQuery query = db_.query(sql);
        for (;;) {
            PAL_TRY(row, query.step());
            if (!row) return {};
            if (query.bytes_at(0) != "ok") note("damaged", path_, std::string(query.bytes_at(0)));
        }
    }

    // The numbers first: a row that cannot be read must not hide those after it.
    Result<void> look_at_logs() {
        std::vector<std::int64_t> numbers;
        {
            SqliteQuery query = db_.query("SELECT log FROM log ORDER BY log");
            for (;;) {
                PAL_TRY(row, query.step());
                if (!row) break;
                numbers.push_back(query.integer_at(0));
            }
        }
        for (const std::int64_t number : numbers) {
            ++report_.logs;
            note_failure("unreadable", "log number " + std::to_string(number), look_at_log(number));
        }
        return {};
    }

    Result<void> look_at_log(std::int64_t number) {
        static const std::string sql = "SELECT " + std::string(log_columns) +
                                       " FROM log l LEFT JOIN head h ON h.log = l.log "
                                       "WHERE l.log = ?";
        LogRow row;
        {
            SqliteQuery query = db_.query(sql);
            query.integer(number);
            PAL_TRY(found, query.step());
            if (!found) return fail(ErrorCode::internal, "the row of a log vanished");
            PAL_TRY(read, read_log_row(query));
            row = std::move(read);
        }
        const std::size_t before = report_.findings.size();
        note_failure("unreadable", where_is(row), look_at_place(row));
        note_failure("unreadable", where_is(row), look_at_entries(row));
        if (row.named() && report_.findings.size() == before) readable_.push_back(where_is(row));
        return {};
    }

    Result<void> look_at_place(const LogRow& row) {
        PAL_TRY(fork, largest_fork(db_, row.header.log));
        if (!row.named() && !fork)
            note("orphan", where_is(row), "a nameless log has no forks that need it");
        if (!row.named() && fork && *fork != row.header.end)
            note("orphan", where_is(row), "a nameless log goes on above its largest fork point");
        if (fork && *fork > row.header.end)
            note("gap", where_is(row), "a fork begins above the end of this log");
        if (!row.header.parent) return {};
        PAL_TRY(parent, find_log(db_, *row.header.parent));
        if (!parent) note("orphan", where_is(row), "the log that it was forked from is missing");
        return {};
    }

    Result<void> look_at_entries(const LogRow& row) {
        const Header& header = row.header;
        Seq seq = header.base + 1;
        std::uint64_t messages = header.messages;
        Seq basis{};
        while (seq <= header.end) {
            const Range range{seq, std::min(header.end, seq + (entries_at_once - 1))};
            PAL_TRY(entries, read_entries(db_, row, {.ranges = {range}}));
            for (const Entry& entry : entries) {
                if (basis_kinds.has(kind_of(entry.body))) basis = entry.seq;
                messages = entry.ordinal;
            }
            report_.entries += entries.size();
            seq = range.to + 1;
        }
        if (messages != header.messages)
            note("count", where_is(row),
                 "the header counts " + std::to_string(header.messages) +
                     " messages, the log has " + std::to_string(messages));
        if (basis > header.basis || (header.basis > header.base && basis != header.basis))
            note("count", where_is(row), "the header names another newest basis than the log has");
        return count_entries(row);
    }

    Result<void> count_entries(const LogRow& row) {
        SqliteQuery query =
            db_.query("SELECT count(*) FROM entry INDEXED BY entry_seq WHERE log = ?");
        query.integer(row.log);
        PAL_TRY(found, query.step());
        const std::uint64_t owned = row.header.end.value - row.header.base.value;
        if (found && query.number_at(0) != owned)
            note("gap", where_is(row),
                 "the log should own " + std::to_string(owned) + " entries and has " +
                     std::to_string(query.number_at(0)));
        return {};
    }

    Result<void> look_for_orphans() {
        struct Orphans {
            const char* sql;
            const char* what;
        };
        constexpr Orphans all[] = {
            {"SELECT count(*) FROM entry WHERE log NOT IN (SELECT log FROM log)", "entries"},
            {"SELECT count(*) FROM head WHERE log NOT IN (SELECT log FROM log)", "heads"},
            {"SELECT count(*) FROM once WHERE log NOT IN (SELECT log FROM log)", "keys"},
            {"SELECT count(*) FROM label WHERE log NOT IN "
             "(SELECT log FROM log WHERE name IS NOT NULL)",
             "labels"},
        };
        for (const Orphans& orphans : all) {
            PAL_TRY(count, db_.integer(orphans.sql));
            if (count > 0)
                note("orphan", path_,
                     std::to_string(count) + " " + orphans.what + " belong to no log");
        }
        return {};
    }

    SqliteDatabase& db_;
    const std::string& path_;
    CheckReport report_ = {};
    std::vector<std::string> readable_ = {};
};

}  // namespace

Result<CheckReport> check_sqlite(SqliteDatabase& db, const std::string& path) {
    return Check(db, path).run();
}

}  // namespace palimpsest
