#include "core/snippet.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/utf8.h"
#include "core/quotes.h"
#include "core/word_index.h"

namespace palimpsest {
namespace {

struct Match {
    std::uint32_t begin = 0, end = 0;
    std::string term = {};
    bool common = false;
    bool quoted = false;
};

// What of a text's words is in quotes that stand there.
struct InQuotes {
    std::vector<bool> words = {};          // by word
    std::vector<std::size_t> firsts = {};  // the first words of quotes
};

InQuotes words_in_quotes(const std::vector<RawWord>& words, const SearchQuery& query) {
    InQuotes quoted{std::vector<bool>(words.size()), {}};
    for (const auto& places : find_quotes(words, query.quotes))
        for (const QuotePlace& place : places) {
            quoted.firsts.push_back(place.first);
            for (std::size_t w = place.first; w <= place.last; ++w)
                if (words[w].end <= words[place.last].end) quoted.words[w] = true;
        }
    return quoted;
}

// The one that is named, unless only others have the begin of a quote.
const PassageBounds& passage_to_show(const std::vector<PassageBounds>& all, std::size_t passage,
                                     const InQuotes& quoted) {
    const PassageBounds& named = all[std::min(passage, all.size() - 1)];
    const bool here = std::ranges::any_of(quoted.firsts, [&](std::size_t first) {
        return first >= named.first_word && first < named.last_word;
    });
    if (quoted.firsts.empty() || here) return named;
    const std::size_t first = std::ranges::min(quoted.firsts);
    return *std::ranges::upper_bound(all, first, {}, &PassageBounds::last_word);
}

std::vector<Match> find_matches(const std::vector<RawWord>& words, const PassageBounds& bounds,
                                const SearchQuery& query, const InQuotes& quoted,
                                Stemmer& stemmer) {
    std::unordered_set<std::string> asked, common;
    for (const AskedWord& word : query.words)
        for (const std::string& term : word.terms)
            if (!word.quoted) (word.common ? common : asked).insert(term);
    const Language language = guess_language(words);
    std::vector<Match> matches;
    // A quote may go on behind the passage.
    for (std::uint32_t w = bounds.first_word;
         w < bounds.last_word || (w < words.size() && quoted.words[w]); ++w) {
        std::string term;
        bool little = true, asked_for = quoted.words[w];
        stemmer.terms(words[w], language, [&](const std::string& one) {
            if (term.empty()) term = one;
            little = little && !asked.contains(one);
            asked_for = asked_for || asked.contains(one) || common.contains(one);
        });
        little = little && !quoted.words[w];
        if (!asked_for) continue;
        if (!matches.empty() && words[w].begin < matches.back().end) {
            matches.back().end = std::max(matches.back().end, words[w].end);
            continue;  // A pair goes on, or a whole has this part.
        }
        matches.push_back({words[w].begin, words[w].end, term, little, quoted.words[w]});
    }
    const bool some = std::ranges::any_of(matches, [](const Match& m) { return !m.common; });
    if (some) std::erase_if(matches, [](const Match& m) { return m.common; });
    return matches;
}

// The first of a quote, else the match from which most different words follow within so many bytes.
std::size_t best_start(const std::vector<Match>& matches, std::size_t bytes) {
    const auto quoted = std::ranges::find(matches, true, &Match::quoted);
    if (quoted != matches.end()) return static_cast<std::size_t>(quoted - matches.begin());
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < matches.size(); ++i) {
        std::set<std::string_view> terms;
        for (std::size_t j = i; j < matches.size() && matches[j].end - matches[i].begin <= bytes;
             ++j)
            terms.insert(matches[j].term);
        if (terms.size() > most) {
            most = terms.size();
            best = i;
        }
    }
    return best;
}

bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string one_line(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return out;
}

}  // namespace

std::string_view passage_of(std::string_view text, std::size_t passage) {
    const auto bounds = split_passages(text, split_words(text));
    const PassageBounds& at = bounds[std::min(passage, bounds.size() - 1)];
    std::string_view part = text.substr(at.begin, at.end - at.begin);
    while (!part.empty() && is_blank(part.back())) part.remove_suffix(1);
    return part;
}

Snippet make_snippet(std::string_view text, const SearchQuery& query, std::size_t passage,
                     Stemmer& stemmer, std::size_t bytes) {
    const std::vector<RawWord> words = split_words(text);
    const auto all = split_passages(text, words);
    const InQuotes quoted = words_in_quotes(words, query);
    const PassageBounds& bounds = passage_to_show(all, passage, quoted);
    const auto matches = find_matches(words, bounds, query, quoted, stemmer);
    const std::size_t start = matches.empty() ? 0 : best_start(matches, bytes * 3 / 4);
    std::size_t from = bounds.begin;
    const std::size_t lead = bytes / 5;
    if (!matches.empty() && matches[start].begin > from + lead) {
        from =
            matches[start].begin - utf8_suffix(text.substr(0, matches[start].begin), lead).size();
        // Not in the middle of a word, where there is a blank.
        const std::size_t blank = text.substr(from, lead).find(' ');
        if (blank != std::string_view::npos && from + blank < matches[start].begin)
            from += blank + 1;
    }
    const std::string_view shown = utf8_prefix(text.substr(from), bytes);
    Snippet snippet;
    if (from > 0) snippet.text = "\u2026";
    const std::size_t shift = snippet.text.size();
    snippet.text += one_line(shown);
    if (from + shown.size() < text.size()) snippet.text += "\u2026";
    for (const Match& match : matches)
        if (match.begin >= from && match.end <= from + shown.size())
            snippet.marks.emplace_back(match.begin - from + shift, match.end - from + shift);
    return snippet;
}

}  // namespace palimpsest
