// The table of schemes, and the tokenizers that need no vocabulary.
#include "palimpsest/tokenizer.h"

#include "token/encoding.h"
#include "token/media_tokens.h"

#include <utility>

namespace palimpsest {
namespace {

constexpr TokenScheme schemes[] = {
    {scheme_none, "none"}, {scheme_approx, "approx"}, {2, "o200k_base"}, {3, "cl100k_base"},
    {4, "o200k_harmony"},  {5, "p50k_base"},          {6, "r50k_base"},  {7, "calibrated"},
};

class ForwardingCounter final : public TokenCounter {
public:
    explicit ForwardingCounter(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
    std::uint64_t count(std::string_view text) override { return tokenizer_.count(text); }

private:
    const Tokenizer& tokenizer_;
};

class ApproxTokenizer final : public Tokenizer {
public:
    std::string_view name() const override { return "approx"; }
    std::uint16_t scheme() const override { return scheme_approx; }
    std::uint64_t count(std::string_view text) const override { return (text.size() + 3) / 4; }
};

class FunctionTokenizer final : public Tokenizer {
public:
    explicit FunctionTokenizer(OwnTokenizer own) : own_(std::move(own)) {}
    std::string_view name() const override { return own_.name; }
    std::uint16_t scheme() const override { return own_.scheme; }
    std::uint64_t count(std::string_view text) const override { return own_.count(text); }

private:
    OwnTokenizer own_;
};

}  // namespace

std::uint64_t Tokenizer::count_media(const Media& media) const {
    return media_tokens({}, *this, media);
}

std::unique_ptr<TokenCounter> Tokenizer::counter() const {
    return std::make_unique<ForwardingCounter>(*this);
}

std::span<const TokenScheme> token_schemes() {
    return schemes;
}

std::shared_ptr<const Tokenizer> approx_tokenizer() {
    return std::make_shared<ApproxTokenizer>();
}

std::shared_ptr<const Tokenizer> exact_tokenizer() {
    return *open_encoding("o200k_base");
}

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(std::string_view name) {
    if (name == "approx") return approx_tokenizer();
    Result<std::shared_ptr<const Encoding>> encoding = open_encoding(name);
    if (encoding) return *std::move(encoding);
    encoding.error().message += ", approx";
    return std::unexpected(std::move(encoding).error());
}

std::shared_ptr<const Tokenizer> make_tokenizer(OwnTokenizer own) {
    return std::make_shared<FunctionTokenizer>(std::move(own));
}

}  // namespace palimpsest
