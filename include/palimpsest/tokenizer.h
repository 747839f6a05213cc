// Tokenizer: how much of a model's window a text takes. The port is three functions, and a fourth
// for those who know what images take; everything else here is the table of schemes and the ways
// to get a tokenizer.
//
// A tokenizer is immutable: one object serves all threads, and equal texts have equal counts. Work
// that profits from memory (thousands of texts, one after another) goes through a TokenCounter,
// which owns a bounded cache and belongs to one thread.
#pragma once
#include "palimpsest/error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace palimpsest {

// Counts like the tokenizer that made it, faster. For one thread; must not outlive its tokenizer.
class TokenCounter {
public:
    virtual ~TokenCounter() = default;
    virtual std::uint64_t count(std::string_view text) = 0;
};

struct Media;  // palimpsest/message.h

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    virtual std::string_view name() const = 0;  // "o200k_base"
    // The number stored beside a count. Two tokenizers with the same scheme count alike for ever.
    virtual std::uint16_t scheme() const = 0;
    // Tokens of ordinary text: the spelling of a special token is text like any other. Any bytes
    // are allowed. Never fails.
    virtual std::uint64_t count(std::string_view text) const = 0;
    // Tokens of an image, a document or a sound: by OpenAI's tiles and an average page, unless the
    // tokenizer knows its model's rules.
    virtual std::uint64_t count_media(const Media& media) const;
    // Forwards to count() unless the tokenizer has something better, and must not outlive it.
    virtual std::unique_ptr<TokenCounter> counter() const;
};

// Every scheme that was ever stored. A number is never given another meaning.
struct TokenScheme {
    std::uint16_t number = 0;
    std::string_view name;
};
std::span<const TokenScheme> token_schemes();
constexpr std::uint16_t scheme_none = 0;         // Not counted.
constexpr std::uint16_t scheme_approx = 1;       // One token per four bytes, rounded up.
constexpr std::uint16_t scheme_own_first = 256;  // From here on: tokenizers brought by the user.

// "approx".
std::shared_ptr<const Tokenizer> approx_tokenizer();
// "o200k_base", the default: exact for the models that most people use.
std::shared_ptr<const Tokenizer> exact_tokenizer();

// A built-in tokenizer by its name in the table; `not_found` lists the names there are.
Result<std::shared_ptr<const Tokenizer>> open_tokenizer(std::string_view name);

// A plain function as a tokenizer. `count` must be safe to call from many threads; `scheme` must
// be scheme_own_first or more and should change when the function does.
struct OwnTokenizer {
    std::string name;
    std::uint16_t scheme = scheme_own_first;
    std::function<std::uint64_t(std::string_view)> count;
};
std::shared_ptr<const Tokenizer> make_tokenizer(OwnTokenizer own);

}  // namespace palimpsest
