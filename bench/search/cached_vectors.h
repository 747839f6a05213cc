// Vectors of the evaluation's texts by the local embedder, kept in a folder between runs: making
// them takes minutes, comparing them no time.
#pragma once
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/hash.h"
#include "core/rank.h"
#include "core/vectors.h"
#include "palimpsest/search.h"

namespace palimpsest {

class CachedVectors {
public:
    CachedVectors(std::shared_ptr<Embedder> embedder, std::filesystem::path folder)
        : embedder_(std::move(embedder)), folder_(std::move(folder)) {
        std::filesystem::create_directories(folder_);
    }

    // A row after the other, in the order of the texts.
    std::vector<float> of(const std::vector<std::string>& texts, bool queries) {
        Hasher hasher;
        hasher.field(embedder_->model() + (queries ? " queries" : " passages"));
        for (const std::string& text : texts) hasher.field(text);
        const Fingerprint key = hasher.digest();
        const auto file = folder_ / (std::to_string(key.high) + "-" + std::to_string(key.low));
        std::vector<float> rows(texts.size() * embedder_->dimension());
        const auto bytes = static_cast<std::streamsize>(rows.size() * sizeof(float));
        if (std::ifstream in(file, std::ios::binary);
            in.read(reinterpret_cast<char*>(rows.data()), bytes))
            return rows;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const auto made = queries ? embedder_->embed_queries({&texts[i], 1})
                                      : embedder_->embed({&texts[i], 1});
            if (made)
                std::memcpy(rows.data() + i * embedder_->dimension(), made->front().data(),
                            embedder_->dimension() * sizeof(float));
        }
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(rows.data()), bytes);
        return rows;
    }
    std::size_t dimension() const { return embedder_->dimension(); }

private:
    std::shared_ptr<Embedder> embedder_;
    std::filesystem::path folder_;
};

// The passages of all texts, and what a question's vector says of each text.
struct PassageVectors {
    std::vector<std::string> texts = {};
    std::vector<std::size_t> owners = {};
    std::vector<std::uint32_t> places = {};
    std::vector<float> rows = {};

    void add(std::size_t owner, const std::string& text) {
        std::uint32_t place = 0;
        for (const PassageBounds& bounds : split_passages(text, split_words(text))) {
            if (bounds.first_word < bounds.last_word) {
                texts.push_back(text.substr(bounds.begin, bounds.end - bounds.begin));
                owners.push_back(owner);
                places.push_back(place);
            }
            ++place;
        }
    }
    std::vector<VectorRow> near(std::span<const float> question, std::size_t count) const {
        std::vector<float> cosines(texts.size());
        dot_products(rows, question, cosines);
        std::vector<VectorRow> best(count);
        for (std::size_t i = 0; i < cosines.size(); ++i)
            if (VectorRow& row = best[owners[i]]; cosines[i] > row.cosine)
                row = {cosines[i], places[i]};
        return best;
    }
};

}  // namespace palimpsest
