// What was asked for, as terms. A query is text: nothing in it can fail, and only quotes mean
// something, namely that these words stand there in this order.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/stems.h"

namespace palimpsest {

struct AskedWord {
    std::vector<std::string> terms = {};  // its stems by language; any of them counts
    double weight = 1;
    std::string shown = {};  // folded, as it was asked
    bool common = false;
    bool quoted = false;  // stands in quotes only
};
// A word that must stand there as it was written.
struct QuotedTerm {
    std::string text = {};
    std::uint8_t mark = 0;  // form_mark of the word
};
struct QuotedWord {
    std::string text = {};               // folded, without accents
    std::uint32_t offset = 0;            // of its position from that of the first
    std::vector<QuotedTerm> terms = {};  // its stems by language
};
using Quote = std::vector<QuotedWord>;  // not empty, in order
struct SearchQuery {
    std::vector<AskedWord> words = {};  // different ones
    std::vector<Quote> quotes = {};
    // It had too many bytes, or words: not all of it is asked for.
    bool cut_bytes = false, cut_words = false;
    bool empty() const { return words.empty(); }
};

// A longer query loses its middle: what a long text asks stands at its begin or its end. A query
// with too many bytes has no quotes. All quotes together have at most so many words, too.
constexpr std::size_t query_bytes_max = 16 * 1024;
constexpr std::size_t query_words_max = 256;

// `languages`: those of the texts.
SearchQuery read_query(std::string_view text, Languages languages, Stemmer& stemmer);
// A text that is not a query: what stands in quotes is words like others.
std::string without_quotes(std::string_view text);

}  // namespace palimpsest
