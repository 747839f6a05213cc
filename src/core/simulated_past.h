// What was said in a simulated conversation, searched as the engine searches a log for recall: by
// words, and by vectors as well where a function makes them. Passages become vectors when they are
// first searched, once each.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/rank.h"
#include "core/recollect.h"

namespace palimpsest {

// Vectors of unit length and one size, a row for each text.
enum class Embedded : std::uint8_t { said, questions };
using EmbedTexts =
    std::function<std::vector<std::vector<float>>(std::span<const std::string> texts, Embedded)>;

class SimulatedPast {
public:
    explicit SimulatedPast(EmbedTexts embed) : embed_(std::move(embed)) {}

    void add(const Quotable& said, Time at);
    std::vector<Candidate> search(const std::string& question, std::size_t limit);
    const Quotable& at(Seq seq) const { return said_.at(seq); }

private:
    struct Passage {
        std::uint32_t message = 0, place = 0;
    };
    void embed_new();
    std::vector<VectorRow> near(const std::string& question) const;

    EmbedTexts embed_;
    Stemmer stemmer_;
    WordIndex words_;
    std::map<Seq, Quotable> said_;
    std::vector<std::string> waiting_;  // passages without a vector, the last ones of all
    std::vector<Passage> passages_;
    std::vector<float> rows_;
};

}  // namespace palimpsest
