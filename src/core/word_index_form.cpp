// The stored form of a WordIndex: written by freeze(), checked and used in place by open().
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "core/word_index.h"

namespace palimpsest {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(MessageRow) == 40 && sizeof(PassageRow) == 8);

constexpr std::string_view magic = "PALW";
// Another one when the form changes, or what a word is: the log is then read anew.
constexpr std::uint32_t version = 4;
constexpr std::size_t head_bytes = 8 * 4;

template <class Row>
void append_rows(std::string& out, const std::vector<Row>& rows) {
    out.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
}
template <class Row>
void take_rows(std::string_view from, std::size_t& at, std::size_t count, std::vector<Row>& rows) {
    rows.resize(count);
    if (count > 0) std::memcpy(rows.data(), from.data() + at, count * sizeof(Row));
    at += count * sizeof(Row);
}
std::uint32_t number_at(std::string_view bytes, std::size_t at) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}
void append_fixed(std::string& out, std::size_t number) {
    const auto value = static_cast<std::uint32_t>(number);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

WordIndex::Frozen WordIndex::frozen_term(std::size_t index) const {
    const std::string_view all = stored_;
    const std::size_t from = terms_at_ + number_at(all, offsets_at_ + index * 4);
    const std::size_t to = terms_at_ + number_at(all, offsets_at_ + (index + 1) * 4);
    const std::string_view row = all.substr(from, to - from);
    std::size_t at = 0;
    Frozen frozen;
    const std::size_t length = read_number(row, at);
    frozen.term = row.substr(at, length);
    at += frozen.term.size();
    frozen.passages = read_number(row, at);
    frozen.last_passage = read_number(row, at);
    frozen.bytes = row.substr(at);
    return frozen;
}

std::string_view WordIndex::frozen_name(std::size_t index) const {
    const std::string_view row =
        std::string_view(stored_).substr(terms_at_ + number_at(stored_, offsets_at_ + index * 4));
    std::size_t at = 0;
    const std::size_t length = read_number(row, at);
    return row.substr(at, length);
}

std::string WordIndex::head() const {
    std::string out(magic);
    for (const std::size_t number :
         {std::size_t{version}, std::size_t{languages_}, messages_.size(), passages_.size(),
          stretches_.size(), frozen_terms_, std::size_t{in_stretch_}})
        append_fixed(out, number);
    append_rows(out, messages_);
    append_rows(out, passages_);
    append_rows(out, stretches_);
    return out;
}

const std::string& WordIndex::freeze() {
    if (!stored_.empty() && growing_.empty() && messages_in_memory() == 0) return stored_;
    std::vector<const std::pair<const std::string, Growing>*> fresh;
    for (const auto& row : growing_) fresh.push_back(&row);
    std::ranges::sort(fresh, {}, [](const auto* row) -> const std::string& { return row->first; });
    std::string offsets, terms;
    std::size_t count = 0;
    const auto write = [&](const Frozen& old, const Growing* grown) {
        append_fixed(offsets, terms.size());
        ++count;
        write_number(terms, static_cast<std::uint32_t>(old.term.size()));
        terms += old.term;
        write_number(terms, old.passages + (grown ? grown->passages : 0));
        write_number(terms, grown ? grown->last_passage : old.last_passage);
        terms += old.bytes;
        if (!grown) return;
        // Its first passage was counted from nothing; here it follows another one.
        std::size_t at = 0;
        write_number(terms, read_number(grown->bytes, at) - old.last_passage);
        terms.append(grown->bytes, at);
    };
    auto next = fresh.begin();
    for (std::size_t i = 0; i < frozen_terms_; ++i) {
        const Frozen old = frozen_term(i);
        for (; next != fresh.end() && (*next)->first < old.term; ++next)
            write({(*next)->first, {}, 0, 0}, &(*next)->second);
        const bool grows = next != fresh.end() && (*next)->first == old.term;
        write(old, grows ? &(*next)->second : nullptr);
        next += grows;
    }
    for (; next != fresh.end(); ++next) write({(*next)->first, {}, 0, 0}, &(*next)->second);
    append_fixed(offsets, terms.size());
    frozen_terms_ = count;
    std::string stored = head();
    offsets_at_ = stored.size();
    terms_at_ = offsets_at_ + offsets.size();
    stored += offsets;
    stored += terms;
    stored_ = std::move(stored);
    growing_ = {};
    growing_bytes_ = 0;
    frozen_messages_ = messages_.size();
    return stored_;
}

Result<WordIndex> WordIndex::open(std::string stored) {
    const auto broken = [] {
        return fail(ErrorCode::invalid_request,
                    "the stored search index is damaged; run pal reindex");
    };
    if (stored.size() < head_bytes || !stored.starts_with(magic) || number_at(stored, 4) != version)
        return broken();
    WordIndex index;
    index.languages_ = number_at(stored, 8);
    const std::size_t messages = number_at(stored, 12), passages = number_at(stored, 16),
                      stretches = number_at(stored, 20);
    index.frozen_terms_ = number_at(stored, 24);
    index.in_stretch_ = number_at(stored, 28);
    std::size_t at = head_bytes;
    index.offsets_at_ = at + messages * sizeof(MessageRow) + passages * sizeof(PassageRow) +
                        stretches * sizeof(std::uint32_t);
    index.terms_at_ = index.offsets_at_ + (index.frozen_terms_ + 1) * 4;
    if (index.terms_at_ > stored.size()) return broken();
    take_rows(stored, at, messages, index.messages_);
    take_rows(stored, at, passages, index.passages_);
    take_rows(stored, at, stretches, index.stretches_);
    std::uint32_t before = 0;
    for (std::size_t i = 0; i <= index.frozen_terms_; ++i) {
        const std::uint32_t offset = number_at(stored, index.offsets_at_ + i * 4);
        if (offset < before || offset > stored.size() - index.terms_at_) return broken();
        before = offset;
    }
    for (const PassageRow& row : index.passages_)
        if (row.message >= messages) return broken();
    for (const MessageRow& row : index.messages_) {
        if (row.stretch >= stretches || row.first_passage > passages ||
            row.passages > passages - row.first_passage)
            return broken();
        index.count(row);
    }
    index.frozen_messages_ = messages;
    index.stored_ = std::move(stored);
    return index;
}

}  // namespace palimpsest
