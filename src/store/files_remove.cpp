// What goes: expiry, erasure, scrubbing, sweeping in the files store. All of it is done alone.
#include <algorithm>

#include "base/ids.h"
#include "store/files_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

// The state of a log that keeps its entries up to `to`.
LogState trimmed_to(const LogState& state, const LogPlaces& places, Seq to) {
    LogState left = state;
    Header& header = left.header;
    if (header.end <= to) return left;
    header.end = to;
    header.messages = left.base_messages;
    header.basis = left.base_basis;
    const std::size_t count = to.value - header.base.value;
    if (count > 0) header.messages = places.entries[count - 1].ordinal;
    for (const std::size_t mark : places.marks)
        if (mark < count && basis_kinds.has(places.entries[mark].kind))
            header.basis = header.base + mark + 1;
    return left;
}

}  // namespace

// Logs whose expiry decides how much of this one, and of the nameless ones above it, is needed.
std::vector<LogId> FilesStore::due_around(FilesLog& log, Time now) const {
    std::vector<LogId> due;
    FilesLog* top = &log;
    while (top->parent && !living(*top->parent, now)) top = top->parent;
    for (const FilesLog* fork : descendants(*top))
        if (fork->named() && expired(fork->header(), now)) due.push_back(fork->header().log);
    return due;
}

Result<void> FilesStore::expire(const std::vector<LogId>& due, Time now) {
    for (const LogId& uid : due) {
        FilesLog* log = catalog_.find(uid);
        if (!log || !log->named() || !expired(log->header(), now)) continue;
        FilesChange change;
        PAL_CHECK(detach(*log, change));
        PAL_CHECK(writer_->commit(change));
    }
    return {};
}

// Takes the name away and removes what no fork needs, here and up the chain.
Result<Receipt> FilesStore::detach(FilesLog& log, FilesChange& change) {
    Detachment plan = plan_detachment(log);
    change.dropped = plan.gone;
    change.sync = true;
    if (!plan.trimmed) return plan.receipt;
    FilesLog& left = *plan.trimmed;
    PAL_CHECK(writer_->load(left));
    const bool same = &left == &log;
    const LogState state =
        trimmed_to(same ? without_name(left.state) : left.state, *left.places, plan.trim_to);
    if (!same && state.header.end == left.header().end) return plan.receipt;
    PAL_TRY(swapped, writer_->rewrite(left, state, {}, false));
    change.swapped.push_back(std::move(swapped));
    return plan.receipt;
}

Result<Receipt> FilesStore::erase(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    Receipt receipt;
    const FilesWriter::Alone work = [&]() -> Result<void> {
        const Time now = options_.clock();
        if (FilesLog* log = catalog_.find(name)) PAL_CHECK(expire(due_around(*log, now), now));
        FilesLog* log = catalog_.find(name);
        if (!log) return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
        FilesChange change{.purge = true};
        PAL_TRY(removed, detach(*log, change));
        receipt = std::move(removed);
        receipt.remains = {"backups and copies that were made before"};
        return writer_->commit(change);
    };
    PAL_CHECK(writer_->run_alone(work));
    return receipt;
}

// Which entries of which logs get which bodies; refused as a whole.
Result<std::map<FilesLog*, FilesWriter::Replacements>> FilesStore::plan_scrub(
    std::span<const Replacement> replacements) {
    const Time now = options_.clock();
    std::map<FilesLog*, FilesWriter::Replacements> by_log;
    for (const Replacement& replacement : replacements) {
        FilesLog* log = catalog_.find(replacement.log);
        const std::optional<Header> header = log ? as_of(*log, now) : std::nullopt;
        if (!header) return fail(ErrorCode::not_found, "no log " + hex(replacement.log));
        PAL_CHECK(writer_->load(*log));
        const Seq base = header->base;
        if (replacement.seq <= base || replacement.seq > header->end)
            return fail(ErrorCode::not_found,
                        "the log owns no entry " + std::to_string(replacement.seq.value));
        const EntryPlace& place = log->places->entries[replacement.seq.value - base.value - 1];
        if (!place.missing() && place.kind != kind_of(replacement.body))
            return fail(ErrorCode::invalid_request, "a scrubbed entry keeps its kind", "body");
        by_log[log].insert_or_assign(replacement.seq, replacement.body);
    }
    return by_log;
}

Result<void> FilesStore::scrub(std::span<const Replacement> replacements) {
    const FilesWriter::Alone work = [&]() -> Result<void> {
        PAL_TRY(by_log, plan_scrub(replacements));
        std::set<FilesLog*> stale;
        for (const auto& [log, with] : by_log)
            for (FilesLog* fork : descendants(*log)) stale.insert(fork);
        FilesChange change{.sync = true, .purge = true};
        for (FilesLog* log : stale) {
            LogState state = log->state;
            ++state.header.epoch;
            const auto with = by_log.find(log);
            if (with == by_log.end()) {
                StagedLog& staged = change.stage(*log);
                staged.state = state;
                put_state(staged.bytes, log->length, state);
                continue;
            }
            PAL_TRY(swapped, writer_->rewrite(*log, state, with->second, true));
            change.swapped.push_back(std::move(swapped));
        }
        return writer_->commit(change);
    };
    return writer_->run_alone(work);
}

Result<std::size_t> FilesStore::sweep(std::size_t limit) {
    std::size_t went = 0;
    const FilesWriter::Alone work = [&]() -> Result<void> {
        const Time now = options_.clock();
        std::vector<LogId> due;
        for (const auto& [name, log] : catalog_.names())
            if (due.size() < limit && expired(log->header(), now)) due.push_back(log->header().log);
        PAL_CHECK(expire(due, now));
        went = due.size();
        FilesChange change;
        for (const auto& [key, record] : catalog_.records())
            if (change.records.size() < limit && record.expires && *record.expires <= now)
                change.records[key] = std::nullopt;
        change.purge = !change.records.empty();
        PAL_CHECK(writer_->commit(change));
        if (went > 0 && !change.purge) (void)writer_->purge();
        return {};
    };
    PAL_CHECK(writer_->run_alone(work));
    return went;
}

}  // namespace palimpsest
