// Vectors of the evaluation's texts by the local embedder, kept in a folder between runs: making
// them takes minutes, comparing them no time. They are kept in small pieces, so that a run that was
// stopped is not begun again.
#pragma once
#include <cstring>
#include <ctime>
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
        std::vector<float> rows;
        rows.reserve(texts.size() * embedder_->dimension());
        for (std::size_t from = 0; from < texts.size(); from += piece_texts) {
            const std::size_t count = std::min(piece_texts, texts.size() - from);
            const auto piece = piece_of(std::span(texts).subspan(from, count), queries);
            rows.insert(rows.end(), piece.begin(), piece.end());
        }
        return rows;
    }
    // What was not there yet.
    std::size_t made() const { return made_; }
    double made_s() const { return made_s_; }
    std::size_t dimension() const { return embedder_->dimension(); }

private:
    static constexpr std::size_t piece_texts = 64;

    std::vector<float> piece_of(std::span<const std::string> texts, bool queries) {
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
        const std::clock_t start = std::clock();
        const auto made = queries ? embedder_->embed_queries(texts) : embedder_->embed(texts);
        for (std::size_t i = 0; made && i < texts.size(); ++i)
            std::memcpy(rows.data() + i * embedder_->dimension(), (*made)[i].data(),
                        embedder_->dimension() * sizeof(float));
        made_ += texts.size();
        made_s_ += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(rows.data()), bytes);
        return rows;
    }

    std::shared_ptr<Embedder> embedder_;
    std::filesystem::path folder_;
    std::size_t made_ = 0;
    double made_s_ = 0;  // of the processor
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
