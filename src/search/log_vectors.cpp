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
constexpr std::size_t page_messages = 200;
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

void LogVectors::start(Store& store, const Header& header, const Embedder& embedder) {
    seqs_.clear();
    passages_.clear();
    vectors_.clear();
    dimension_ = 0;
    known_ = true;
    epoch_ = header.epoch;
    upto_ = header.base;
    model_ = embedder.model();
    if (!keep_) return;
    const auto kept = load_parts(store, vectors_space, header);
    if (kept && open(kept->bytes, model_)) upto_ = Seq{kept->state.upto};
}

Result<void> LogVectors::update(Store& store, const Header& header, Embedder& embedder) {
    if (is_current(header, embedder)) return {};
    if (!known_ || epoch_ != header.epoch || model_ != embedder.model())
        start(store, header, embedder);
    const std::size_t before = seqs_.size();
    while (upto_ < header.end) {
        ReadQuery query{.ranges = {{upto_ + 1, header.end}}, .kinds = only(EntryKind::message)};
        query.limit = page_messages;
        PAL_TRY(entries, store.read(header.log, query));
        std::vector<std::string> texts;
        std::vector<std::uint64_t> seqs;
        std::vector<std::uint32_t> passages;
        for (const Entry& entry : entries) {
            const auto* said = std::get_if<MessageEntry>(&entry.body);
            if (!said || is_recalled(said->message)) continue;
            const std::string text = search_text(said->message).text;
            std::uint32_t passage = 0;
            for (const PassageBounds& bounds : split_passages(text, split_words(text))) {
                if (bounds.first_word < bounds.last_word) {
                    texts.push_back(text.substr(bounds.begin, bounds.end - bounds.begin));
                    seqs.push_back(entry.seq.value);
                    passages.push_back(passage);
                }
                ++passage;
            }
        }
        PAL_CHECK(embed(texts, embedder));
        seqs_.insert(seqs_.end(), seqs.begin(), seqs.end());
        passages_.insert(passages_.end(), passages.begin(), passages.end());
        upto_ = entries.size() < page_messages ? header.end : entries.back().seq;
    }
    if (keep_ && seqs_.size() > before)
        PAL_CHECK(save_parts(store, vectors_space, header, {epoch_, upto_.value, 0}, stored()));
    return {};
}

Result<void> LogVectors::embed(const std::vector<std::string>& texts, Embedder& embedder) {
    std::vector<float> fresh;
    std::size_t dimension = dimension_;
    for (std::size_t from = 0; from < texts.size(); from += batch_texts) {
        const std::size_t count = std::min(batch_texts, texts.size() - from);
        PAL_TRY(made, embedder.embed(std::span(texts).subspan(from, count)));
        for (std::vector<float>& vector : made) {
            if (dimension == 0) dimension = vector.size();
            if (vector.size() != dimension || made.size() != count)
                return fail(ErrorCode::upstream_failed,
                            "the embedder " + model_ + " gives vectors of different sizes");
            normalize(vector);
            fresh.insert(fresh.end(), vector.begin(), vector.end());
        }
    }
    dimension_ = dimension;
    vectors_.insert(vectors_.end(), fresh.begin(), fresh.end());
    return {};
}

std::vector<LogVectors::Found> LogVectors::scan(std::span<const float> query, Seq upto) const {
    std::vector<Found> found;
    if (query.size() != dimension_ || seqs_.empty()) return found;
    std::vector<float> cosines(seqs_.size());
    dot_products(vectors_, query, cosines);
    for (std::size_t i = 0; i < seqs_.size() && seqs_[i] <= upto.value; ++i) {
        const Found one{Seq{seqs_[i]}, passages_[i], cosines[i]};
        if (found.empty() || found.back().seq != one.seq)
            found.push_back(one);
        else if (one.cosine > found.back().cosine)
            found.back() = one;
    }
    return found;
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
