// Words that every text of a language has: they tell the language and little else.
#pragma once
#include <span>
#include <string_view>

#include "core/stems.h"

namespace palimpsest {

std::span<const std::string_view> common_words(Language language);  // ascending

}  // namespace palimpsest
