// What the files store knows in memory: every log's state, names, forks; of the logs in use also
// where each entry lies; and all records.
//
// Only the writer changes it (files_writer.h), under the exclusive lock and after the change is
// durable; so the writer may read it without a lock, and readers see acknowledged state only.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "palimpsest/store.h"
#include "store/files_format.h"

namespace palimpsest {

// Where the entries of one log lie, and its idempotency keys.
struct LogPlaces {
    std::vector<EntryPlace> entries = {};  // entry i has seq base + 1 + i
    std::vector<std::size_t> marks = {};   // those that are not messages, ascending
    std::unordered_map<std::string, OnceKey> once = {};
    std::uint64_t apart_next = 1;     // the number of the next payload kept apart
    std::uint64_t damaged_bytes = 0;  // of the file, in no whole frame
};

struct FilesLog {
    LogState state = {};
    std::map<std::string, std::string> labels = {};  // of the metadata
    FilesLog* parent = nullptr;
    std::set<std::pair<Seq, FilesLog*>> forks = {};  // by fork point
    std::uint64_t version = 1;                       // of its file
    std::uint64_t length = 0;                        // of its file, acknowledged
    std::shared_ptr<LogPlaces> places = {};          // null: not read yet
    std::uint64_t used = 0;                          // when its places were last wanted

    const Header& header() const { return state.header; }
    bool named() const { return !state.header.name.id.empty(); }
};

class FilesCatalog {
public:
    FilesLog* find(const ConversationId& name) const;
    FilesLog* find(const LogId& log) const;

    // Adds it, with its name; ties it to its parent, where that is known.
    FilesLog& add(FilesLog log);
    // Ties all logs to their parents: for logs that were added in any order.
    void tie();
    void set_state(FilesLog& log, LogState state);
    void remove(FilesLog& log);

    const std::map<LogId, std::unique_ptr<FilesLog>>& logs() const { return logs_; }
    const std::map<ConversationId, FilesLog*>& names() const { return names_; }
    std::map<RecordKey, Record>& records() { return records_; }
    const std::map<RecordKey, Record>& records() const { return records_; }
    std::uint64_t record_version = 0;  // the last one that was given

private:
    std::map<LogId, std::unique_ptr<FilesLog>> logs_;
    std::map<ConversationId, FilesLog*> names_;
    std::map<RecordKey, Record> records_;
};

// The log and everything forked from it, however deep.
std::vector<FilesLog*> descendants(FilesLog& log);

// What taking a name away comes to, decided before anything is done.
struct Detachment {
    std::vector<FilesLog*> gone = {};  // these go whole, the log itself first or not at all
    FilesLog* trimmed = nullptr;       // this one loses what lies above `trim_to`
    Seq trim_to = {};
    Receipt receipt = {};
    bool nameless = false;  // the log itself stays, without its name
};
// `also_gone`: logs that this change removes already.
Detachment plan_detachment(FilesLog& log);

// What people wrote into the header goes with the name.
LogState without_name(const LogState& state);

bool living(const FilesLog& log, Time now);  // under its own name
// None: it is gone. A log that has expired or lost its name is gone, but for what its living forks
// share; its bytes are there until it is swept.
std::optional<Header> as_of(const FilesLog& log, Time now);

bool matches(const FilesLog& log, const ListQuery& query);

}  // namespace palimpsest
