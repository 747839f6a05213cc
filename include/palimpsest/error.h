// Errors are values. Every function that can fail returns Result<T>; no exception leaves our code
// (running out of memory aside). One table says what a code means to people and to programs.
#pragma once
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace palimpsest {

enum class ErrorCode : std::uint8_t {
    invalid_request,
    unauthorized,
    forbidden,
    not_found,
    conflict,
    too_large,
    unprocessable,
    budget_unreachable,
    rate_limited,
    internal,
    upstream_failed,
    unavailable,
    outcome_unknown,
    no_space,
};

// One row of the table: the code's name in JSON, its HTTP status, the exit status of `pal`, and
// whether the same request may succeed when it is simply sent again.
struct ErrorInfo {
    ErrorCode code = ErrorCode::internal;
    std::string_view name;
    int http_status = 500;
    int exit_status = 70;
    bool retry = false;
    std::string_view meaning;
};
std::span<const ErrorInfo> error_table();
const ErrorInfo& error_info(ErrorCode code);

// `message` is for the operator: what failed, on what, what to do next. It never holds a secret.
// `param` names the offending field of a request, if there is one.
struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;
    std::string param = {};
};

// A write has three outcomes: done (a value), failed (nothing was written), and unknown
// (`outcome_unknown`: it may be there; repeat it with the same idempotency key to find out).
template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string param = {}) {
    return std::unexpected(Error{code, std::move(message), std::move(param)});
}

}  // namespace palimpsest

// PAL_TRY(name, expression): `name` becomes the value, or the enclosing function returns the error.
#define PAL_TRY_CAT2(a, b) a##b
#define PAL_TRY_CAT(a, b) PAL_TRY_CAT2(a, b)
#define PAL_TRY(name, ...)                                                          \
    auto PAL_TRY_CAT(pal_try_, __LINE__) = (__VA_ARGS__);                           \
    if (!PAL_TRY_CAT(pal_try_, __LINE__))                                           \
        return std::unexpected(std::move(PAL_TRY_CAT(pal_try_, __LINE__)).error()); \
    auto&& name = *std::move(PAL_TRY_CAT(pal_try_, __LINE__))
// PAL_CHECK(expression): returns the error of a Result<void>, or goes on.
#define PAL_CHECK(...)                                                                      \
    do {                                                                                    \
        auto pal_check_result = (__VA_ARGS__);                                              \
        if (!pal_check_result) return std::unexpected(std::move(pal_check_result).error()); \
    } while (false)
