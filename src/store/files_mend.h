// A files store that does not open because part of it is damaged for good: opened once without that
// part, of which a copy stays beside it.
#pragma once
#include <string_view>
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

// What was done, and what may be gone. The URL begins with `files:`. Afterwards the store opens.
Result<std::vector<Finding>> mend_files(std::string_view url);

// What of a store that does not open can still be read, found in a copy that is mended; the store
// is left as it is. An error: there is nothing to look into, or no room for the copy.
Result<CheckReport> inspect_files(std::string_view url);

}  // namespace palimpsest
