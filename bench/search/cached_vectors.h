// Vectors of the evaluation's texts by the local embedder, kept in a folder between runs: making
// them takes minutes, comparing them no time. They are kept in small pieces, so that a run that was
// stopped is not begun again.
#pragma once
#include <cstdio>
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
    std::vector<float> of(std::span<const std::string> texts, bool queries) {
        std::vector<float> rows;
        rows.reserve(texts.size() * embedder_->dimension());
        for (std::size_t from = 0; from < texts.size(); from += piece_texts) {
            const std::size_t count = std::min(piece_texts, texts.size() - from);
            const auto piece = piece_of(texts.subspan(from, count), queries);
            rows.insert(rows.end(), piece.begin(), piece.end());
        }
        return rows;
    }
    std::vector<std::vector<float>> each_of(std::span<const std::string> texts, bool queries) {
        const std::vector<float> rows = of(texts, queries);
        std::vector<std::vector<float>> each;
        for (auto at = rows.begin(); at != rows.end(); at += std::ptrdiff_t(dimension()))
            each.emplace_back(at, at + std::ptrdiff_t(dimension()));
        return each;
    }
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
        const auto made = queries ? embedder_->embed_queries(texts) : embedder_->embed(texts);
        for (std::size_t i = 0; made && i < texts.size(); ++i)
            std::memcpy(rows.data() + i * embedder_->dimension(), (*made)[i].data(),
                        embedder_->dimension() * sizeof(float));
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(rows.data()), bytes);
        return rows;
    }

    std::shared_ptr<Embedder> embedder_;
    std::filesystem::path folder_;
};

// The weights that the build has fetched, and vectors that were made before, lie beside it.
inline std::unique_ptr<CachedVectors> open_cached_vectors(const char* program) {
    const auto cache = std::filesystem::absolute(program).parent_path().parent_path() / "cache";
    auto embedder =
        make_local_embedder((cache / "local-embedder" / "bge-small-en-v1.5.onnx").string());
    if (embedder)
        return std::make_unique<CachedVectors>(*std::move(embedder), cache / "eval-vectors");
    std::printf("words only: %s\n", embedder.error().message.c_str());
    return nullptr;
}

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
