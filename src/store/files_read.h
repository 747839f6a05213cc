// Reading the entries of one log out of its file.
#pragma once
#include <memory>
#include <vector>

#include "store/files_catalog.h"
#include "store/files_folder.h"

namespace palimpsest {

// One entry that is wanted.
struct WantedEntry {
    Seq seq = {};
    EntryPlace place = {};
};

// Walks the file and notes where each entry lies. With `state`, folds what the file says of it.
Result<std::shared_ptr<LogPlaces>> read_places(const DiskFile& file, const FilesLog& log,
                                               LogState* state = nullptr);
// Which entries the query asks for, in its order. `internal` when one of them is damaged.
Result<std::vector<WantedEntry>> wanted_entries(const FilesLog& log, const ReadQuery& query);
// Their bytes, verified and decoded.
Result<std::vector<Entry>> fetch_entries(const FilesFolder& folder, const DiskFile& file,
                                         const Header& header,
                                         const std::vector<WantedEntry>& wanted, bool content);
// One payload; `internal` when it is not what was written.
Result<Bytes> fetch_payload(const FilesFolder& folder, const DiskFile& file, const Header& header,
                            const WantedEntry& wanted);

}  // namespace palimpsest
