#include "store/lineage.h"

#include <algorithm>
#include <iterator>

#include "base/ids.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

// The part of the lineage that one log answers for.
struct Segment {
    LogId log = {};
    Range owned = {};
};

std::vector<Range> cut(const std::vector<Range>& ranges, const Range& owned) {
    std::vector<Range> inside;
    for (const Range& range : ranges) {
        const Range part{std::max(range.from, owned.from), std::min(range.to, owned.to)};
        if (!part.empty()) inside.push_back(part);
    }
    return inside;
}

Result<Header> parent_of(Store& store, const Header& header) {
    if (!header.parent)
        return fail(ErrorCode::internal, "a log that has a base has no parent; run `pal doctor`");
    auto found = store.head(*header.parent);
    // It is kept for as long as the fork is there: without it the fork is damaged, not absent.
    if (!found && found.error().code == ErrorCode::not_found) {
        PAL_CHECK(store.head(header.log));
        found = store.head(*header.parent);
        if (!found && found.error().code == ErrorCode::not_found)
            return fail(ErrorCode::internal,
                        "log " + hex(header.log) + " is damaged: log " + hex(*header.parent) +
                            ", which it was forked from, is missing; run `pal doctor` to see what "
                            "is whole");
    }
    PAL_TRY(parent, std::move(found));
    if (parent.base >= header.base)
        return fail(ErrorCode::internal, "a fork begins below its parent; run `pal doctor`");
    return std::move(parent);
}

// One read for each log that owns some of what is asked for.
class ChainReader {
public:
    ChainReader(Store& store, const ReadQuery& query) : store_(store), query_(query) {
        std::erase_if(query_.ranges, [](const Range& range) { return range.empty(); });
        if (query.ranges.empty()) query_.ranges.push_back({Seq{1}, seq_max});
    }

    Result<std::vector<Entry>> read(const Header& header) {
        if (query_.ranges.empty()) return std::move(found_);
        std::vector<Segment>
            later;  // newest log first; reading oldest first begins at the other end
        Header at = header;
        Seq upto = header.end;
        while (true) {
            const Segment segment{at.log, {at.base + 1, upto}};
            if (query_.newest_first)
                PAL_CHECK(read_segment(segment));
            else
                later.push_back(segment);
            const bool done = query_.newest_first && found_.size() >= query_.limit;
            if (done || at.base == Seq{} || query_.ranges.front().from > at.base) break;
            upto = at.base;
            PAL_TRY(parent, parent_of(store_, at));
            at = std::move(parent);
        }
        for (; !later.empty(); later.pop_back()) PAL_CHECK(read_segment(later.back()));
        return std::move(found_);
    }

private:
    Result<void> read_segment(const Segment& segment) {
        if (found_.size() >= query_.limit) return {};
        ReadQuery part = query_;
        part.ranges = cut(query_.ranges, segment.owned);
        part.limit = query_.limit - found_.size();
        if (part.ranges.empty()) return {};
        PAL_TRY(entries, store_.read(segment.log, part));
        if (found_.empty())
            found_ = std::move(entries);
        else
            std::ranges::move(entries, std::back_inserter(found_));
        return {};
    }

    Store& store_;
    ReadQuery query_;
    std::vector<Entry> found_ = {};
};

}  // namespace

Result<std::vector<Entry>> read_lineage(Store& store, const Header& header,
                                        const ReadQuery& query) {
    PAL_CHECK(check_read(query));
    return ChainReader(store, query).read(header);
}

Result<Entry> read_entry(Store& store, const Header& header, Seq seq) {
    PAL_TRY(entries, read_lineage(store, header, {.ranges = {{seq, seq}}}));
    if (entries.empty())
        return fail(ErrorCode::not_found,
                    "\"" + header.name.id + "\" has no entry " + std::to_string(seq.value));
    return std::move(entries.front());
}

Result<std::optional<Entry>> newest_entry(Store& store, const Header& header, Kinds kinds, Seq at,
                                          bool content) {
    PAL_TRY(entries, read_lineage(store, header,
                                  {.ranges = {{Seq{1}, at}},
                                   .kinds = kinds,
                                   .limit = 1,
                                   .newest_first = true,
                                   .content = content}));
    if (entries.empty()) return std::nullopt;
    return std::optional(std::move(entries.front()));
}

Result<Header> owner_of(Store& store, const Header& header, Seq seq) {
    Header owner = header;
    while (seq <= owner.base && owner.base > Seq{}) {
        PAL_TRY(parent, parent_of(store, owner));
        owner = std::move(parent);
    }
    return owner;
}

Result<ForkPoint> fork_point(Store& store, const Header& header, Seq at) {
    if (at > header.end)
        return fail(ErrorCode::invalid_request,
                    "\"" + header.name.id + "\" ends at " + std::to_string(header.end.value) +
                        ": it cannot be forked at " + std::to_string(at.value),
                    "at");
    PAL_TRY(owner, owner_of(store, header, at));
    ForkPoint point{.parent = owner.log,
                    .at = at,
                    .basis = header.basis,
                    .messages = header.messages,
                    .epoch = owner.epoch};
    if (at == header.end) return point;
    if (header.basis > at) {
        PAL_TRY(basis, newest_entry(store, header, basis_kinds, at, false));
        point.basis = basis ? basis->seq : Seq{};
    }
    point.messages = 0;
    if (at == Seq{}) return point;
    PAL_TRY(entries, read_lineage(store, header, {.ranges = {{at, at}}, .content = false}));
    if (entries.empty())
        return fail(ErrorCode::internal,
                    "entry " + std::to_string(at.value) + " is missing; run `pal doctor`");
    point.messages = entries.front().ordinal;
    return point;
}

}  // namespace palimpsest
