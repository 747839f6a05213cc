#include "store/sqlite_scan.h"

#include <set>

namespace palimpsest {
namespace {

// How far the scan looks behind a place that cannot be read.
constexpr std::int64_t rows_skipped_max = 1000;

class Scan {
public:
    Scan(SqliteDatabase& db, const std::vector<LogRow>& logs) : db_(db) {
        for (const LogRow& row : logs) logs_.emplace(row.log, &row);
    }

    std::map<std::int64_t, std::uint64_t> run() {
        std::int64_t skipped = 0;
        while (skipped < rows_skipped_max) {
            const std::int64_t before = next_;
            if (read_on()) break;
            skipped = next_ > before ? 0 : skipped + 1;
            ++next_;
        }
        std::map<std::int64_t, std::uint64_t> counts;
        for (const auto& [log, seqs] : good_) counts[log] = seqs.size();
        return counts;
    }

private:
    // Up to the end: true; or up to what cannot be read.
    bool read_on() {
        static const std::string sql = "SELECT " + std::string(entry_columns) +
                                       ", log, id FROM entry NOT INDEXED WHERE id >= ? ORDER BY id";
        SqliteQuery query = db_.query(sql);
        query.integer(next_);
        for (;;) {
            const Result<bool> row = query.step();
            if (!row) return false;
            if (!*row) return true;
            next_ = query.integer_at(9) + 1;
            const auto log = logs_.find(query.integer_at(8));
            if (log == logs_.end()) continue;
            const Result<Entry> entry = read_entry_row(query, *log->second, true);
            const Header& header = log->second->header;
            if (entry && entry->seq > header.base && entry->seq <= header.end)
                good_[log->first].insert(entry->seq);
        }
    }

    SqliteDatabase& db_;
    std::map<std::int64_t, const LogRow*> logs_ = {};
    std::map<std::int64_t, std::set<Seq>> good_ = {};
    std::int64_t next_ = 1;
};

}  // namespace

std::map<std::int64_t, std::uint64_t> scan_entries(SqliteDatabase& db,
                                                   const std::vector<LogRow>& logs) {
    return Scan(db, logs).run();
}

}  // namespace palimpsest
