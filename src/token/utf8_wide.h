// Whether a text is UTF-8, 32 bytes at a time, on processors with AVX2. By the lookup of Keiser and
// Lemire ("Validating UTF-8 in less than one instruction per byte"): three tables of 16 entries,
// indexed by halves of two adjacent bytes, agree on an error or on none.
#pragma once
#include <string_view>

namespace palimpsest {

bool has_utf8_wide();
// Only if has_utf8_wide().
bool is_utf8_wide(std::string_view text);

}  // namespace palimpsest
