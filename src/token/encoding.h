// A byte-pair encoding: text to token ids and back, identical to tiktoken.
//
// Text that is not UTF-8 is treated as tiktoken's core treats bytes: the part before the first
// invalid byte is encoded as usual, but its last piece (with white-space tokens before it, if it
// begins with one) and all that follows are merged as one piece. So decode(encode(x)) == x for any
// bytes.
#pragma once
#include "palimpsest/error.h"
#include "palimpsest/tokenizer.h"

#include "token/bpe.h"
#include "token/split.h"
#include "token/vocabulary.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest {

// Whether the spelling of a special token, such as <|endoftext|>, becomes that token.
enum class Specials : std::uint8_t { as_text, recognised };

struct SpecialToken {
    std::string_view text;
    Token token = 0;
};

// One row of the table of encodings.
struct EncodingSpec {
    std::string_view name;
    std::uint16_t scheme = 0;
    std::string_view vocabulary;
    Family family = Family::o200k;
    std::span<const SpecialToken> specials;
    Token reserved_from = 0, reserved_to = 0;  // <|reserved_N|> for these ids; to is exclusive.
};
std::span<const EncodingSpec> encoding_table();

class Encoding final : public Tokenizer {
public:
    explicit Encoding(const EncodingSpec& spec);

    std::string_view name() const override { return spec_.name; }
    std::uint16_t scheme() const override { return spec_.scheme; }
    std::uint64_t count(std::string_view text) const override;
    std::unique_ptr<TokenCounter> counter() const override;

    std::vector<Token> encode(std::string_view text, Specials specials = Specials::as_text) const;
    // `invalid_request` names the first id that does not exist.
    Result<std::string> decode(std::span<const Token> tokens) const;

    // Where the part starts that is merged as one piece, in a text that is not UTF-8.
    struct BrokenTail {
        std::size_t at = 0;
        std::uint64_t tokens_before = 0;
    };
    BrokenTail broken_tail(std::string_view text) const;

    const Vocabulary& vocabulary() const { return vocabulary_; }
    Family family() const { return spec_.family; }

private:
    void encode_ordinary(std::string_view text, Merger& merger, std::vector<Token>& out) const;
    std::size_t encode_pieces(std::string_view text, Merger& merger, std::vector<Token>& out) const;
    std::size_t cut_tail(std::size_t first, std::size_t last_piece, std::vector<Token>& out) const;
    const SpecialToken* special(Token token) const;

    EncodingSpec spec_;
    Vocabulary vocabulary_;
};

// `not_found` lists the names there are.
Result<std::shared_ptr<const Encoding>> open_encoding(std::string_view name);

}  // namespace palimpsest
