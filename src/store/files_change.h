// A change of the files store on its way to the disk, and the bytes of it in the journal.
//
// One change is one group of the journal: all of it happens or nothing. It is decided against the
// catalog first, made durable, and only then carried out in memory.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/files_catalog.h"
#include "store/files_folder.h"

namespace palimpsest {

// More frames for a log that is there.
struct StagedLog {
    LogState state = {};  // after them
    std::string bytes = {};
    std::vector<EntryPlace> places = {};
    std::vector<OnceKey> keys = {};
    std::uint64_t apart_next = 0;  // 0: as it was
};

// A log whose file is written anew. The new version is on the disk already.
struct SwappedLog {
    FilesLog* log = nullptr;
    LogState state = {};
    std::uint64_t version = 0, length = 0;
    std::shared_ptr<LogPlaces> places = {};
    std::vector<std::uint64_t> parts_gone = {};
};

struct FilesChange {
    std::vector<FilesLog*> dropped = {};
    std::vector<SwappedLog> swapped = {};
    std::map<FilesLog*, StagedLog> staged = {};
    std::vector<StagedLog> created = {};
    std::map<RecordKey, std::optional<Record>> records = {};  // none: removed
    std::uint64_t record_version = 0;                         // the last one given; 0: none was
    bool sync = false;                                        // something in it must be durable
    bool purge = false;  // and no byte of what it removes may stay in any file

    bool empty() const {
        return dropped.empty() && swapped.empty() && staged.empty() && created.empty() &&
               records.empty() && record_version == 0;
    }
    // The log as this change leaves it so far.
    const LogState& state_of(const FilesLog& log) const;
    StagedLog& stage(FilesLog& log);
};

std::string encode_change(const FilesChange& change);

// Under the exclusive lock: the catalog is as the change says.
void carry_out(const FilesChange& change, FilesCatalog& catalog);

// A change read back from the journal: what to do with the files and the catalog, in order.
struct ReplayTarget {
    std::function<Result<void>(const LogFileId& id, std::uint64_t at, std::string_view bytes)> put;
    std::function<Result<void>(const LogFileId& id, std::uint64_t length, LogState state)> swap;
    std::function<void(const LogId& log)> drop;
    std::function<void(const RecordKey& key, std::optional<Record> record, std::uint64_t version)>
        record;
};
Result<void> replay_change(std::string_view group, const ReplayTarget& target);

}  // namespace palimpsest
