#include "core/bm25.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace palimpsest {
namespace {

constexpr double k1 = 1.2, b = 0.4;
constexpr double near_share = 0.4, far_share = 0.2;  // of neighbours one and two away

bool is_common(const std::string& word) {
    static constexpr std::string_view words[] = {
        "a",    "an",    "and",   "are",  "as",   "at",   "be",   "but", "by",  "can", "did",
        "do",   "for",   "had",   "has",  "have", "he",   "her",  "his", "how", "i",   "if",
        "in",   "is",    "it",    "its",  "me",   "my",   "no",   "not", "of",  "on",  "or",
        "our",  "she",   "so",    "that", "the",  "they", "this", "to",  "was", "we",  "what",
        "when", "where", "which", "who",  "will", "with", "you",  "your"};
    return std::ranges::binary_search(words, word);
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (static_cast<unsigned char>(c) & 0x80) != 0;
}

}  // namespace

std::vector<std::string> search_words(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : ' ';
        if (is_letter(c)) {
            word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            continue;
        }
        if (word.size() > 3 && word.back() == 's') word.pop_back();
        if (!word.empty() && !is_common(word)) words.push_back(word);
        word.clear();
    }
    return words;
}

std::vector<double> bm25_scores(std::span<const std::string> texts, std::string_view query) {
    const std::vector<std::string> asked_words = search_words(query);
    const std::set<std::string> asked(asked_words.begin(), asked_words.end());
    std::vector<std::map<std::string, int>> counts(texts.size());
    std::vector<double> lengths(texts.size());
    std::map<std::string, int> found_in;
    double total = 0;
    for (std::size_t t = 0; t < texts.size(); ++t) {
        const std::vector<std::string> words = search_words(texts[t]);
        lengths[t] = static_cast<double>(words.size());
        total += lengths[t];
        for (const std::string& word : words)
            if (asked.contains(word) && ++counts[t][word] == 1) ++found_in[word];
    }
    const double mean =
        texts.empty() ? 1 : std::max(total / static_cast<double>(texts.size()), 1.0);
    std::vector<double> own(texts.size());
    for (std::size_t t = 0; t < texts.size(); ++t)
        for (const auto& [word, count] : counts[t]) {
            const double n = found_in[word];
            const double rare =
                std::log(1 + (static_cast<double>(texts.size()) - n + 0.5) / (n + 0.5));
            const double often = count * (k1 + 1) / (count + k1 * (1 - b + b * lengths[t] / mean));
            own[t] += rare * often;
        }
    std::vector<double> scores = own;
    const auto at = [&](std::size_t t, std::size_t away, bool before) {
        if (before) return t >= away ? own[t - away] : 0.0;
        return t + away < own.size() ? own[t + away] : 0.0;
    };
    for (std::size_t t = 0; t < own.size(); ++t)
        scores[t] += near_share * std::max(at(t, 1, true), at(t, 1, false)) +
                     far_share * std::max(at(t, 2, true), at(t, 2, false));
    return scores;
}

}  // namespace palimpsest
