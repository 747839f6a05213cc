// The stemmers are Snowball's (libstemmer). Their handles keep state, hence one set per Stemmer.
#include "core/stems.h"

#include <libstemmer.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/common_words.h"

namespace palimpsest {
namespace {

constexpr std::size_t known_max = 200'000;  // words; beyond it all are forgotten

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

}  // namespace

struct Stemmer::Machines {
    std::array<std::unique_ptr<sb_stemmer, CloseStemmer>, language_count> rows;
};

Stemmer::Stemmer() : machines_(std::make_unique<Machines>()) {}
Stemmer::~Stemmer() = default;

bool is_common_word(std::string_view folded, Language language) {
    return std::ranges::binary_search(common_words(language), folded);
}

Language guess_language(const std::vector<RawWord>& words) {
    std::array<std::uint32_t, language_count> found{};
    std::size_t seen = 0;
    for (const RawWord& word : words) {
        if (word.kind != WordKind::plain) continue;
        if (++seen > 200) break;
        for (std::size_t l = 0; l < language_count; ++l)
            found[l] += is_common_word(word.text, static_cast<Language>(l));
    }
    // English unless another has clearly more: its words are the ones found in every text.
    std::size_t best = 0;
    for (std::size_t l = 1; l < language_count; ++l)
        if (found[l] >= 2 && found[l] > found[best] + (best == 0 ? found[0] / 4 : 0)) best = l;
    return static_cast<Language>(best);
}

const std::string& Stemmer::term(const RawWord& word, Language language) {
    if (word.kind != WordKind::plain) {
        plain_ = strip_accents(word.text);
        return plain_;
    }
    if (is_cyrillic(word.text)) language = Language::russian;
    const auto index = static_cast<std::size_t>(language);
    auto& known = known_[index];
    if (const auto at = known.find(word.text); at != known.end()) return at->second;
    if (known.size() >= known_max) known.clear();
    auto& machine = machines_->rows[index];
    if (!machine) machine.reset(sb_stemmer_new(names[index], "UTF_8"));
    std::string stem = word.text;
    if (machine) {
        const auto* bytes =
            sb_stemmer_stem(machine.get(), reinterpret_cast<const sb_symbol*>(word.text.data()),
                            static_cast<int>(word.text.size()));
        if (bytes)
            stem.assign(reinterpret_cast<const char*>(bytes),
                        static_cast<std::size_t>(sb_stemmer_length(machine.get())));
    }
    return known.emplace(word.text, strip_accents(stem)).first->second;
}

}  // namespace palimpsest
