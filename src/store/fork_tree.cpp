#include "store/fork_tree.h"

#include <algorithm>

#include "store/rules.h"

namespace palimpsest {

Header nameless(const Header& header) {
    Header kept;
    kept.name.tenant = header.name.tenant;
    kept.log = header.log;
    kept.parent = header.parent;
    kept.base = header.base;
    kept.end = header.end;
    kept.basis = header.basis;
    kept.messages = header.messages;
    kept.revision = header.revision;
    kept.epoch = header.epoch;
    kept.created = header.created;
    kept.updated = header.updated;
    kept.accessed = header.accessed;
    return kept;
}

ForkTree::ForkTree(std::vector<TreeLog> logs) {
    for (TreeLog& log : logs) {
        if (log.header.parent) forks_[*log.header.parent].insert(log.header.log);
        logs_.emplace(log.header.log, std::move(log));
    }
}

const TreeLog* ForkTree::find(const LogId& log) const {
    const auto found = logs_.find(log);
    return found == logs_.end() ? nullptr : &found->second;
}

std::vector<LogId> ForkTree::children_of(const LogId& log) const {
    const auto found = forks_.find(log);
    if (found == forks_.end()) return {};
    return {found->second.begin(), found->second.end()};
}

std::vector<LogId> ForkTree::descendants(const LogId& log) const {
    std::vector<LogId> all{log};
    for (std::size_t i = 0; i < all.size(); ++i)
        for (const LogId& child : children_of(all[i])) all.push_back(child);
    return all;
}

std::optional<TreeLog> ForkTree::largest_fork(const LogId& log) const {
    std::optional<TreeLog> largest;
    for (const LogId& child : children_of(log)) {
        const TreeLog& fork = logs_.at(child);
        if (!largest || fork.header.base > largest->header.base) largest = fork;
    }
    return largest;
}

bool ForkTree::lives(const TreeLog& log, Time now) const {
    if (log.named() && !expired(log.header, now)) return true;
    const std::vector<LogId> forks = children_of(log.header.log);
    return std::ranges::any_of(forks,
                               [&](const LogId& fork) { return lives(logs_.at(fork), now); });
}

std::optional<TreeLog> ForkTree::largest_living_fork(const LogId& log, Time now) const {
    std::optional<TreeLog> largest;
    for (const LogId& child : children_of(log)) {
        const TreeLog& fork = logs_.at(child);
        if ((!largest || fork.header.base > largest->header.base) && lives(fork, now))
            largest = fork;
    }
    return largest;
}

std::optional<Header> ForkTree::as_of(const LogId& log, Time now) const {
    const TreeLog* found = find(log);
    if (!found) return std::nullopt;
    if (found->named() && !expired(found->header, now)) return found->header;
    const std::optional<TreeLog> top = largest_living_fork(log, now);
    if (!top) return std::nullopt;
    Header kept = nameless(found->header);
    kept.end = top->header.base;
    kept.basis = top->base_basis;
    kept.messages = top->base_messages;
    return kept;
}

Receipt ForkTree::remove(const LogId& log) {
    Receipt receipt;
    for (const LogId& id : descendants(log))
        if (id != log && logs_.at(id).named())
            receipt.kept_for.push_back(logs_.at(id).header.name.id);
    std::ranges::sort(receipt.kept_for);
    TreeLog* at = &logs_.at(log);
    at->header = nameless(at->header);
    while (at && !at->named()) {
        const LogId id = at->header.log;
        const std::uint64_t had = at->header.end.value - at->header.base.value;
        if (const std::optional<TreeLog> top = largest_fork(id)) {
            at->header.end = top->header.base;
            at->header.basis = top->base_basis;
            at->header.messages = top->base_messages;
            receipt.entries += had - (at->header.end.value - at->header.base.value);
            changes_[id] = *at;
            break;
        }
        receipt.entries += had;
        ++receipt.logs;
        const std::optional<LogId> parent = at->header.parent;
        changes_[id] = std::nullopt;
        logs_.erase(id);
        if (parent) forks_[*parent].erase(id);
        const auto above = parent ? logs_.find(*parent) : logs_.end();
        at = above == logs_.end() ? nullptr : &above->second;
    }
    return receipt;
}

Receipt ForkTree::erase(const LogId& log, Time now) {
    std::vector<LogId> due;
    for (const auto& [id, one] : logs_)
        if (id != log && one.named() && expired(one.header, now)) due.push_back(id);
    for (const LogId& id : due) remove(id);
    return remove(log);
}

void ForkTree::grow_epochs(const std::set<LogId>& logs) {
    std::set<LogId> stale;
    for (const LogId& log : logs)
        if (find(log))
            for (const LogId& id : descendants(log)) stale.insert(id);
    for (const LogId& id : stale) {
        TreeLog& log = logs_.at(id);
        ++log.header.epoch;
        changes_[id] = log;
    }
}

}  // namespace palimpsest
