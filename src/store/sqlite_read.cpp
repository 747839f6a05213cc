// Entries of one log, in the order and the kinds that are wanted. Messages are found by their seq;
// when none is wanted, the index of the other kinds is asked and nothing else is touched.
#include <algorithm>

#include "store/entry_guard.h"
#include "store/rules.h"
#include "store/sqlite_logs.h"

namespace palimpsest {
namespace {

// One read on its way: the ranges are visited in order, all into `found`.
struct Reading {
    SqliteDatabase& db;
    const LogRow& log;
    const ReadQuery& query;
    std::vector<Entry> found = {};
    std::size_t left() const { return query.limit - found.size(); }
    std::int64_t sql_limit() const {
        return static_cast<std::int64_t>(std::min<std::size_t>(left(), INT64_MAX));
    }
};

const std::string& scan_sql(bool content, bool newest_first) {
    const auto make = [](const char* columns, const char* order) {
        return "SELECT " + std::string(columns) +
               " FROM entry INDEXED BY entry_seq WHERE log = ? AND seq BETWEEN ? AND ?"
               " AND ((1 << kind) & ?) ORDER BY seq " +
               order + " LIMIT ?";
    };
    static const std::string variants[] = {make(entry_columns_without_payload, "ASC"),
                                           make(entry_columns_without_payload, "DESC"),
                                           make(entry_columns, "ASC"), make(entry_columns, "DESC")};
    return variants[(content ? 2 : 0) + (newest_first ? 1 : 0)];
}

Result<void> scan(Reading& reading, Range range) {
    SqliteQuery query =
        reading.db.query(scan_sql(reading.query.content, reading.query.newest_first));
    query.integer(reading.log.log).number(range.from.value).number(range.to.value);
    query.integer(reading.query.kinds.bits).integer(reading.sql_limit());
    for (;;) {
        PAL_TRY(row, query.step());
        if (!row) return {};
        PAL_TRY(entry, read_entry_row(query, reading.log, reading.query.content));
        reading.found.push_back(std::move(entry));
    }
}

Result<void> find_marks(Reading& reading, Range range, EntryKind kind, std::vector<Seq>& seqs) {
    const char* sql = reading.query.newest_first
                          ? "SELECT seq FROM entry INDEXED BY entry_kind WHERE log = ? AND kind = ?"
                            " AND kind > 0 AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?"
                          : "SELECT seq FROM entry INDEXED BY entry_kind WHERE log = ? AND kind = ?"
                            " AND kind > 0 AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?";
    SqliteQuery query = reading.db.query(sql);
    query.integer(reading.log.log).integer(static_cast<std::int64_t>(kind));
    query.number(range.from.value).number(range.to.value).integer(reading.sql_limit());
    for (;;) {
        PAL_TRY(row, query.step());
        if (!row) return {};
        seqs.push_back(Seq{query.number_at(0)});
    }
}

// Each kind gives as many as could be wanted; the best of all of them are read.
Result<void> pick(Reading& reading, Range range) {
    std::vector<Seq> seqs;
    for (std::size_t kind = 1; kind < entry_kind_count; ++kind)
        if (reading.query.kinds.has(static_cast<EntryKind>(kind)))
            PAL_CHECK(find_marks(reading, range, static_cast<EntryKind>(kind), seqs));
    std::ranges::sort(seqs);
    if (reading.query.newest_first) std::ranges::reverse(seqs);
    if (seqs.size() > reading.left()) seqs.resize(reading.left());
    for (const Seq seq : seqs) {
        const std::size_t before = reading.found.size();
        PAL_CHECK(scan(reading, {seq, seq}));
        if (reading.found.size() != before + 1)
            return fail(ErrorCode::internal, "entry " + std::to_string(seq.value) + " of " +
                                                 where_is(reading.log) +
                                                 " is missing: the file is damaged");
    }
    return {};
}

}  // namespace

Result<std::vector<Entry>> read_entries(SqliteDatabase& db, const LogRow& log,
                                        const ReadQuery& query) {
    std::vector<Range> ranges = query.ranges;
    if (ranges.empty()) ranges.push_back({Seq{1}, seq_max});
    if (query.newest_first) std::ranges::reverse(ranges);
    Reading reading{db, log, query};
    for (const Range& range : ranges) {
        const Range own{std::max(range.from, log.header.base + 1),
                        std::min(range.to, log.header.end)};
        if (own.empty() || reading.left() == 0) continue;
        PAL_CHECK(query.kinds.has(EntryKind::message) ? scan(reading, own) : pick(reading, own));
    }
    PAL_CHECK(check_no_gap(log.header, query, reading.found));
    return std::move(reading.found);
}

}  // namespace palimpsest
