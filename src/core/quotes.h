// Quotes: words that stand there as they were written, in that order, next to each other. What is
// between words (blanks, punctuation, the joiners of an identifier) does not matter. Scripts that
// write no blanks are compared character by character.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/word_index.h"

namespace palimpsest {

// The places of the messages that have every quote, ascending, across the passages of a message.
// The index knows forms of words by a mark only: a few messages may be there that have a quote in
// another form. Reads the places of each quoted word once, of the rarest first.
std::vector<std::uint32_t> messages_with(const WordIndex& index, std::span<const Quote> quotes);

// Words of a text, from first to last.
struct QuotePlace {
    std::size_t first = 0, last = 0;
};
// Of each quote: in order, none in another one. `words` are all of the text, as split_words gives
// them.
std::vector<std::vector<QuotePlace>> find_quotes(const std::vector<RawWord>& words,
                                                 std::span<const Quote> quotes);

// Whether every quote of the query stands there.
bool has_quotes(std::string_view text, const SearchQuery& query);

}  // namespace palimpsest
