// Reading the parameters of passes and triggers: unknown fields and wrong types are errors that
// name the field.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "palimpsest/error.h"

namespace palimpsest {

Result<void> only_fields(const JsonValue& object, std::initializer_list<std::string_view> known);
// A whole number that is not negative; none when the field is absent.
Result<std::optional<std::size_t>> count_field(const JsonValue& object, std::string_view name);

}  // namespace palimpsest
