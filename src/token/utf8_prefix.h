// How much of a text is UTF-8.
#pragma once
#include <cstddef>
#include <string_view>

namespace palimpsest {

// Bytes before the first that cannot be part of well-formed UTF-8 (no surrogates, no overlong
// forms, nothing above U+10FFFF); a cut-off last character does not count.
std::size_t utf8_prefix(std::string_view text);

}  // namespace palimpsest
