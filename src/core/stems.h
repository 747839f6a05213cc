// Words to terms: what of a word is compared when texts are searched.
//
// A term is the stem of a word in the language of its message. The language is guessed from the
// small words that it uses; what cannot be guessed counts as English. A query does not say its
// language, so it asks for the stems of every language that the texts were found to be in.
// Endings are known by their accents, which not everybody writes: a word that has some is also
// found, and asked for, by the stem of the word without them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"

namespace palimpsest {

// Numbers are stored in indexes: only ever append.
enum class Language : std::uint8_t {
    english,
    german,
    french,
    spanish,
    portuguese,
    italian,
    dutch,
    swedish,
    danish,
    norwegian,
    finnish,
    russian,
    turkish,
    hungarian,
    romanian,
};
constexpr std::size_t language_count = 15;
using Languages = std::uint32_t;  // a set: bit 1 << Language
constexpr Languages only_language(Language language) {
    return Languages{1} << static_cast<unsigned>(language);
}

// A word that says little in that language: "the", "und".
bool is_common_word(std::string_view folded, Language language);
Language guess_language(const std::vector<RawWord>& words);

// Which form of its term a word is: 0 for the term itself, else one of 255 by its letters.
std::uint8_t form_mark(const RawWord& word, std::string_view term);

// Makes terms. Remembers what it has stemmed lately, so one per thread and not shared.
class Stemmer {
public:
    Stemmer();
    ~Stemmer();
    Stemmer(const Stemmer&) = delete;
    Stemmer& operator=(const Stemmer&) = delete;

    // Valid until the next call.
    const std::string& term(const RawWord& word, Language language);
    // Calls use(term) with that, and with the term of the word without accents if it is another.
    template <class Use>
    void terms(const RawWord& word, Language language, Use use) {
        const std::string& own = term(word, language);
        use(own);
        if (!has_accents(word)) return;
        const std::string first = own;
        const std::string& bare = term(bare_, language);
        if (bare != first) use(bare);
    }

private:
    bool has_accents(const RawWord& word);  // bare_ is the word without them
    std::string stem(const std::string& word, Language language);
    struct Machines;
    std::unique_ptr<Machines> machines_;
    // One place for each hash, taken over by whoever comes last.
    struct Slot {
        std::string word = {}, term = {};
        Language language = Language::english;
    };
    std::vector<Slot> known_;
    std::size_t misses_ = 0;
    std::string plain_;
    RawWord bare_;
};

}  // namespace palimpsest
