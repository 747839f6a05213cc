// Words to terms: what of a word is compared when texts are searched.
//
// A term is the stem of a word in the language of its message. The language is guessed from the
// small words that it uses; what cannot be guessed counts as English. A query does not say its
// language, so it asks for the stems of every language that the texts were found to be in.
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

private:
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
};

}  // namespace palimpsest
