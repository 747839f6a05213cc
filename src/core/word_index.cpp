#include "core/word_index.h"

#include <algorithm>

namespace palimpsest {
namespace {

bool ends_sentence(std::string_view between) {
    for (const std::string_view mark : {".", "!", "?", "\n", "。", "！", "？", "।"})
        if (between.contains(mark)) return true;
    return false;
}

std::uint32_t length_of(std::span<const RawWord> words) {
    return static_cast<std::uint32_t>(std::ranges::count_if(words, adds_length));
}

}  // namespace

std::uint32_t read_number(std::string_view bytes, std::size_t& at) {
    std::uint32_t number = 0;
    for (unsigned shift = 0; at < bytes.size() && shift < 35; shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        number |= static_cast<std::uint32_t>(byte & 0x7fU) << shift;
        if (byte < 0x80) return number;
    }
    at = bytes.size();
    return number;
}

void write_number(std::string& out, std::uint32_t number) {
    for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
    out += static_cast<char>(number);
}

std::string tool_term(std::string_view name) {
    return "\x01tool:" + fold_word(name);  // No text gives such a term.
}

std::vector<PassageBounds> split_passages(std::string_view text,
                                          const std::vector<RawWord>& words) {
    std::vector<PassageBounds> bounds;
    PassageBounds now;
    const auto size = static_cast<std::uint32_t>(words.size());
    std::uint32_t count = 0;  // how long the passage is
    for (std::uint32_t w = 1; w < size; ++w) {
        const RawWord &before = words[w - 1], &word = words[w];
        count += adds_length(before);
        if (word.position == before.position || count < passage_words / 2) continue;
        const std::uint32_t from = std::min(before.end, word.begin);
        const bool cut =
            count >= passage_words * 3 / 2 ||
            (count >= passage_words && ends_sentence(text.substr(from, word.begin - from))) ||
            text.substr(from, word.begin - from).contains("\n\n");
        if (!cut) continue;
        now.end = word.begin;
        now.last_word = w;
        bounds.push_back(now);
        now = {word.begin, 0, w, 0};
        count = 0;
    }
    now.end = static_cast<std::uint32_t>(text.size());
    now.last_word = size;
    bounds.push_back(now);
    return bounds;
}

void WordIndex::add_row(const IndexedText& message, std::uint32_t length) {
    MessageRow row;
    row.seq = message.seq.value;
    row.at_ms = message.at.time_since_epoch().count();
    row.first_passage = static_cast<std::uint32_t>(passages_.size());
    row.words = length;
    row.role = static_cast<std::uint8_t>(message.role);
    row.results = message.results ? 1 : 0;
    const bool pause =
        !messages_.empty() && row.at_ms - messages_.back().at_ms > stretch_gap.count();
    if (stretches_.empty() || pause || in_stretch_ >= stretch_messages_max) {
        stretches_.push_back(0);
        in_stretch_ = 0;
    }
    ++in_stretch_;
    row.stretch = static_cast<std::uint32_t>(stretches_.size() - 1);
    stretches_.back() += length;
    count(row);
    messages_.push_back(row);
}

void WordIndex::count(const MessageRow& row) {
    words_ += row.words;
    if (static_cast<Role>(row.role) != Role::user) return;
    user_words_ += row.words;
    ++user_messages_;
}

double WordIndex::verbosity() const {
    const std::size_t others = messages_.size() - user_messages_;
    if (user_words_ == 0 || others == 0) return 1;
    const double user = static_cast<double>(user_words_) / static_cast<double>(user_messages_);
    return static_cast<double>(words_ - user_words_) / static_cast<double>(others) / user;
}

void WordIndex::add(const IndexedText& message, Stemmer& stemmer) {
    if (growing_.empty()) growing_.max_load_factor(0.7F);
    const std::vector<RawWord> words = split_words(message.text);
    const Language language = guess_language(words);
    languages_ |= only_language(language);
    add_row(message, length_of(words));
    MessageRow& row = messages_.back();
    for (const PassageBounds& bounds : split_passages(message.text, words)) {
        const auto passage =
            std::span(words).subspan(bounds.first_word, bounds.last_word - bounds.first_word);
        passages_.push_back({static_cast<std::uint32_t>(messages_.size() - 1), length_of(passage)});
        ++row.passages;
        add_passage(words, bounds, language, stemmer);
    }
    for (const std::string_view tool : message.tools) {
        const Place place{&*growing_.try_emplace(tool_term(tool)).first, 0, 0};
        post(*place.term, row.first_passage, {&place, 1});
    }
}

void WordIndex::add_passage(const std::vector<RawWord>& words, const PassageBounds& bounds,
                            Language language, Stemmer& stemmer) {
    places_.clear();
    for (std::uint32_t w = bounds.first_word; w < bounds.last_word; ++w) {
        stemmer.terms(words[w], language, [&](const std::string& term) {
            places_.push_back(
                {&*growing_.try_emplace(term).first, words[w].position, form_mark(words[w], term)});
        });
    }
    // Words of one term next to each other, positions ascending.
    std::ranges::sort(places_, {},
                      [](const Place& place) { return std::pair(place.term, place.position); });
    const auto passage = static_cast<std::uint32_t>(passages_.size() - 1);
    for (std::size_t from = 0, to = 0; from < places_.size(); from = to) {
        while (to < places_.size() && places_[to].term == places_[from].term) ++to;
        post(*places_[from].term, passage, std::span(places_).subspan(from, to - from));
    }
}

void WordIndex::post(GrowingTerm& term, std::uint32_t passage, std::span<const Place> places) {
    Growing& list = term.second;
    if (list.passages > 0 && list.last_passage == passage) return;  // One tool named twice.
    const bool marked = std::ranges::any_of(places, &Place::mark);
    growing_bytes_ +=
        (list.passages == 0 ? 96 + term.first.size() : 0) + 2 + places.size() * (marked ? 2 : 1);
    write_number(list.bytes, passage - list.last_passage);
    write_number(list.bytes, static_cast<std::uint32_t>(places.size()) << 1 | (marked ? 1U : 0U));
    std::uint32_t before = 0;
    for (const Place& place : places) {
        write_number(list.bytes, place.position - before);
        if (marked) list.bytes += static_cast<char>(place.mark);
        before = place.position;
    }
    list.last_passage = passage;
    ++list.passages;
}

std::size_t WordIndex::bytes() const {
    return stored_.size() + messages_.size() * sizeof(MessageRow) +
           passages_.size() * sizeof(PassageRow) + growing_bytes_;
}

void WordIndex::find(std::string_view term, std::vector<PostingList>& out) const {
    std::size_t low = 0, high = frozen_terms_;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (frozen_name(middle) < term)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < frozen_terms_) {
        const Frozen found = frozen_term(low);
        if (found.term == term) out.push_back({found.bytes, found.passages});
    }
    if (growing_.empty()) return;
    if (const auto at = growing_.find(std::string(term)); at != growing_.end())
        out.push_back({at->second.bytes, at->second.passages});
}

}  // namespace palimpsest
