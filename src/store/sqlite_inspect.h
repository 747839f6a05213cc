// Looks into a SQLite store that does not open: what of it can still be read, for `pal doctor`.
//
// Nothing is written to the file. A file that is shorter than it says is read as far as it goes.
// The first page says where everything is and is the same in every store of one version: when it
// is damaged, a copy of the file is read with a new one.
#pragma once
#include <string_view>

#include "palimpsest/store.h"

namespace palimpsest {

// `url` begins with "sqlite:". The report names what is damaged, then what is whole ("readable");
// a file that is no store is a finding too ("foreign"). An error: there is no file to look into.
Result<CheckReport> inspect_sqlite(std::string_view url);

}  // namespace palimpsest
