#include "core/query.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

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
        stemmer.terms(word, language, [&](const std::string& term) {
            if (std::ranges::find(asked.terms, term) == asked.terms.end())
                asked.terms.push_back(term);
        });
        const bool letters = word.kind == WordKind::plain || word.kind == WordKind::name;
        asked.common = asked.common || (letters && is_common_word(word.text, language));
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

QuotedWord quoted_word(const RawWord& word, Languages languages, Stemmer& stemmer) {
    QuotedWord quoted{strip_accents(word.text), word.position, {}};
    for (std::size_t l = 0; l < language_count; ++l) {
        const auto language = static_cast<Language>(l);
        if (!(languages & only_language(language))) continue;
        stemmer.terms(word, language, [&](const std::string& term) {
            if (std::ranges::find(quoted.terms, term, &QuotedTerm::text) == quoted.terms.end())
                quoted.terms.push_back({term, form_mark(word, term)});
        });
    }
    return quoted;
}

// At most so many words of it, from its begin. A name is one word, however its capitals cut it.
Quote quote_of(const std::vector<RawWord>& words, std::size_t most, Languages languages,
               Stemmer& stemmer, bool& cut) {
    Quote quote;
    for (const RawWord& word : words) {
        if (word.kind == WordKind::whole || word.kind == WordKind::pair) continue;
        if (!quote.empty() && quote.back().offset == word.position) continue;  // part of a name
        if (quote.size() == most) {
            cut = true;
            break;
        }
        quote.push_back(quoted_word(word, languages, stemmer));
    }
    const std::uint32_t first = quote.empty() ? 0 : quote.front().offset;
    for (QuotedWord& word : quote) word.offset -= first;
    return quote;
}

struct Spoken {
    RawWord word = {};
    bool quoted = false;
};

// Those of quotes, then from both ends until there are enough different ones.
std::vector<Spoken> choose(std::vector<Spoken> all, bool& cut) {
    std::unordered_set<std::string> texts;
    std::vector<bool> chosen(all.size());
    const auto take = [&](std::size_t i) {
        const bool full = texts.size() >= query_words_max;
        chosen[i] = full ? texts.contains(all[i].word.text) : true;
        if (!full) texts.insert(all[i].word.text);
    };
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].quoted) take(i);
    for (std::size_t front = 0, back = all.size(); front < back;) {
        take(front++);
        if (front < back) take(--back);
    }
    std::vector<Spoken> kept;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (chosen[i]) kept.push_back(std::move(all[i]));
    cut = cut || kept.size() < all.size();
    return kept;
}

std::string both_ends(std::string_view text) {
    constexpr std::size_t half = query_bytes_max / 2;
    return std::string(utf8_prefix(text, half)) + "\n" + std::string(utf8_suffix(text, half));
}

void ask_words(SearchQuery& query, const std::vector<Spoken>& words, Languages languages,
               Stemmer& stemmer) {
    std::map<std::string, std::size_t> by_text;
    std::map<std::vector<std::string>, std::size_t> by_terms;
    for (const Spoken& one : words) {
        const auto known = by_text.find(one.word.text);
        std::size_t at = known == by_text.end() ? query.words.size() : known->second;
        if (known == by_text.end()) {
            AskedWord asked = asked_word(one.word, languages, stemmer);
            asked.quoted = true;
            at = by_terms.try_emplace(asked.terms, at).first->second;
            by_text[one.word.text] = at;
            if (at == query.words.size()) query.words.push_back(std::move(asked));
        }
        query.words[at].quoted = query.words[at].quoted && one.quoted;
    }
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
    std::string shorter;
    if (text.size() > query_bytes_max) {
        query.cut_bytes = true;
        text = shorter = without_quotes(both_ends(text));
    }
    std::vector<Spoken> all;
    std::size_t room = query_words_max;  // for words of quotes
    for (const Piece& piece : split_quotes(text)) {
        const std::vector<RawWord> words = split_words(piece.text);
        Quote quote;
        if (piece.quoted) quote = quote_of(words, room, languages, stemmer, query.cut_words);
        room -= quote.size();
        for (std::size_t i = 0; i < words.size(); ++i)
            if (is_asked(words, i)) all.push_back({words[i], !quote.empty()});
        if (!quote.empty()) query.quotes.push_back(std::move(quote));
    }
    ask_words(query, choose(std::move(all), query.cut_words), languages, stemmer);
    return query;
}

}  // namespace palimpsest
