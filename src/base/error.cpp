#include "palimpsest/error.h"

#include <cstddef>

namespace palimpsest {
namespace {

constexpr ErrorInfo table[] = {
    {ErrorCode::invalid_request, "invalid_request", 400, 2, false,
     "the request itself is malformed"},
    {ErrorCode::unauthorized, "unauthorized", 401, 3, false, "no valid key was given"},
    {ErrorCode::forbidden, "forbidden", 403, 3, false, "the key may not do this"},
    {ErrorCode::not_found, "not_found", 404, 4, false, "there is no such thing, or it has expired"},
    {ErrorCode::conflict, "conflict", 409, 5, true,
     "something changed meanwhile: read it again, then retry"},
    {ErrorCode::too_large, "too_large", 413, 6, false, "a limit on size was exceeded"},
    {ErrorCode::unprocessable, "unprocessable", 422, 2, false,
     "well-formed, but it contradicts what is stored"},
    {ErrorCode::budget_unreachable, "budget_unreachable", 422, 7, false,
     "what must be kept does not fit the window"},
    {ErrorCode::rate_limited, "rate_limited", 429, 8, true, "too many requests: wait, then retry"},
    {ErrorCode::internal, "internal", 500, 70, false, "a fault of this program"},
    {ErrorCode::upstream_failed, "upstream_failed", 502, 9, true, "the model's server failed"},
    {ErrorCode::unavailable, "unavailable", 503, 10, true,
     "the store or the server cannot answer now"},
    {ErrorCode::outcome_unknown, "outcome_unknown", 504, 11, true,
     "the write may or may not have happened: repeat it with the same idempotency key"},
    {ErrorCode::no_space, "no_space", 507, 12, true,
     "the store's disk or memory is full: make room, then retry"},
};

constexpr bool rows_follow_the_enum() {
    for (std::size_t i = 0; i < std::size(table); ++i)
        if (static_cast<std::size_t>(table[i].code) != i) return false;
    return true;
}
static_assert(rows_follow_the_enum());

}  // namespace

std::span<const ErrorInfo> error_table() {
    return table;
}

const ErrorInfo& error_info(ErrorCode code) {
    return table[static_cast<std::size_t>(code)];
}

}  // namespace palimpsest
