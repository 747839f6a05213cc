// Words of a text, as search knows them: the only place that decides what a word is.
//
// Letters of any script, without case and without accents, however they are composed; Chinese,
// Japanese, Korean, Thai, Lao, Khmer and Burmese as pairs of neighbours; an identifier, path,
// number or address whole and in its parts. Broken UTF-8 separates words. Nothing in a text is
// syntax.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest {

// How a word is written down decides what may be done to it.
enum class WordKind : std::uint8_t {
    plain,   // letters: may be stemmed
    number,  // digits, or a mixture
    whole,   // several parts and what joins them, as written
    name,    // letters that capitals cut into parts (iPhone): is to be found like a plain word
    pair,    // two neighbours of a script without blanks
    single,  // one character of such a script
};

struct RawWord {
    std::string text = {};  // folded
    // The parts of a whole follow each other and it is at the first; those of a name are where the
    // name is, so that capitals change no position.
    std::uint32_t position = 0;
    std::uint32_t begin = 0, end = 0;  // its bytes in the text
    WordKind kind = WordKind::plain;
};

constexpr std::size_t word_bytes_max = 64;    // longer words are cut: nobody searches their end
constexpr std::size_t whole_bytes_max = 160;  // longer wholes are only kept in parts

// Whether it adds to the length of a text: not what is made of others, a whole, a name, a pair.
constexpr bool adds_length(const RawWord& word) {
    return word.kind == WordKind::plain || word.kind == WordKind::number ||
           word.kind == WordKind::single;
}

// In the order of their positions. `positions` (may be null) is told how many there are.
std::vector<RawWord> split_words(std::string_view text, std::uint32_t* positions = nullptr);

// Without case, and in one form where Unicode has several.
std::string fold_word(std::string_view word);
// Without accents, and without the vowel signs of Hebrew and Arabic.
std::string strip_accents(std::string_view folded);

}  // namespace palimpsest
