#include "engine/search_scope.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/metadata.h"

namespace palimpsest {
namespace {

bool has_labels(const Header& header, const std::map<std::string, std::string>& wanted) {
    const auto labels = labels_of(header.metadata);
    return std::ranges::all_of(wanted, [&](const auto& field) {
        const auto found = labels.find(field.first);
        return found != labels.end() && found->second == field.second;
    });
}

// Another conversation shows it. Of several it is shown as the one that sees most: that one must
// have every message that is found.
void share(SearchPlace& place, const Header& header, Seq upto) {
    if (upto <= place.scope.upto) {
        place.sharers.push_back({header, upto});
        return;
    }
    place.sharers.push_back({place.shown, place.scope.upto});
    place.scope.upto = upto;
    place.shown = header;
}

// The logs that the conversation stands on, without its own.
Result<void> add_ancestors(Store& store, const Header& header, std::map<LogId, std::size_t>& places,
                           std::vector<SearchPlace>& out) {
    Header child = header;
    while (child.parent) {
        const LogId parent = *child.parent;
        const Seq upto = child.base;
        const auto known = places.find(parent);
        if (known != places.end()) {
            share(out[known->second], header, upto);
            child = out[known->second].scope.header;
            continue;
        }
        auto found = store.head(parent);
        if (!found && !is_fault_of_one(found.error())) return std::unexpected(found.error());
        // Whoever reads it is told what is wrong.
        if (!found) found = Header{.name = {header.name.tenant, ""}, .log = parent, .end = upto};
        places[parent] = out.size();
        out.push_back({{*found, upto}, header, {}});
        child = *std::move(found);
    }
    return {};
}

}  // namespace

Result<std::vector<Header>> all_headers(Store& store, const ListQuery& query) {
    std::vector<Header> headers;
    ListQuery page_query = query;
    page_query.limit = 1000;
    do {
        PAL_TRY(page, store.list(page_query));
        for (Header& header : page.headers) headers.push_back(std::move(header));
        page_query.after = page.next;
    } while (!page_query.after.empty());
    return headers;
}

Result<std::vector<SearchPlace>> search_places(Store& store, const SearchRequest& request) {
    std::vector<Header> headers;
    if (request.conversation_id) {
        PAL_TRY(header, store.head({request.tenant, *request.conversation_id}));
        if (request.owner && header.owner != *request.owner)
            return fail(ErrorCode::not_found, "there is no conversation '" +
                                                  *request.conversation_id + "' of that owner");
        if (has_labels(header, request.metadata)) headers.push_back(std::move(header));
    } else {
        ListQuery query;
        query.tenant = request.tenant;
        query.owner = request.owner;
        query.metadata = request.metadata;
        query.sort = SortBy::created;
        PAL_TRY(all, all_headers(store, query));
        headers = std::move(all);
    }
    std::vector<SearchPlace> places;
    std::map<LogId, std::size_t> by_log;
    for (const Header& header : headers) {
        if (!by_log.emplace(header.log, places.size()).second) continue;
        places.push_back({{header, header.end}, header, {}});
    }
    for (const Header& header : headers) {
        const auto added = add_ancestors(store, header, by_log, places);
        // One of many that is erased meanwhile is simply not there.
        const bool gone = !added && added.error().code == ErrorCode::not_found;
        if (!added && (request.conversation_id || !gone)) return std::unexpected(added.error());
    }
    return places;
}

bool is_fault_of_one(const Error& error) {
    return error.code == ErrorCode::internal || error.code == ErrorCode::forbidden;
}

std::size_t conversations_of(const std::vector<SearchPlace>& places) {
    std::set<std::string_view> names;
    for (const SearchPlace& place : places)
        if (!place.shown.name.id.empty()) names.insert(place.shown.name.id);
    return names.size();
}

}  // namespace palimpsest
