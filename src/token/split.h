// Where the regular expressions of the encodings cut a text into pieces, written by hand.
//
// A Family is one regular expression. piece_end<family>(at, end) gives the end of the piece that
// starts at `at`; the text must be valid UTF-8 and `at` a start of a piece. The functions look at
// no byte before `at`, as the expressions have no look-behind.
//
//   o200k   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|…)?
//           |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|…)?
//           |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//   cl100k  (?i:'s|…)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
//           |\s*[\r\n]+|\s+(?!\S)|\s+
//   qwen    as cl100k with \p{N} alone
//   r50k    's|…| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// where 's|… is 's|'t|'re|'ve|'m|'ll|'d; without case, 's is also ' and U+017F.
#pragma once
#include "token/unicode_ranges.h"

#include <cstdint>

namespace palimpsest {

enum class Family : std::uint8_t { o200k, cl100k, qwen, r50k };

template <Family family>
const char* piece_end(const char* at, const char* end);
extern template const char* piece_end<Family::o200k>(const char*, const char*);
extern template const char* piece_end<Family::cl100k>(const char*, const char*);
extern template const char* piece_end<Family::qwen>(const char*, const char*);
extern template const char* piece_end<Family::r50k>(const char*, const char*);

// The same, chosen at run time.
const char* piece_end(Family family, const char* at, const char* end);

// How long the contraction ('s, 're, …) at `at` is; 0 if there is none.
std::uint32_t contraction(const char* at, const char* end);

}  // namespace palimpsest
