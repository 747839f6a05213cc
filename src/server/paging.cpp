#include "server/paging.h"

#include <algorithm>

namespace palimpsest {

Result<RowPage> find_page(const Query& query, std::size_t count, const FindPlace& find,
                          std::string_view order) {
    const auto after = query.text("after"), before = query.text("before");
    const auto offset = query.number("offset");
    if (before && (after || offset))
        return fail(ErrorCode::invalid_request, "give 'before', or 'after' and 'offset', not both",
                    "before");
    const bool descending = query.text("order").value_or(order) == "desc";
    std::size_t first = 0, end = count;  // in ascending order
    if (after || before) {
        PAL_TRY(place, find(after ? *after : *before, after ? "after" : "before"));
        const bool above = after.has_value() != descending;
        (above ? first : end) = above ? place.behind : place.before;
    }
    RowPage page;
    for (std::size_t i = first; i < end; ++i) page.rows.push_back(i);
    if (descending) std::ranges::reverse(page.rows);
    const auto skipped = std::min<std::size_t>(offset.value_or(0), page.rows.size());
    page.rows.erase(page.rows.begin(), page.rows.begin() + static_cast<std::ptrdiff_t>(skipped));
    const std::size_t limit = query.number("limit").value_or(100);
    page.has_more = page.rows.size() > limit;
    if (!page.has_more) return page;
    const auto cut = static_cast<std::ptrdiff_t>(limit);
    before ? page.rows.erase(page.rows.begin(), page.rows.end() - cut)
           : page.rows.erase(page.rows.begin() + cut, page.rows.end());
    return page;
}

}  // namespace palimpsest
