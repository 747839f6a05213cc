#include "store/listing.h"

#include <algorithm>

#include "core/metadata.h"
#include "store/rules.h"

namespace palimpsest {

bool matches(const Header& header, const ListQuery& query) {
    if (header.name.tenant != query.tenant) return false;
    if (query.owner && header.owner != *query.owner) return false;
    if (query.metadata.empty()) return true;
    const std::map<std::string, std::string> labels = labels_of(header.metadata);
    return std::ranges::all_of(query.metadata, [&](const auto& field) {
        const auto found = labels.find(field.first);
        return found != labels.end() && found->second == field.second;
    });
}

Result<Page> page_of(std::vector<Header> headers, const ListQuery& query) {
    std::optional<Cursor> after;
    if (!query.after.empty()) {
        PAL_TRY(cursor, parse_cursor(query));
        after = cursor;
    }
    const auto place = [&](const Header& header) {
        return Cursor{sort_time(header, query.sort), header.log};
    };
    const auto precedes = [&](const Cursor& a, const Cursor& b) {
        return query.newest_first ? b < a : a < b;
    };
    std::erase_if(headers, [&](const Header& header) {
        return !matches(header, query) || (after && !precedes(*after, place(header)));
    });
    std::ranges::sort(headers, precedes, place);
    Page page{.headers = std::move(headers)};
    if (page.headers.size() <= query.limit) return page;
    page.headers.resize(query.limit);
    page.next = write_cursor(query, place(page.headers.back()));
    return page;
}

}  // namespace palimpsest
