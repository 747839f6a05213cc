// The one scorer of search: BM25 in context.
//
// A message is as good as its best passage, by BM25 over the passages of the scope; what was said
// next to it, and in the same stretch of conversation, counts for a part; statements of people that
// are short beside the answers they get count for more. Where vectors are given, what a message
// gains by its meaning is added to its own score before anything else looks at it. The weights come
// from a sweep, see docs/SEARCH.md. The same messages and the same query give the same scores,
// whatever store they lie in.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/query.h"
#include "core/word_index.h"

namespace palimpsest {

struct RankWeights {
    double k1 = 1.2, b = 0.4;
    double near = 0.5, far = 0.3;  // of the better neighbour one and two messages away
    double stretch = 0.6, stretch_b = 0.7;
    double common = 0.1;                 // of words that say little
    double pair = 0.0;                   // of two asked words that stand next to each other
    double prior = 4, prior_words = 64;  // what a user's statement gains, and at what length half
    // So many words to look for describe something, which may also stand beside them.
    std::ptrdiff_t description_words = 3;
    // With vectors: a cosine one deviation above the mean, in parts of the best score by words; how
    // much of that a neighbour lends; of the stretch as above; of the best message of the stretch.
    double vector = 0.4, vector_near = 0.7, vector_stretch = 0.9, vector_best = 0.75;
};

// What a vector says of a message: the cosine of its best passage, and which that is.
struct VectorRow {
    float cosine = -2;  // below -1: it has none
    std::uint32_t passage = 0;
};

// How near the messages of a scope are, all together.
struct VectorSpread {
    double count = 0, sum = 0, squares = 0;
    void add(float cosine, double times = 1) {
        count += times;
        sum += times * cosine;
        squares += times * cosine * cosine;
    }
};

// One log, or the part of it up to a seq.
struct RankScope {
    const WordIndex* words = nullptr;
    Seq upto = seq_max;
    std::span<const VectorRow> vectors = {};  // by the places of the messages, or none at all
    VectorSpread spread = {};  // when `vectors` has the nearest messages alone; else all are empty
};

// The parts of a score add up to it.
struct ScoreParts {
    double own = 0, vector = 0, near = 0, stretch = 0, prior = 0;
    double sum() const { return own + vector + near + stretch + prior; }
};
struct Ranked {
    std::uint32_t scope = 0;    // its place among the scopes
    std::uint32_t message = 0;  // its place among the messages of that log
    std::uint32_t passage = 0;  // the best one, counted in the message
    Seq seq = {};
    ScoreParts parts = {};
    double score = 0;
};

using RowFilter = std::function<bool(std::size_t scope, const MessageRow& row)>;

// The best `limit` messages that pass the filter, best first; of equals the newer.
// A message shows up when it has an asked word, or its vector is nearer than the mean, or, if
// enough words are asked for, it stands next to one that has.
std::vector<Ranked> rank(std::span<const RankScope> scopes, const SearchQuery& query,
                         const RowFilter& filter, std::size_t limit,
                         const RankWeights& weights = {});

}  // namespace palimpsest
