// The stemmers are Snowball's (libstemmer). Their handles keep state, hence one set per Stemmer.
#include "core/stems.h"

#include <libstemmer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "core/common_words.h"

namespace palimpsest {
namespace {

constexpr std::size_t known_slots = 16'384;
constexpr std::size_t misses_before_keeping = 200;

struct CloseStemmer {
    void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

constexpr const char* names[language_count] = {
    "english", "german",    "french",  "spanish", "portuguese", "italian",   "dutch",   "swedish",
    "danish",  "norwegian", "finnish", "russian", "turkish",    "hungarian", "romanian"};

bool is_cyrillic(std::string_view word) {
    const auto lead = static_cast<unsigned char>(word.empty() ? 0 : word[0]);
    return lead == 0xd0 || lead == 0xd1;
}

bool is_stemmed(const RawWord& word) {
    return word.kind == WordKind::plain || word.kind == WordKind::name;
}

}  // namespace

struct Stemmer::Machines {
    std::array<std::unique_ptr<sb_stemmer, CloseStemmer>, language_count> rows;
};

Stemmer::Stemmer() : machines_(std::make_unique<Machines>()) {}
Stemmer::~Stemmer() = default;

bool is_common_word(std::string_view folded, Language language) {
    return (common_in(folded) & only_language(language)) != 0;
}

std::uint8_t form_mark(const RawWord& word, std::string_view term) {
    if (!is_stemmed(word) || word.text == term) return 0;
    const std::string form = strip_accents(word.text);
    if (form == term) return 0;
    std::uint32_t hash = 2166136261U;  // FNV-1a: marks are stored, so every build makes the same.
    for (const char c : form) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return static_cast<std::uint8_t>(1 + (hash ^ hash >> 16) % 255);
}

Language guess_language(const std::vector<RawWord>& words) {
    std::array<std::uint32_t, language_count> found{};
    std::size_t seen = 0;
    for (const RawWord& word : words) {
        if (word.kind != WordKind::plain) continue;
        if (++seen > 64) break;
        for (Languages rest = common_in(word.text); rest != 0; rest &= rest - 1)
            ++found[static_cast<std::size_t>(std::countr_zero(rest))];
    }
    // English unless another has clearly more: its words are the ones found in every text.
    std::size_t best = 0;
    for (std::size_t l = 1; l < language_count; ++l)
        if (found[l] >= 2 && found[l] > found[best] + (best == 0 ? found[0] / 4 : 0)) best = l;
    return static_cast<Language>(best);
}

std::string Stemmer::stem(const std::string& word, Language language) {
    const auto index = static_cast<std::size_t>(language);
    auto& machine = machines_->rows[index];
    if (!machine) machine.reset(sb_stemmer_new(names[index], "UTF_8"));
    if (!machine) return strip_accents(word);
    const auto* bytes =
        sb_stemmer_stem(machine.get(), reinterpret_cast<const sb_symbol*>(word.data()),
                        static_cast<int>(word.size()));
    if (!bytes) return strip_accents(word);
    return strip_accents({reinterpret_cast<const char*>(bytes),
                          static_cast<std::size_t>(sb_stemmer_length(machine.get()))});
}

bool Stemmer::has_accents(const RawWord& word) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (!is_stemmed(word) || std::ranges::all_of(word.text, is_ascii)) return false;
    bare_.text = strip_accents(word.text);
    return bare_.text != word.text;
}

const std::string& Stemmer::term(const RawWord& word, Language language) {
    if (!is_stemmed(word)) {
        plain_ = strip_accents(word.text);
        return plain_;
    }
    if (is_cyrillic(word.text)) language = Language::russian;
    // A query has few words: for them the room is not worth its price.
    if (known_.empty() && ++misses_ > misses_before_keeping) known_.resize(known_slots);
    if (known_.empty()) {
        plain_ = stem(word.text, language);
        return plain_;
    }
    Slot& slot = known_[std::hash<std::string>{}(word.text) % known_slots];
    if (slot.language != language || slot.word != word.text) {
        slot.term = stem(word.text, language);
        slot.word = word.text;
        slot.language = language;
    }
    return slot.term;
}

}  // namespace palimpsest
