#include "store/sqlite_scan.h"

#include <set>

namespace palimpsest {
namespace {

// How far the scan looks behind a place that cannot be read: a lost page deep in the tree hides
// many thousands of rows.
constexpr std::int64_t rows_skipped_max = std::int64_t{1} << 40;

class Scan {
public:
    Scan(SqliteDatabase& db, const std::vector<LogRow>& logs) : db_(db) {
        for (const LogRow& row : logs) logs_.emplace(row.log, &row);
    }

    std::map<std::int64_t, std::uint64_t> run() {
        while (!read_on() && skip_damage()) {
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
            // On a damaged page rows may come in any order: never go back.
            if (query.integer_at(9) < next_) return false;
            next_ = query.integer_at(9) + 1;
            const auto log = logs_.find(query.integer_at(8));
            if (log == logs_.end()) continue;
            const Result<Entry> entry = read_entry_row(query, *log->second, true);
            const Header& header = log->second->header;
            if (entry && entry->seq > header.base && entry->seq <= header.end)
                good_[log->first].insert(entry->seq);
        }
    }

    // Goes to the next row that can be read, in steps that double and are then halved back: a
    // damaged page hides rows that follow each other.
    bool skip_damage() {
        std::int64_t bad = next_, step = 1;
        while (step < rows_skipped_max && !readable_from(next_ + step)) {
            bad = next_ + step;
            step *= 2;
        }
        if (step >= rows_skipped_max) return false;
        std::int64_t good = next_ + step;
        while (good - bad > 1) {
            const std::int64_t middle = bad + (good - bad) / 2;
            (readable_from(middle) ? good : bad) = middle;
        }
        next_ = good;
        return true;
    }
    bool readable_from(std::int64_t id) {
        SqliteQuery query = db_.query("SELECT id FROM entry NOT INDEXED WHERE id >= ? ORDER BY id");
        query.integer(id);
        const Result<bool> row = query.step();
        return row && (!*row || query.integer_at(0) >= id);
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
