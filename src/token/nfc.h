// Unicode normalisation form C, which some tokenizers apply to a text before anything else.
#pragma once
#include <string>
#include <string_view>

namespace palimpsest {

// Whether to_nfc() would give the text back, told by a look at each character alone: false for a
// few texts that are in that form all the same. The text must be UTF-8.
bool is_surely_nfc(std::string_view text);
std::string to_nfc(std::string_view text);

}  // namespace palimpsest
