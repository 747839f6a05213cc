#include "server/paging.h"

#include <algorithm>
#include <charconv>

#include "base/ids.h"

namespace palimpsest {

Result<RowPage> find_page(const Query& query, std::size_t count, const FindPlace& find,
                          const PageHabits& habits) {
    const auto after = query.text(habits.after), before = query.text(habits.before);
    const auto offset = query.number("offset");
    if (before && (after || offset))
        return fail(ErrorCode::invalid_request, "give 'before', or 'after' and 'offset', not both",
                    std::string(habits.before));
    const bool descending = query.text("order").value_or(habits.order) == "desc";
    std::size_t first = 0, end = count;  // in ascending order
    if (after || before) {
        PAL_TRY(place, find(after ? *after : *before, after ? habits.after : habits.before));
        const bool above = after.has_value() != descending;
        (above ? first : end) = above ? place.behind : place.before;
    }
    RowPage page{.from = before ? ListReply::From::end : ListReply::From::start};
    for (std::size_t i = first; i < end; ++i) page.rows.push_back(i);
    if (descending) std::ranges::reverse(page.rows);
    const auto skipped = std::min<std::size_t>(offset.value_or(0), page.rows.size());
    page.rows.erase(page.rows.begin(), page.rows.begin() + static_cast<std::ptrdiff_t>(skipped));
    const std::size_t limit = query.number("limit").value_or(habits.limit);
    page.has_more = page.rows.size() > limit;
    if (!page.has_more) return page;
    const auto cut = static_cast<std::ptrdiff_t>(limit);
    before ? page.rows.erase(page.rows.begin(), page.rows.end() - cut)
           : page.rows.erase(page.rows.begin() + cut, page.rows.end());
    return page;
}

Result<Seq> parse_place(std::string_view text, std::string_view param) {
    Seq seq;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seq.value);
    if (fault == std::errc{} && end == text.data() + text.size() && seq <= seq_max) return seq;
    if (const std::optional<Position> position = parse_position_id("msg_", text))
        return position->seq;
    return fail(ErrorCode::invalid_request, "must be a seq or the id of a message",
                std::string(param));
}

Result<LogPage> find_log_page(const Query& query) {
    LogPage page;
    const bool descending = query.text("order") == "desc";
    // Of a list from the newest on, older entries are behind a place.
    const std::string_view low = descending ? "before" : "after";
    const std::string_view high = descending ? "after" : "before";
    if (const auto place = query.text(low)) {
        PAL_TRY(seq, parse_place(*place, low));
        page.range.from = seq + 1;
    }
    if (const auto place = query.text(high)) {
        PAL_TRY(seq, parse_place(*place, high));
        page.range.to = seq - 1;
    }
    const auto last = query.number("last");
    const bool from_the_end = query.text("before") && !query.text("after");
    page.limit = last.value_or(query.number("limit").value_or(100));
    page.newest_first = last || descending != from_the_end;
    page.from = page.newest_first == descending ? ListReply::From::start : ListReply::From::end;
    return page;
}

}  // namespace palimpsest
