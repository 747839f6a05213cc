// What people have hidden: the messages that retracts and rewinds in force take out of the view.
// What a compaction left out is not among them: it can be recalled, and it is still listed.
#pragma once
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

// In no order; ranges may overlap.
Result<std::vector<Range>> hidden_by_hand(Store& store, const Header& header);

}  // namespace palimpsest
