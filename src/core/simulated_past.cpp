#include "core/simulated_past.h"

#include "core/vectors.h"

namespace palimpsest {

void SimulatedPast::add(const Quotable& said, Time at) {
    const Quotable& kept = said_[said.seq] = said;
    const auto message = static_cast<std::uint32_t>(words_.messages().size());
    words_.add({kept.seq, at, kept.role, kept.text, {}}, stemmer_);
    if (!embed_) return;
    std::uint32_t place = 0;
    for (const PassageBounds& bounds : split_passages(kept.text, split_words(kept.text))) {
        if (bounds.first_word < bounds.last_word) {
            waiting_.push_back(kept.text.substr(bounds.begin, bounds.end - bounds.begin));
            passages_.push_back({message, place});
        }
        ++place;
    }
}

void SimulatedPast::embed_new() {
    if (waiting_.empty()) return;
    for (const std::vector<float>& row : embed_(waiting_, Embedded::said))
        rows_.insert(rows_.end(), row.begin(), row.end());
    waiting_.clear();
}

std::vector<VectorRow> SimulatedPast::near(const std::string& question) const {
    std::vector<VectorRow> best(words_.messages().size());
    const auto asked = embed_({&question, 1}, Embedded::questions);
    if (asked.empty() || rows_.size() != passages_.size() * asked.front().size()) return best;
    std::vector<float> cosines(passages_.size());
    dot_products(rows_, asked.front(), cosines);
    for (std::size_t i = 0; i < cosines.size(); ++i)
        if (VectorRow& row = best[passages_[i].message]; cosines[i] > row.cosine)
            row = {cosines[i], passages_[i].place};
    return best;
}

std::vector<Candidate> SimulatedPast::search(const std::string& question, std::size_t limit) {
    RankScope scope{&words_, seq_max};
    std::vector<VectorRow> rows;
    if (embed_) {
        embed_new();
        rows = near(question);
        scope.vectors = rows;
    }
    const SearchQuery asked = read_query(
        embed_ ? without_quotes(question) : telling_words(question), words_.languages(), stemmer_);
    std::vector<Candidate> found;
    for (const Ranked& one : rank({&scope, 1}, asked, {}, limit))
        found.push_back({one.seq, one.passage, one.score});
    return found;
}

}  // namespace palimpsest
