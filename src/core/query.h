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
};
struct SearchQuery {
    std::vector<AskedWord> words = {};  // different ones
    // Words of each quote, in order, a quote being found where they follow each other.
    std::vector<std::vector<AskedWord>> quotes = {};
    std::vector<std::string> quoted = {};  // the quotes as written
    bool empty() const { return words.empty(); }
};

constexpr std::size_t query_bytes_max = 16 * 1024;  // what is longer is cut
constexpr std::size_t query_words_max = 256;

// `languages`: those of the texts.
SearchQuery read_query(std::string_view text, Languages languages, Stemmer& stemmer);
// A text that is not a query: what stands in quotes is words like others.
std::string without_quotes(std::string_view text);

}  // namespace palimpsest
