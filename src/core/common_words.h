// Words that every text of a language has: they tell the language and little else.
#pragma once
#include <string_view>

#include "core/stems.h"

namespace palimpsest {

// The languages that the word is common in.
Languages common_in(std::string_view folded);

}  // namespace palimpsest
