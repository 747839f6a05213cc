// The vectors of one log's passages, kept in step with it as its words are (log_words.h).
//
// The model's name and the dimension are stored with them: another model starts again, so that one
// scan never sees two. Vectors cost money or time: what was embedded is kept as records when the
// log is current and an eighth of it is new.
//
// Stored form (little endian): "PALV", version u32, dimension u32, rows u32, length u32 and bytes
// of the model's name; then seqs u64, passages u32, and the vectors, floats of 32 bits.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/search.h"
#include "palimpsest/store.h"

namespace palimpsest {

// What was embedded, or is to be: passages of messages, in order.
struct VectorPage {
    Seq after = {}, upto = {};  // the messages that it was made of
    std::vector<std::string> texts = {};
    std::vector<std::uint64_t> seqs = {};
    std::vector<std::uint32_t> passages = {};
    std::vector<float> vectors = {};
    std::size_t dimension = 0;
};
// Texts to vectors of unit length and of one size.
Result<void> embed_page(Embedder& embedder, VectorPage& page);

class LogVectors {
public:
    explicit LogVectors(bool keep) : keep_(keep) {}

    // Starts again, with what is kept, when the epoch or the model is another one.
    void start(Store& store, const Header& header, const Embedder& embedder);
    bool is_current(const Header& header, const Embedder& embedder) const {
        return is_of(embedder) && epoch_ == header.epoch && upto_ >= header.end;
    }
    bool is_of(const Embedder& embedder) const {
        return known_ && model_ == embedder.model() && !is_sized_otherwise(embedder);
    }
    // A model under the name that it had before, with vectors of another size, is another model.
    bool is_sized_otherwise(const Embedder& embedder) const {
        const std::size_t size = embedder.dimension();  // 0: not known yet
        return known_ && model_ == embedder.model() && size != 0 && dimension_ != 0 &&
               dimension_ != size;
    }
    Seq upto() const { return upto_; }
    // What comes next, without vectors.
    Result<VectorPage> read_page(Store& store, const Header& header) const;
    // Only what follows on what is there.
    Result<void> add(const VectorPage& page);
    // When enough is new, or `all`.
    Result<void> save(Store& store, const Header& header, bool all);

    struct Found {
        Seq seq = {};
        std::uint32_t passage = 0;
        float cosine = 0;
    };
    // Of each message up to that seq its best passage, in the order of seqs; of the rows from
    // `from` on.
    std::vector<Found> scan(std::span<const float> query, Seq upto, std::size_t from = 0) const;
    // The best passage of one message; none when it has no vector.
    std::optional<Found> best_of(std::span<const float> query, Seq seq) const;
    std::size_t rows() const { return seqs_.size(); }
    std::size_t rows_upto(Seq upto) const;
    Seq seq_of(std::size_t row) const { return Seq{seqs_[row]}; }
    std::size_t dimension() const { return dimension_; }
    std::uint64_t epoch() const { return epoch_; }
    // At most `count` rows, one behind the other.
    std::span<const float> vectors(std::size_t from, std::size_t count) const;
    std::size_t bytes() const { return vectors_.size() * sizeof(float) + seqs_.size() * 12; }

private:
    void clear();
    std::string stored() const;
    bool open(std::string_view stored, const std::string& model);

    bool keep_ = false, known_ = false;
    std::uint64_t epoch_ = 0;
    Seq upto_ = {};
    std::string model_ = {};
    std::size_t dimension_ = 0;
    std::size_t kept_rows_ = 0;        // in the records
    std::vector<std::uint64_t> seqs_;  // of each row
    std::vector<std::uint32_t> passages_;
    std::vector<float> vectors_;
};

}  // namespace palimpsest
