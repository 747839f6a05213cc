#include "core/query.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/utf8.h"

namespace palimpsest {
namespace {

struct Piece {
    std::string_view text = {};
    bool quoted = false;
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> quote_marks{
    {{"\"", "\""},
     {"\u201c", "\u201d"},
     {"\u201e", "\u201c"},
     {"\u00ab", "\u00bb"},
     {"\u300c", "\u300d"}}};

// The text between and inside of quotes; an open quote is an ordinary character.
std::vector<Piece> split_quotes(std::string_view text) {
    std::vector<Piece> pieces;
    std::size_t plain = 0;
    for (std::size_t at = 0; at < text.size();) {
        bool found = false;
        for (const auto& [open, close] : quote_marks) {
            if (!text.substr(at).starts_with(open)) continue;
            const std::size_t inside = at + open.size();
            const std::size_t end = text.find(close, inside);
            if (end == std::string_view::npos) continue;
            pieces.push_back({text.substr(plain, at - plain), false});
            pieces.push_back({text.substr(inside, end - inside), true});
            at = plain = end + close.size();
            found = true;
            break;
        }
        if (!found) ++at;
    }
    pieces.push_back({text.substr(plain), false});
    return pieces;
}

AskedWord asked_word(const RawWord& word, Languages languages, Stemmer& stemmer) {
    AskedWord asked;
    asked.shown = word.text;
    for (std::size_t l = 0; l < language_count; ++l) {
        const auto language = static_cast<Language>(l);
        if (!(languages & only_language(language))) continue;
        const std::string& term = stemmer.term(word, language);
        if (std::ranges::find(asked.terms, term) == asked.terms.end()) asked.terms.push_back(term);
        asked.common =
            asked.common || (word.kind == WordKind::plain && is_common_word(word.text, language));
    }
    return asked;
}

// A single character of a script without blanks asks for less than the pair that it is in.
bool is_asked(const std::vector<RawWord>& words, std::size_t i) {
    if (words[i].kind != WordKind::single) return true;
    const bool next_pair = i + 1 < words.size() && words[i + 1].kind == WordKind::pair;
    const bool after_pair = i > 0 && words[i - 1].kind == WordKind::pair;
    return !next_pair && !after_pair;
}

}  // namespace

std::string without_quotes(std::string_view text) {
    std::string plain(text);
    for (const auto& [open, close] : quote_marks)
        for (const std::string_view mark : {open, close})
            for (std::size_t at = 0; (at = plain.find(mark, at)) != plain.npos;)
                plain.replace(at, mark.size(), " ");
    return plain;
}

SearchQuery read_query(std::string_view text, Languages languages, Stemmer& stemmer) {
    SearchQuery query;
    languages |= only_language(Language::english);
    std::set<std::vector<std::string>> seen;
    for (const Piece& piece : split_quotes(utf8_prefix(text, query_bytes_max))) {
        const std::vector<RawWord> words = split_words(piece.text);
        std::vector<AskedWord> phrase;
        for (std::size_t i = 0; i < words.size() && query.words.size() < query_words_max; ++i) {
            if (!is_asked(words, i)) continue;
            AskedWord asked = asked_word(words[i], languages, stemmer);
            if (words[i].kind != WordKind::whole) phrase.push_back(asked);
            if (seen.insert(asked.terms).second) query.words.push_back(std::move(asked));
        }
        if (!piece.quoted || phrase.empty()) continue;
        query.quotes.push_back(std::move(phrase));
        query.quoted.emplace_back(piece.text);
    }
    return query;
}

}  // namespace palimpsest
