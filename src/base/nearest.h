// "Did you mean ...": the known name that a mistyped one is closest to.
#pragma once
#include <span>
#include <string_view>

namespace palimpsest {

// Empty when nothing is close: more than a third of the letters (at least two) would have to
// change.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

}  // namespace palimpsest
