// Halves of surrogate pairs in JSON: escapes such as \ud83d that have lost the other half, as a
// text has that was cut inside of an emoji. They are legal JSON, but stand for no character, and
// providers refuse them.
#pragma once
#include <string>
#include <string_view>

namespace palimpsest {

bool has_lone_surrogates(std::string_view json);
// Each one is the escape of U+FFFD instead; all else is as it was.
std::string without_lone_surrogates(std::string_view json);

}  // namespace palimpsest
