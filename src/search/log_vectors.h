// The vectors of one log's passages, kept in step with it as its words are (log_words.h).
//
// The model's name and the dimension are stored with them: another model starts again. Vectors cost
// money or time, so what was embedded is kept as records at once.
//
// Stored form (little endian): "PALV", version u32, dimension u32, rows u32, length u32 and bytes
// of the model's name; then seqs u64, passages u32, and the vectors, floats of 32 bits.
#pragma once
#include <string>
#include <vector>

#include "palimpsest/search.h"
#include "palimpsest/store.h"

namespace palimpsest {

class LogVectors {
public:
    explicit LogVectors(bool keep) : keep_(keep) {}

    // Embeds what the header says is new.
    Result<void> update(Store& store, const Header& header, Embedder& embedder);
    bool is_current(const Header& header, const Embedder& embedder) const {
        return known_ && epoch_ == header.epoch && upto_ >= header.end &&
               model_ == embedder.model();
    }

    struct Found {
        Seq seq = {};
        std::uint32_t passage = 0;
        float cosine = 0;
    };
    // Of each message up to that seq its best passage, in no order.
    std::vector<Found> scan(std::span<const float> query, Seq upto) const;
    std::size_t rows() const { return seqs_.size(); }
    std::size_t bytes() const { return vectors_.size() * sizeof(float) + seqs_.size() * 12; }

private:
    void start(Store& store, const Header& header, const Embedder& embedder);
    Result<void> embed(const std::vector<std::string>& texts, Embedder& embedder);
    std::string stored() const;
    bool open(std::string_view stored, const std::string& model);

    bool keep_ = false, known_ = false;
    std::uint64_t epoch_ = 0;
    Seq upto_ = {};
    std::string model_ = {};
    std::size_t dimension_ = 0;
    std::vector<std::uint64_t> seqs_;  // of each row
    std::vector<std::uint32_t> passages_;
    std::vector<float> vectors_;
};

}  // namespace palimpsest
