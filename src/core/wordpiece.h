// WordPiece as the uncased models of BERT's family use it: text to the ids of a vocabulary.
//
// Text is text: the name of a special token in it ("[SEP]") is words like others. Control
// characters and broken bytes are left out, case and accents do not count.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest {

class WordPiece {
public:
    // The vocabulary of a tokenizer.json of the type WordPiece. invalid_request for any other.
    static Result<WordPiece> open(std::string_view tokenizer_json);

    // [CLS], the pieces of the words, [SEP]; at most `limit` (2 or more) ids, what is beyond is
    // cut. The work follows the limit, not the text, but for what has no words.
    std::vector<std::uint32_t> encode(std::string_view text, std::size_t limit) const;

    std::size_t size() const { return firsts_.size() + others_.size(); }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    using Pieces = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;
    struct Word {
        std::string text = {};
        std::vector<std::uint32_t> ends = {};  // of its characters
    };
    void end_word(Word& word, std::vector<std::uint32_t>& out) const;
    bool take_pieces(const Word& word, std::vector<std::uint32_t>& out) const;

    Pieces firsts_, others_;  // a word's first piece; those behind it, without their "##"
    std::uint32_t unknown_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace palimpsest
