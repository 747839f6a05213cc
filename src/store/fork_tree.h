// A family of forks at rest, in memory: what erasing, expiring, scrubbing and forking do to the
// tree of logs. Pure: stores that keep a family elsewhere load it, ask here, and write the changes.
//
// Invariants: a log without a name is kept for its forks only, ends at the largest of their fork
// points, and goes with the last of them. The standing of a log at a fork point (newest basis,
// number of messages) never changes, so a fork remembers it and no entry has to be read.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

struct TreeLog {
    Header header = {};
    Seq base_basis = {};  // of the fork point
    std::uint64_t base_messages = 0;
    bool named() const { return !header.name.id.empty(); }
};

class ForkTree {
public:
    explicit ForkTree(std::vector<TreeLog> logs);

    const TreeLog* find(const LogId& log) const;
    // Null: it is gone. A log that has expired or lost its name is gone, but for what its living
    // forks share.
    std::optional<Header> as_of(const LogId& log, Time now) const;
    std::vector<LogId> children_of(const LogId& log) const;
    // The log and everything forked from it, however deep.
    std::vector<LogId> descendants(const LogId& log) const;

    // Takes the name away and removes what no fork needs, here and up the chain. The log is there.
    Receipt remove(const LogId& log);
    // The same, after everything on which it depends what can go has expired.
    Receipt erase(const LogId& log, Time now);
    // The epoch of these logs and of all that was forked from them grows by one.
    void grow_epochs(const std::set<LogId>& logs);

    // What the calls above changed: the logs as they are now; none: gone.
    const std::map<LogId, std::optional<TreeLog>>& changes() const { return changes_; }

private:
    std::optional<TreeLog> largest_fork(const LogId& log) const;
    std::optional<TreeLog> largest_living_fork(const LogId& log, Time now) const;
    bool lives(const TreeLog& log, Time now) const;

    std::map<LogId, TreeLog> logs_;
    std::map<LogId, std::set<LogId>> forks_;
    std::map<LogId, std::optional<TreeLog>> changes_;
};

// What is left of a header without its name.
Header nameless(const Header& header);

}  // namespace palimpsest
