#include "server/store_route.h"

#include "store/port_wire.h"

namespace palimpsest {
namespace {

// Takes the same time wherever the two differ, so that a token cannot be guessed byte by byte.
bool equal_secrets(std::string_view given, std::string_view right) {
    if (right.empty() || given.size() != right.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < right.size(); ++i)
        difference |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^
                                            static_cast<unsigned char>(right[i]));
    return difference == 0;
}

}  // namespace

Result<RouteReply> call_store(Call& call) {
    constexpr std::string_view scheme = "Bearer ";
    std::string_view token = call.request.header("Authorization");
    if (token.starts_with(scheme)) token.remove_prefix(scheme.size());
    if (!equal_secrets(token, call.site.store_token))
        return fail(ErrorCode::unauthorized,
                    "this route is for the program itself; use the routes under /api/v1");
    const auto operation = operation_by_name(call.ids.at(0));
    if (!operation) return fail(ErrorCode::not_found, "the store has no such operation");
    return RouteReply{
        .body = serve_operation(call.site.memory.store(), *operation, call.request.body),
        .type = "application/octet-stream"};
}

}  // namespace palimpsest
