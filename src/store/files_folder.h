// The folder of a files store: which file is whose, and the few that are open.
//
//   index, records            tables (files_keyed.h), written at checkpoints
//   journal                   what is newer than they are (files_journal.h)
//   logs/AB/UID.V.log         one log, version V of its file; AB: the first two digits of its uid
//   logs/AB/UID.N.part        a huge payload of that log, kept apart
//
// Names are uids, never what people chose. Any thread may read; one writes.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "palimpsest/store.h"
#include "store/files_disk.h"

namespace palimpsest {

struct LogFileId {
    LogId log = {};
    std::uint64_t version = 0;
    auto operator<=>(const LogFileId&) const = default;
};

// What a name in logs/ says.
struct LogFileName {
    LogId log = {};
    std::uint64_t number = 0;  // the version, or the part's
    bool part = false;
    std::string path = {};
};

class FilesFolder {
public:
    FilesFolder(std::string root, bool syncs) : root_(std::move(root)), syncs_(syncs) {}
    const std::string& root() const { return root_; }
    std::string file(std::string_view name) const { return root_ + "/" + std::string(name); }
    std::string log_path(const LogFileId& id) const;
    std::string part_path(const LogId& log, std::uint64_t number) const;
    Result<std::vector<LogFileName>> log_files() const;

    Result<std::shared_ptr<DiskFile>> open(const LogFileId& id, DiskFile::Mode mode);
    // Of a log that is there: without its file the store is damaged.
    Result<std::shared_ptr<DiskFile>> open_known(const LogFileId& id);
    Result<std::string> read_part(const LogId& log, std::uint64_t number) const;

    // For the writer. What lies behind `at` is not acknowledged, and goes. Files that grow are
    // filled with zeros a little ahead: writing inside of a file disturbs the file system less.
    Result<void> write(const LogFileId& id, std::uint64_t at, std::string_view bytes);
    void cut(const LogFileId& id, std::uint64_t length);
    Result<void> write_part(const LogId& log, std::uint64_t number, std::string_view bytes);
    void remove(const LogFileId& id);
    void remove_part(const LogId& log, std::uint64_t number);
    void remove_all(const LogId& log);
    // Everything that was written since the last time.
    Result<void> sync();
    std::size_t unsynced() const { return dirty_.size(); }
    // Takes the zeros away again; `length_of` says how long each file is, none: it does not matter.
    void trim(const std::function<std::optional<std::uint64_t>(const LogFileId&)>& length_of);
    std::size_t filled() const { return filled_.size(); }

private:
    Result<void> make_folder_of(const LogId& log);
    std::string folder_of(const LogId& log) const;

    const std::string root_;
    const bool syncs_;
    std::mutex mutex_;  // over the open files
    std::map<LogFileId, std::shared_ptr<DiskFile>> young_, old_;
    // The writer's.
    std::set<LogFileId> dirty_;
    std::map<LogFileId, std::uint64_t> filled_;  // how far each file goes
    std::set<std::string> dirty_folders_, made_;
};

}  // namespace palimpsest
