#include "search/log_vectors.h"

#include <algorithm>
#include <cstring>

#include "core/recollect.h"
#include "core/vectors.h"
#include "core/word_index.h"
#include "search/message_text.h"
#include "search/stored_parts.h"

namespace palimpsest {
namespace {

constexpr std::size_t batch_texts = 64;
constexpr std::size_t page_messages = 64;
constexpr std::string_view magic = "PALV";
constexpr std::uint32_t version = 1;

template <class Numbers>
void append_numbers(std::string& out, const Numbers& numbers) {
    const std::span all(numbers);
    out.append(reinterpret_cast<const char*>(all.data()), all.size_bytes());
}
template <class Number>
bool take_numbers(std::string_view& from, std::vector<Number>& out, std::size_t count) {
    if (from.size() / sizeof(Number) < count) return false;
    out.resize(count);
    if (count > 0) std::memcpy(out.data(), from.data(), count * sizeof(Number));
    from.remove_prefix(count * sizeof(Number));
    return true;
}

}  // namespace

Result<void> embed_page(Embedder& embedder, VectorPage& page) {
    for (std::size_t from = 0; from < page.texts.size(); from += batch_texts) {
        const std::size_t count = std::min(batch_texts, page.texts.size() - from);
        PAL_TRY(made, embedder.embed(std::span(page.texts).subspan(from, count)));
        for (std::vector<float>& vector : made) {
            if (page.dimension == 0) page.dimension = vector.size();
            if (vector.size() != page.dimension || made.size() != count)
                return fail(ErrorCode::upstream_failed, "the embedder " + embedder.model() +
                                                            " gives vectors of different sizes");
            if (!has_direction(vector))
                return fail(ErrorCode::upstream_failed,
                            "the embedder " + embedder.model() +
                                " gives a vector without a direction: zeros, or what is no number");
            normalize(vector);
            page.vectors.insert(page.vectors.end(), vector.begin(), vector.end());
        }
    }
    return {};
}

void LogVectors::clear() {
    seqs_.clear();
    passages_.clear();
    vectors_.clear();
    dimension_ = 0;
    kept_rows_ = 0;
}

void LogVectors::start(Store& store, const Header& header, const Embedder& embedder) {
    if (is_of(embedder) && epoch_ == header.epoch) return;
    clear();
    known_ = true;
    epoch_ = header.epoch;
    upto_ = header.base;
    model_ = embedder.model();
    if (!keep_) return;
    const auto kept = load_parts(store, vectors_space, header);
    if (!kept || !open(kept->bytes, model_)) return;
    if (!is_of(embedder)) return clear();
    upto_ = Seq{kept->state.upto};
    kept_rows_ = seqs_.size();
}

Result<VectorPage> LogVectors::read_page(Store& store, const Header& header) const {
    VectorPage page;
    page.after = upto_;
    ReadQuery query{.ranges = {{upto_ + 1, header.end}}, .kinds = only(EntryKind::message)};
    query.limit = page_messages;
    PAL_TRY(entries, store.read(header.log, query));
    for (const Entry& entry : entries) {
        const auto* said = std::get_if<MessageEntry>(&entry.body);
        if (!said || is_recalled(said->message)) continue;
        const std::string text = search_text(said->message).text;
        std::uint32_t passage = 0;
        for (const PassageBounds& bounds : split_passages(text, split_words(text))) {
            if (bounds.first_word < bounds.last_word) {
                page.texts.push_back(text.substr(bounds.begin, bounds.end - bounds.begin));
                page.seqs.push_back(entry.seq.value);
                page.passages.push_back(passage);
            }
            ++passage;
        }
    }
    page.upto = entries.size() < page_messages ? header.end : entries.back().seq;
    return page;
}

Result<void> LogVectors::add(const VectorPage& page) {
    if (page.after != upto_ || page.vectors.size() != page.seqs.size() * page.dimension)
        return fail(ErrorCode::internal, "vectors that do not follow on those that are there");
    if (!page.seqs.empty()) {
        if (dimension_ == 0) dimension_ = page.dimension;
        if (dimension_ != page.dimension)
            return fail(ErrorCode::upstream_failed,
                        "the embedder " + model_ + " gives vectors of different sizes");
    }
    seqs_.insert(seqs_.end(), page.seqs.begin(), page.seqs.end());
    passages_.insert(passages_.end(), page.passages.begin(), page.passages.end());
    vectors_.insert(vectors_.end(), page.vectors.begin(), page.vectors.end());
    upto_ = page.upto;
    return {};
}

Result<void> LogVectors::save(Store& store, const Header& header, bool all) {
    const std::size_t fresh = seqs_.size() - kept_rows_;
    if (!keep_ || fresh == 0 || (!all && fresh < kept_rows_ / 8)) return {};
    PAL_CHECK(save_parts(store, vectors_space, header, {epoch_, upto_.value, 0}, stored()));
    kept_rows_ = seqs_.size();
    return {};
}

std::vector<LogVectors::Found> LogVectors::scan(std::span<const float> query, Seq upto,
                                                std::size_t from) const {
    std::vector<Found> found;
    const std::size_t to = rows_upto(upto);
    if (query.size() != dimension_ || from >= to) return found;
    std::vector<float> cosines(to - from);
    dot_products(vectors(from, to - from), query, cosines);
    for (std::size_t i = from; i < to; ++i) {
        const Found one{Seq{seqs_[i]}, passages_[i], cosines[i - from]};
        if (found.empty() || found.back().seq != one.seq)
            found.push_back(one);
        else if (one.cosine > found.back().cosine)
            found.back() = one;
    }
    return found;
}

std::optional<LogVectors::Found> LogVectors::best_of(std::span<const float> query, Seq seq) const {
    const auto first = std::ranges::lower_bound(seqs_, seq.value);
    auto found = scan(query, seq, static_cast<std::size_t>(first - seqs_.begin()));
    return found.empty() ? std::nullopt : std::optional(found.front());
}

std::size_t LogVectors::rows_upto(Seq upto) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(seqs_, upto.value) - seqs_.begin());
}

std::span<const float> LogVectors::vectors(std::size_t from, std::size_t count) const {
    from = std::min(from, rows());
    return std::span(vectors_).subspan(from * dimension_,
                                       std::min(count, rows() - from) * dimension_);
}

std::string LogVectors::stored() const {
    std::string out(magic);
    const std::uint32_t head[] = {version, static_cast<std::uint32_t>(dimension_),
                                  static_cast<std::uint32_t>(seqs_.size()),
                                  static_cast<std::uint32_t>(model_.size())};
    append_numbers(out, head);
    out += model_;
    append_numbers(out, seqs_);
    append_numbers(out, passages_);
    append_numbers(out, vectors_);
    return out;
}

bool LogVectors::open(std::string_view stored, const std::string& model) {
    std::vector<std::uint32_t> head;
    if (!stored.starts_with(magic)) return false;
    stored.remove_prefix(magic.size());
    if (!take_numbers(stored, head, 4) || head[0] != version) return false;
    if (stored.substr(0, head[3]) != model) return false;
    stored.remove_prefix(head[3]);
    const std::size_t rows = head[2];
    std::vector<std::uint64_t> seqs;
    std::vector<std::uint32_t> passages;
    std::vector<float> vectors;
    if (!take_numbers(stored, seqs, rows) || !take_numbers(stored, passages, rows) ||
        !take_numbers(stored, vectors, rows * head[1]))
        return false;
    dimension_ = head[1];
    seqs_ = std::move(seqs);
    passages_ = std::move(passages);
    vectors_ = std::move(vectors);
    return true;
}

}  // namespace palimpsest
