#include "store/sqlite_check.h"

#include <map>
#include <set>

#include "base/ids.h"
#include "store/sqlite_logs.h"
#include "store/sqlite_records.h"
#include "store/sqlite_scan.h"

namespace palimpsest {
namespace {

// Entries are read a few at a time: a conversation may be larger than memory.
constexpr std::uint64_t entries_at_once = 256;
constexpr int faults_listed = 100;
constexpr std::size_t faults_told = 3;
// How many numbers of logs are tried one by one when their list cannot be read to its end.
constexpr std::int64_t numbers_tried = 1'000'000;

// What SQLite says about its pages: many lines of which the first few tell enough.
class PageFaults {
public:
    void add(std::string_view row) {
        while (!row.empty()) {
            const std::size_t end = std::min(row.find('\n'), row.size());
            add_line(row.substr(0, end));
            row.remove_prefix(std::min(end + 1, row.size()));
        }
    }
    std::size_t count() const { return count_; }
    std::string told() const {
        const bool all = count_ >= static_cast<std::size_t>(faults_listed);
        return (all ? "at least " : "") + std::to_string(count_) +
               (count_ == 1 ? " place of its pages is" : " places of its pages are") +
               " wrong: " + first_ + (count_ > faults_told ? "; ..." : "");
    }

private:
    void add_line(std::string_view line) {
        if (line.empty() || line.starts_with("*** in database")) return;
        if (++count_ > faults_told) return;
        first_ += (first_.empty() ? "" : "; ") + std::string(line);
    }

    std::size_t count_ = 0;
    std::string first_ = {};
};

class Check {
public:
    Check(SqliteDatabase& db, const std::string& path, NameWhole name_whole)
        : db_(db), path_(path), name_whole_(name_whole) {}

    CheckReport run() {
        note_failure("unreadable", path_, look_at_pages());
        note_failure("unreadable", path_, look_at_logs());
        look_past_indexes();
        note_failure("unreadable", path_, look_for_orphans());
        note_failure("unreadable", path_, look_at_labels());
        note_failure("unreadable", path_, look_at_counter());
        const auto damaged = [&](const RecordKey& key) {
            note("unreadable", key.tenant + "/" + key.space + "/" + key.key,
                 "the checksum of a record does not match");
        };
        const Result<std::uint64_t> records = check_records(db_, damaged);
        if (records)
            report_.records = *records;
        else
            note("unreadable", path_, records.error().message);
        if (name_whole_ == NameWhole::always || !report_.findings.empty()) note_readable();
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
        PageFaults faults;
        Result<bool> row = query.step();
        for (; row && *row; row = query.step())
            if (query.bytes_at(0) != "ok") faults.add(query.bytes_at(0));
        if (faults.count() > 0) note("damaged", path_, faults.told());
        if (!row) return std::unexpected(std::move(row).error());
        return {};
    }

    // The numbers first: a row that cannot be read must not hide those after it.
    Result<void> look_at_logs() {
        std::vector<std::int64_t> numbers;
        const Result<void> listed = list_numbers(numbers);
        if (!listed) try_numbers(numbers);
        for (const std::int64_t number : numbers) {
            ++report_.logs;
            note_failure("unreadable", "log number " + std::to_string(number), look_at_log(number));
        }
        return listed;
    }

    Result<void> list_numbers(std::vector<std::int64_t>& numbers) {
        SqliteQuery query = db_.query("SELECT log FROM log ORDER BY log");
        for (;;) {
            PAL_TRY(row, query.step());
            if (!row) return {};
            numbers.push_back(query.integer_at(0));
        }
    }

    // Those after the place where the list broke off.
    void try_numbers(std::vector<std::int64_t>& numbers) {
        const auto last = db_.integer("SELECT seq FROM sqlite_sequence WHERE name = 'log'");
        if (!last) return;
        const std::int64_t first = numbers.empty() ? 1 : numbers.back() + 1;
        const std::int64_t end = std::min(*last, first + numbers_tried - 1);
        std::uint64_t lost = 0;
        for (std::int64_t number = first; number <= end; ++number) {
            SqliteQuery query = db_.query("SELECT log FROM log WHERE log = ?");
            query.integer(number);
            const Result<bool> row = query.step();
            if (row && *row) numbers.push_back(number);
            if (!row) ++lost;
        }
        if (lost > 0)
            note("unreadable", path_,
                 "up to " + std::to_string(lost) +
                     " conversations cannot be read, nor their names: their headers are lost");
    }

    // What the indexes do not lead to may be there all the same.
    void look_past_indexes() {
        if (unread_.empty()) return;
        const auto counts = scan_entries(db_, unread_);
        for (const LogRow& row : unread_) {
            const auto found = counts.find(row.log);
            const std::uint64_t there = found == counts.end() ? 0 : found->second;
            report_.entries += there;
            const std::uint64_t owned = row.header.end.value - row.header.base.value;
            const std::string count = std::to_string(there) + " of its " + std::to_string(owned);
            if (there == owned)
                note("recoverable", where_is(row),
                     "all its " + std::to_string(owned) +
                         " entries are there; only an index that leads to them is damaged");
            else
                note("damaged", where_is(row), count + " entries are there");
        }
    }

