// Identifiers in a text: what a later call may need word for word.
#pragma once
#include <string_view>
#include <vector>

namespace palimpsest {

// Ids, paths, numbers, dates, addresses, names, in the order of the text, each once. When there are
// more than `most` the most telling ones stay (with digits and letters or marks, then long numbers
// and dates, then names). Views into `text`.
std::vector<std::string_view> find_identifiers(std::string_view text, std::size_t most);

// 0: a plain word. The higher the more telling.
int identifier_weight(std::string_view word);

}  // namespace palimpsest
