// search_route: GET /api/v1/search. Results never leave the caller's tenant.
#include "palimpsest/search.h"

#include "base/time.h"
#include "engine/present_search.h"
#include "server/rest.h"

namespace palimpsest {
namespace {

std::optional<std::string> text_of(const Query& query, std::string_view name) {
    const auto text = query.text(name);
    return text ? std::optional<std::string>(*text) : std::nullopt;
}

Result<std::optional<Time>> time_of(const Query& query, std::string_view name) {
    const auto text = query.text(name);
    if (!text) return std::optional<Time>();
    const auto time = parse_time(*text);
    if (!time)
        return fail(ErrorCode::invalid_request,
                    "'" + std::string(name) + "' is a time as 2026-01-31T09:30:00Z",
                    std::string(name));
    return std::optional<Time>(*time);
}

std::optional<Role> role_named(std::string_view name) {
    for (const Role role : {Role::system, Role::user, Role::assistant, Role::tool, Role::other})
        if (role_name(role) == name) return role;
    return std::nullopt;
}

Result<SearchRequest> read_request(const Call& call) {
    SearchRequest request;
    request.tenant = call.site.tenant;
    request.query = call.query.text("q").value_or("");
    request.conversation_id = text_of(call.query, "conversation_id");
    request.owner = text_of(call.query, "owner");
    if (const auto role = call.query.text("role")) request.role = role_named(*role);
    PAL_TRY(after, time_of(call.query, "after"));
    PAL_TRY(before, time_of(call.query, "before"));
    request.after = after;
    request.before = before;
    request.tool = call.query.text("tool").value_or("");
    request.metadata = labels_of(call.query);
    if (call.query.text("in_view")) request.in_view = call.query.flag("in_view");
    request.limit = call.query.number("limit").value_or(10);
    request.offset = call.query.number("offset").value_or(0);
    if (const auto mode = call.query.text("mode")) request.mode = parse_search_mode(*mode);
    return request;
}

}  // namespace

Result<RouteReply> search_messages(Call& call) {
    PAL_TRY(request, read_request(call));
    PAL_TRY(page, call.site.memory.search(request));
    ListReply list;
    for (const SearchHit& hit : page.hits) {
        if (!list.has_room()) break;
        write_search_hit(list.row(hit.name.id + ":" + std::to_string(hit.seq.value)), hit,
                         call.query.flag("explain"));
    }
    RouteReply reply = list.end(page.more);
    reply.warnings = page.warnings;
    return reply;
}

}  // namespace palimpsest
