// A log of the files store whose header is lost: no index names it and no whole frame of its file
// says what it is. Its entries are kept, under its uid, until somebody repairs or erases it.
#pragma once
#include <map>
#include <optional>

#include "store/files_catalog.h"
#include "store/files_folder.h"
#include "store/rules.h"

namespace palimpsest {

// What the entries of the file tell. None: the file says itself what it is, or holds no entry.
Result<std::optional<FilesLog>> read_lost_log(FilesFolder& folder, const LogFileName& name);

// The tenant is that of its forks or of what is recorded about it, otherwise `lost_tenant`.
ConversationId name_of_lost(const LogId& log, const std::vector<const Header*>& others,
                            const std::map<RecordKey, Record>& records);

std::unexpected<Error> header_lost(const LogId& log);

}  // namespace palimpsest