    // A conversation is whole when everything that it was forked from is.
    void note_readable() {
        for (const LogRow& row : named_) {
            const LogRow* log = &row;
            while (log && !damaged_.contains(log->header.log) && log->header.parent) {
                const auto parent = logs_.find(*log->header.parent);
                log = parent == logs_.end() ? nullptr : &parent->second;
            }
            if (log && !damaged_.contains(log->header.log))
                note("readable", where_is(row), "this conversation is whole");
            else if (!damaged_.contains(row.header.log))
                note("damaged", where_is(row), "what it was forked from is damaged");
        }
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
        const Result<void> entries = look_at_entries(row);
        note_failure("unreadable", where_is(row), entries);
        if (!entries && row.header.end > row.header.base) unread_.push_back(row);
        if (report_.findings.size() != before) damaged_.insert(row.header.log);
        if (row.named()) {
            PAL_TRY(missing, missing_labels(db_, row));
            if (missing > 0) unlabelled_.emplace_back(where_is(row), missing);
        }
        // Only what note_readable() needs: headers can be large.
        LogRow brief{.log = row.log};
        brief.header.name = row.header.name;
        brief.header.log = row.header.log;
        brief.header.parent = row.header.parent;
        if (row.named()) named_.push_back(brief);
        logs_.emplace(row.header.log, std::move(brief));
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
        std::uint64_t read = 0;
        while (seq <= header.end) {
            const Range range{seq, std::min(header.end, seq + (entries_at_once - 1))};
            PAL_TRY(entries, read_entries(db_, row, {.ranges = {range}}));
            for (const Entry& entry : entries) {
                if (basis_kinds.has(kind_of(entry.body))) basis = entry.seq;
                messages = entry.ordinal;
            }
            read += entries.size();
            seq = range.to + 1;
        }
        if (messages != header.messages)
            note("count", where_is(row),
                 "the header counts " + std::to_string(header.messages) +
                     " messages, the log has " + std::to_string(messages));
        if (basis > header.basis || (header.basis > header.base && basis != header.basis))
            note("count", where_is(row), "the header names another newest basis than the log has");
        PAL_CHECK(count_entries(row));
        report_.entries += read;  // Else look_past_indexes() counts them.
        return {};
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

    Result<void> look_for_lost_logs() {
        PAL_TRY(lost, lost_logs(db_));
        for (const LogRow& row : lost)
            note("orphan", where_is(row),
                 "its row of the table `log` is lost, and with it its id; `--repair` brings it "
                 "back under its uid, to be read, copied or erased");
        return {};
    }

    Result<void> look_at_labels() {
        for (const auto& [where, missing] : unlabelled_)
            note("label", where,
                 "filters do not find it by " + std::to_string(missing) +
                     " of the fields of its metadata; `--repair` mends that");
        PAL_TRY(wrong, count_wrong_labels(db_));
        if (wrong > 0)
            note(
                "label", path_,
                std::to_string(wrong) + " labels say what no metadata says; `--repair` mends that");
        return {};
    }

    Result<void> look_at_counter() {
        PAL_TRY(right, counter_is_right(db_));
        if (!right)
            note("count", path_,
                 "the counter of versions is missing or behind; `--repair` sets it anew");
        return {};
    }

    Result<void> look_for_orphans() {
        struct Orphans {
            const char* sql;
            const char* what;
        };
        constexpr Orphans all[] = {
            {"SELECT count(*) FROM entry WHERE log NOT IN (SELECT log FROM log) AND log NOT IN "
             "(SELECT log FROM head)",
             "entries belong to no log, and nothing tells whose they are: a copy of the store "
             "(`pal copy`) leaves them out; then remove this one"},
            {"SELECT count(*) FROM once WHERE log NOT IN (SELECT log FROM log)",
             "keys belong to no log"},
        };
        PAL_CHECK(look_for_lost_logs());
        for (const Orphans& orphans : all) {
            PAL_TRY(count, db_.integer(orphans.sql));
            if (count > 0) note("orphan", path_, std::to_string(count) + " " + orphans.what);
        }
        PAL_TRY(unused, count_unused_bodies(db_));
        if (unused > 0)
            note("unused", path_,
                 std::to_string(unused) + " large payloads are there that no entry uses");
        return {};
    }

    SqliteDatabase& db_;
    const std::string& path_;
    NameWhole name_whole_;
    CheckReport report_ = {};
    std::vector<LogRow> named_ = {};
    std::map<LogId, LogRow> logs_ = {};
    std::set<LogId> damaged_ = {};
    std::vector<std::pair<std::string, std::uint64_t>> unlabelled_ = {};
    std::vector<LogRow> unread_ = {};  // their entries could not be read the usual way
};

}  // namespace

Result<CheckReport> check_sqlite(SqliteDatabase& db, const std::string& path,
                                 NameWhole name_whole) {
    return Check(db, path, name_whole).run();
}

}  // namespace palimpsest
