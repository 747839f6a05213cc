#include "server/store_route.h"

#include "store/port_wire.h"

namespace palimpsest {

Result<RouteReply> call_store(Call& call) {
    if (!equal_secrets(key_text(call.request.header("Authorization"), {}), call.site.store_token))
        return fail(ErrorCode::unauthorized,
                    "this route is for the program itself; use the routes under /api/v1");
    const auto operation = operation_by_name(call.ids.at(0));
    if (!operation) return fail(ErrorCode::not_found, "the store has no such operation");
    return RouteReply{
        .body = serve_operation(call.site.memory.store(), *operation, call.request.body),
        .type = "application/octet-stream"};
}

}  // namespace palimpsest
