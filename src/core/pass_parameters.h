// Reading the parameters of passes, triggers and policies: unknown fields and wrong types are
// errors that name the field.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "core/policy.h"
#include "palimpsest/error.h"

namespace palimpsest {

// Readers of an object name its fields alone; who reads a part of a policy puts the path to it
// before them: "tokens" becomes "recall.tokens", in the error's words too.
Error error_under(std::string_view path, Error error);
template <class T>
Result<T> under(std::string_view path, Result<T> part) {
    if (!part) return std::unexpected(error_under(path, std::move(part).error()));
    return part;
}

Result<void> only_fields(const JsonValue& object, std::initializer_list<std::string_view> known);
// The same for a pass: the fields that every pass has ("pass", "target", "min_gain", "when") are
// known.
Result<void> only_pass_fields(const JsonValue& object,
                              std::initializer_list<std::string_view> known);
// The field, unless it is absent or null, which is the same in all of a policy.
std::optional<JsonValue> present_field(const JsonValue& object, std::string_view name);
// A whole number that is not negative; none when the field is absent or null.
Result<std::optional<std::size_t>> count_field(const JsonValue& object, std::string_view name);
// The same, above 0; a number from 0 to 1.
Result<std::optional<std::size_t>> positive_field(const JsonValue& object, std::string_view name);
Result<std::optional<double>> share_field(const JsonValue& object, std::string_view name);
Result<std::optional<bool>> flag_field(const JsonValue& object, std::string_view name);
Result<std::optional<double>> number_field(const JsonValue& object, std::string_view name);
Result<std::optional<std::string>> text_field(const JsonValue& object, std::string_view name);
Result<std::vector<std::string>> texts_field(const JsonValue& object, std::string_view name);
// A number of tokens, {"tokens": N} or {"window_share": X}; other `known` fields are not read.
Result<Amount> amount_field(const JsonValue& object, std::string_view name,
                            std::initializer_list<std::string_view> known = {"tokens",
                                                                             "window_share"});
// {"dollars": X}; none when it is anything else.
Result<std::optional<double>> dollars_field(const JsonValue& object, std::string_view name);

std::string lower(std::string_view text);

}  // namespace palimpsest
