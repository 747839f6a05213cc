// BM25 over texts of one conversation: which of them a question is about.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest {

// Words in lower case, common ones left out, a plural s cut off. Bytes above ASCII count as
// letters.
std::vector<std::string> search_words(std::string_view text);

// One score for each text, 0 when no word is shared. A text also gets a part of its best
// neighbours' scores: what was said around an answer belongs to it.
std::vector<double> bm25_scores(std::span<const std::string> texts, std::string_view query);

}  // namespace palimpsest
