// The part of a text that shows why it was found.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/query.h"

namespace palimpsest {

struct Snippet {
    std::string text = {};                                        // one line
    std::vector<std::pair<std::size_t, std::size_t>> marks = {};  // begin and end of asked words
};

constexpr std::size_t snippet_bytes = 240;

// Around the most asked words of the passage (counted as split_passages does), or around a quote:
// in that passage where it has one, else where the first is.
Snippet make_snippet(std::string_view text, const SearchQuery& query, std::size_t passage,
                     Stemmer& stemmer, std::size_t bytes = snippet_bytes);

// The bytes of that passage, trimmed.
std::string_view passage_of(std::string_view text, std::size_t passage);

}  // namespace palimpsest
