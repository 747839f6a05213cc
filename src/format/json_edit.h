// Changing one member of a JSON object; the others keep their bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace palimpsest {

// `object` with the value at `key` replaced (or the member left out, when there is no value).
std::string with_member(JsonValue object, std::string_view key,
                        const std::optional<std::string>& value);
std::string json_list(const std::vector<std::string>& values);

}  // namespace palimpsest
