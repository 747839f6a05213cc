// A tokenizer from a Hugging Face tokenizer.json: byte-level BPE (Llama 3, Qwen, DeepSeek, GPT-2
// and GPT-4o form). Everything is checked when it is loaded; a pipeline that we cannot follow to
// the letter is refused with what is missing.
//
// Added (special) tokens are text here, as for the built-in encodings, and what a post-processor
// would add around a text is not added. Bytes that are not UTF-8 are one piece from the first of
// them on.
#pragma once
#include "palimpsest/error.h"
#include "palimpsest/tokenizer.h"
#include "token/split_stage.h"
#include "token/table_layout.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace palimpsest {

class JsonTokenizer final : public Tokenizer {
public:
    struct Merge {
        std::uint32_t rank = 0;
        Token token = 0;
    };
    struct Parts {
        std::string name;
        std::uint16_t scheme = scheme_own_first;
        bool nfc = false;  // Text is put into Unicode's normalisation form C first.
        std::vector<Stage> stages;
        bool whole_words = false;  // A piece that is a token is not merged ("ignore_merges").
        std::vector<Token> bytes;  // The token of each byte.
        std::unordered_map<std::string, Token> words;
        std::unordered_map<Token, std::string> added;     // Only to decode them.
        std::unordered_map<std::uint64_t, Merge> merges;  // by pair_key
    };
    explicit JsonTokenizer(Parts parts);

    std::string_view name() const override { return parts_.name; }
    std::uint16_t scheme() const override { return parts_.scheme; }
    std::uint64_t count(std::string_view text) const override { return encode(text).size(); }
    std::vector<Token> encode(std::string_view text) const;
    // `invalid_request` names the first id that does not exist.
    Result<std::string> decode(std::span<const Token> tokens) const;

private:
    void merge(std::string_view piece, std::vector<Token>& out) const;
    void encode_valid(std::string_view text, std::vector<Token>& out) const;

    Parts parts_;
    std::unordered_map<Token, std::string_view> bytes_of_;  // Looks into parts_.words.
};

struct TokenizerFile {
    std::string_view json;
    std::string name;  // What the tokenizer calls itself.
    std::uint16_t scheme = scheme_own_first;
};
// invalid_request if it is not such a file, unprocessable if a part of it is not supported.
Result<std::shared_ptr<const JsonTokenizer>> load_tokenizer_json(const TokenizerFile& file);

}  // namespace palimpsest
