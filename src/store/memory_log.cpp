#include "store/memory_log.h"

#include <algorithm>

#include "core/metadata.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

Entry make_entry(const Draft& draft, Seq seq, std::uint64_t ordinal, Time now) {
    return {.seq = seq, .at = draft.at.value_or(now), .ordinal = ordinal, .body = draft.body};
}

void forget_old_keys(MemoryLog& log, Time now) {
    while (!log.once_by_age.empty() && log.once_by_age.front().first + key_lifetime < now) {
        log.once.erase(log.once_by_age.front().second);
        log.once_by_age.pop_front();
    }
}

// Collects entries in the order that the query wants, until the limit is reached.
class Collector {
public:
    Collector(const MemoryLog& log, const ReadQuery& query) : log_(log), query_(query) {}
    bool full() const { return found_.size() >= query_.limit; }
    void add(std::size_t index) {
        const Entry& entry = log_.entries[index];
        if (full() || !query_.kinds.has(kind_of(entry.body))) return;
        found_.push_back(entry);
        if (!query_.content) remove_content(found_.back().body);
    }
    std::vector<Entry> take() { return std::move(found_); }

private:
    const MemoryLog& log_;
    const ReadQuery& query_;
    std::vector<Entry> found_ = {};
};

// Indexes [from, to) of the entries; when no message is wanted only the marks are looked at.
void collect(const MemoryLog& log, const ReadQuery& query, std::size_t from, std::size_t to,
             Collector& out) {
    if (query.kinds.has(EntryKind::message)) {
        for (std::size_t i = from; i < to && !out.full(); ++i)
            out.add(query.newest_first ? to - 1 - (i - from) : i);
        return;
    }
    const auto first = std::ranges::lower_bound(log.marks, from);
    const auto last = std::ranges::lower_bound(log.marks, to);
    const auto count = last - first;
    for (std::ptrdiff_t i = 0; i < count && !out.full(); ++i)
        out.add(query.newest_first ? *(last - 1 - i) : *(first + i));
}

std::uint64_t trim(MemoryLog& log, Seq to) {
    std::uint64_t removed = 0;
    for (; !log.entries.empty() && log.entries.back().seq > to; ++removed) {
        if (!log.marks.empty() && log.marks.back() + 1 == log.entries.size()) log.marks.pop_back();
        log.entries.pop_back();
    }
    log.header.end = std::min(log.header.end, to);
    log.header.messages = log.entries.empty() ? log.base_messages : log.entries.back().ordinal;
    log.header.basis = log.base_basis;
    for (const std::size_t mark : log.marks)
        if (basis_kinds.has(kind_of(log.entries[mark].body)))
            log.header.basis = log.entries[mark].seq;
    return removed;
}

// What people wrote into the header goes with the name.
void forget_header(MemoryLog& log) {
    const Header old = std::move(log.header);
    log.header = Header{.name = {old.name.tenant, ""},
                        .log = old.log,
                        .parent = old.parent,
                        .base = old.base,
                        .end = old.end,
                        .basis = old.basis,
                        .messages = old.messages,
                        .revision = old.revision,
                        .epoch = old.epoch,
                        .created = old.created,
                        .updated = old.updated,
                        .accessed = old.accessed};
    log.labels.clear();
    log.once.clear();
    log.once_by_age.clear();
}

}  // namespace

Result<Appended> write_batch(MemoryLog& log, const Batch& batch, Time now) {
    Header next = log.header;
    PAL_CHECK(apply_batch(next, batch, now));
    const Seq first = log.header.end + 1;
    std::uint64_t ordinal = log.header.messages;
    Seq seq = log.header.end;
    for (const Draft& draft : batch.entries) {
        const bool message = kind_of(draft.body) == EntryKind::message;
        if (message) ++ordinal;
        if (!message) log.marks.push_back(log.entries.size());
        seq = seq + 1;
        log.entries.push_back(make_entry(draft, seq, ordinal, now));
    }
    if (batch.patch.metadata_merge) log.labels = labels_of(next.metadata);
    if (!batch.key.empty()) {
        log.once[batch.key] = {batch.digest, first, next.end, now};
        log.once_by_age.emplace_back(now, batch.key);
    }
    log.header = std::move(next);
    return Appended{.first = first, .last = log.header.end, .header = log.header};
}

Result<std::optional<Appended>> seen_before(MemoryLog& log, const Batch& batch, Time now) {
    forget_old_keys(log, now);
    if (batch.key.empty()) return std::nullopt;
    const auto found = log.once.find(batch.key);
    if (found == log.once.end()) return std::nullopt;
    if (found->second.digest != batch.digest)
        return fail(ErrorCode::unprocessable,
                    "the idempotency key was used for another request; use a new one", "key");
    return Appended{.first = found->second.first,
                    .last = found->second.last,
                    .header = log.header,
                    .again = true};
}

std::vector<Entry> read_entries(const MemoryLog& log, const ReadQuery& query) {
    std::vector<Range> ranges = query.ranges;
    if (ranges.empty()) ranges.push_back({Seq{1}, seq_max});
    if (query.newest_first) std::ranges::reverse(ranges);
    Collector out(log, query);
    const Seq base = log.header.base;
    for (const Range& range : ranges) {
        const Seq from = std::max(range.from, base + 1);
        const Seq to = std::min(range.to, base + log.entries.size());
        if (to < from) continue;
        collect(log, query, from.value - base.value - 1, to.value - base.value, out);
    }
    return out.take();
}

Receipt detach(MemoryLog& log, std::vector<LogId>& gone) {
    Receipt receipt;
    for (MemoryLog* fork : descendants(log))
        if (fork != &log && fork->named()) receipt.kept_for.push_back(fork->header.name.id);
    std::ranges::sort(receipt.kept_for);
    forget_header(log);
    MemoryLog* at = &log;
    while (at && !at->named() && at->forks.empty()) {
        receipt.entries += at->entries.size();
        ++receipt.logs;
        at->gone = true;
        gone.push_back(at->header.log);
        MemoryLog* parent = at->parent;
        if (parent) parent->forks.erase({at->header.base, at});
        at = parent;
    }
    if (at && !at->named()) receipt.entries += trim(*at, at->forks.rbegin()->first);
    return receipt;
}

std::vector<MemoryLog*> descendants(MemoryLog& log) {
    std::vector<MemoryLog*> found{&log};
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const auto& [at, fork] : found[i]->forks) found.push_back(fork);
    return found;
}

}  // namespace palimpsest
