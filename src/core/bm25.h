// Texts of one conversation beside a question, by the scorer of search (rank.h): for passes, which
// have texts and no index.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest {

// The terms of a text, common words left out.
std::vector<std::string> search_words(std::string_view text);

// One score for each text. All are 0 when none has an asked word; a text that has none itself gets
// a part of what its neighbours have: what was said around an answer belongs to it.
std::vector<double> bm25_scores(std::span<const std::string> texts, std::string_view query);

}  // namespace palimpsest
