#include "store/files_catalog.h"

#include <algorithm>

#include "core/metadata.h"
#include "store/fork_tree.h"
#include "store/rules.h"

namespace palimpsest {

FilesLog* FilesCatalog::find(const ConversationId& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : found->second;
}

FilesLog* FilesCatalog::find(const LogId& log) const {
    const auto found = logs_.find(log);
    return found == logs_.end() ? nullptr : found->second.get();
}

FilesLog& FilesCatalog::add(FilesLog log) {
    auto owned = std::make_unique<FilesLog>(std::move(log));
    FilesLog& added = *owned;
    const LogId uid = added.header().log;
    logs_[uid] = std::move(owned);
    if (added.header().parent) {
        added.parent = find(*added.header().parent);
        if (added.parent) added.parent->forks.emplace(added.header().base, &added);
    }
    set_state(added, std::move(added.state));
    return added;
}

void FilesCatalog::tie() {
    for (const auto& [uid, log] : logs_) {
        if (!log->header().parent) continue;
        log->parent = find(*log->header().parent);
        if (log->parent) log->parent->forks.emplace(log->header().base, log.get());
    }
}

void FilesCatalog::set_state(FilesLog& log, LogState state) {
    const auto found = names_.find(log.header().name);
    if (found != names_.end() && found->second == &log && state.header.name != log.header().name)
        names_.erase(found);
    const bool same_labels = !log.labels.empty() || log.header().metadata == "{}"
                                 ? state.header.metadata == log.header().metadata
                                 : false;
    log.state = std::move(state);
    if (!same_labels) log.labels = labels_of(log.header().metadata);
    if (log.named()) names_[log.header().name] = &log;
}

void FilesCatalog::remove(FilesLog& log) {
    const auto found = names_.find(log.header().name);
    if (found != names_.end() && found->second == &log) names_.erase(found);
    if (log.parent) log.parent->forks.erase({log.header().base, &log});
    logs_.erase(LogId(log.header().log));
}

std::vector<FilesLog*> descendants(FilesLog& log) {
    std::vector<FilesLog*> found{&log};
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const auto& [at, fork] : found[i]->forks) found.push_back(fork);
    return found;
}

Detachment plan_detachment(FilesLog& log) {
    Detachment plan;
    for (FilesLog* fork : descendants(log))
        if (fork != &log && fork->named()) plan.receipt.kept_for.push_back(fork->header().name.id);
    std::ranges::sort(plan.receipt.kept_for);
    FilesLog* at = &log;
    FilesLog* below = nullptr;  // the fork of `at` that goes
    const auto entries_of = [](const FilesLog& it, Seq above) {
        return it.header().end.value > above.value ? it.header().end.value - above.value : 0;
    };
    while (at && (at == &log || !at->named())) {
        const bool needed =
            std::ranges::any_of(at->forks, [&](const auto& fork) { return fork.second != below; });
        if (needed) break;
        plan.receipt.entries += entries_of(*at, at->header().base);
        ++plan.receipt.logs;
        plan.gone.push_back(at);
        below = at;
        at = at->parent;
    }
    plan.nameless = plan.gone.empty();
    if (!at || (at != &log && at->named())) return plan;
    for (const auto& [seq, fork] : at->forks)
        if (fork != below) plan.trim_to = std::max(plan.trim_to, seq);
    plan.trimmed = at;
    plan.receipt.entries += entries_of(*at, plan.trim_to);
    return plan;
}

LogState without_name(const LogState& state) {
    const Header& old = state.header;
    LogState left = state;
    left.lost = false;  // Nothing more is wanted of it.
    left.header = Header{.name = {old.name.tenant, ""},
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
    return left;
}

bool living(const FilesLog& log, Time now) {
    return log.named() && !expired(log.header(), now);
}

std::optional<Header> as_of(const FilesLog& log, Time now) {
    if (living(log, now)) return log.header();
    for (auto at = log.forks.rbegin(); at != log.forks.rend(); ++at) {
        const FilesLog& fork = *at->second;
        if (!as_of(fork, now)) continue;
        Header kept = nameless(log.header());
        kept.end = fork.header().base;
        kept.basis = fork.state.base_basis;
        kept.messages = fork.state.base_messages;
        return kept;
    }
    return std::nullopt;
}

bool matches(const FilesLog& log, const ListQuery& query) {
    const Header& header = log.header();
    if (header.name.tenant != query.tenant) return false;
    if (query.owner && header.owner != *query.owner) return false;
    return std::ranges::all_of(query.metadata, [&](const auto& field) {
        const auto found = log.labels.find(field.first);
        return found != log.labels.end() && found->second == field.second;
    });
}

}  // namespace palimpsest
