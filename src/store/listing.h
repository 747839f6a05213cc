// Pages out of headers that were found elsewhere: for stores whose index narrows a listing down and
// whose headers decide.
#pragma once
#include <vector>

#include "palimpsest/store.h"

namespace palimpsest {

// Tenant, owner and metadata; not the order and not `children_of`.
bool matches(const Header& header, const ListQuery& query);
// Those that match and come after the cursor, in order, at most as many as asked for.
Result<Page> page_of(std::vector<Header> headers, const ListQuery& query);

}  // namespace palimpsest
