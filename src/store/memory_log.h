// One log in memory, and the family of forks that it belongs to.
//
// Every field of a log, but for `origin` and `family`, is guarded by its family's mutex: a log, its
// forks, and their forks share one, so that fork, scrub and erase see the whole tree at rest.
// Logs of different families never wait for each other.
#pragma once
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

struct LogFamily {
    std::shared_mutex mutex;
};

// What a batch with an idempotency key came to.
struct Once {
    Fingerprint digest = {};
    Seq first = {}, last = {};
    Time at = {};
};

struct MemoryLog {
    const ConversationId origin;  // the name it was created under, also after that was taken away
    const std::shared_ptr<LogFamily> family;

    Header header = {};
    Seq base_basis = {};  // basis and messages at the base: what is left when all else is trimmed
    std::uint64_t base_messages = 0;
    std::map<std::string, std::string> labels = {};  // of the metadata
    std::deque<Entry> entries = {};                  // entry i has seq base + 1 + i
    std::vector<std::size_t> marks = {};  // indexes of the entries that are not messages, ascending
    std::unordered_map<std::string, Once> once = {};
    std::deque<std::pair<Time, std::string>> once_by_age = {};
    MemoryLog* parent = nullptr;                      // lives at least as long as its forks
    std::set<std::pair<Seq, MemoryLog*>> forks = {};  // by fork point
    bool gone = false;                                // removed: no store knows it any more

    // Guarded by the mutex of the shard that holds the name, and used while it has one.
    std::list<MemoryLog*>::iterator recent = {};
    std::uint64_t touched = 0;

    bool named() const { return !header.name.id.empty(); }
};

// ---- all of these under the family's mutex ------------------------------------------------------

// Writes the batch, whose checks have passed; all or nothing.
Result<Appended> write_batch(MemoryLog& log, const Batch& batch, Time now);
// The outcome of the batch that first brought this key, if it is remembered; unprocessable when
// that was another request.
Result<std::optional<Appended>> seen_before(MemoryLog& log, const Batch& batch, Time now);
std::vector<Entry> read_entries(const MemoryLog& log, const ReadQuery& query);
// Takes the name away, removes what no fork needs, here and up the chain. Adds the uids of the logs
// that are gone to `gone`.
Receipt detach(MemoryLog& log, std::vector<LogId>& gone);
// The log and everything forked from it, however deep.
std::vector<MemoryLog*> descendants(MemoryLog& log);

}  // namespace palimpsest
