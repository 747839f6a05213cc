#include "core/bm25.h"

#include "core/rank.h"

namespace palimpsest {

std::vector<std::string> search_words(std::string_view text) {
    Stemmer stemmer;
    const std::vector<RawWord> words = split_words(text);
    const Language language = guess_language(words);
    std::vector<std::string> terms;
    for (const RawWord& word : words) {
        if (word.kind == WordKind::single || word.kind == WordKind::whole) continue;
        if (word.kind == WordKind::name) continue;
        if (!is_common_word(word.text, language)) terms.push_back(stemmer.term(word, language));
    }
    return terms;
}

std::vector<double> bm25_scores(std::span<const std::string> texts, std::string_view query) {
    Stemmer stemmer;
    WordIndex index;
    for (std::size_t t = 0; t < texts.size(); ++t)
        index.add({Seq{t + 1}, {}, Role::user, texts[t], {}}, stemmer);
    std::vector<double> scores(texts.size());
    const RankScope scope{&index, seq_max};
    const SearchQuery asked = read_query(query, index.languages(), stemmer);
    RankWeights weights;
    weights.description_words = 0;
    for (const Ranked& ranked : rank({&scope, 1}, asked, {}, texts.size(), weights))
        scores[ranked.message] = ranked.score;
    return scores;
}

}  // namespace palimpsest
