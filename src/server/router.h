// router: from a request to the row of the table, and from the row to a checked Call.
//
// Pure but for memory: no store, no socket. Every refusal of a request that does not fit its row is
// made here, so the functions of routes need not look twice.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/route.h"
#include "server/schema.h"

namespace palimpsest {

struct RouteMatch {
    const Route* route = nullptr;       // null: no such path, or not with this method
    std::vector<std::string> ids = {};  // values of the pattern's {names}
    std::string allow = {};  // where there is no route: the path's methods; empty: no such path
};

// Fixed words win over {names}. HEAD goes to GET. invalid_request for a path with broken escapes.
Result<RouteMatch> match_route(std::span<const Route> table, std::string_view method,
                               std::string_view path);

// The answer to a request without a row: 404, or 405 with Allow.
HttpResponse no_route(const RouteMatch& match, std::string_view method, std::string_view path);

struct BodyLimits {
    std::size_t depth = 64;
    std::size_t items = 100'000;  // of one list, see ServerLimits
};

// Checks query, headers and body against the row. `request` must outlive the call.
Result<Call> read_call(Site& site, const SchemaSet& schemas, const BodyLimits& limits,
                       RouteMatch match, const HttpRequest& request);

}  // namespace palimpsest
