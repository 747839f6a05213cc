// What images, documents and sounds in a message take of a model's window.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "palimpsest/message.h"
#include "palimpsest/tokenizer.h"
#include "token/models.h"

namespace palimpsest {

// Reads the pixels of images and the pages of documents that are there; of what is only referred to
// it knows nothing and takes the usual size.
std::uint64_t media_tokens(const ImageRule& rule, const Tokenizer& tokenizer, const Media& media);

// Of a part of content: its words, and what is looked at.
struct PartTokens {
    std::uint64_t words = 0, media = 0;
    std::uint64_t total() const { return words + media; }
};

// A document as Anthropic or OpenAI write it, with its title and what is said about it: plain text
// and content that it is given as have their words.
PartTokens document_tokens(const ImageRule& rule, const Tokenizer& tokenizer, JsonValue block);

// What the content of a tool's result holds beside its text: JSON, a part or a list of parts as
// Anthropic or OpenAI write them, a screenshot too. A part of a type that is not known is opaque.
std::uint64_t media_tokens_within(const Tokenizer& tokenizer, std::string_view content);

// JSON that nobody reads but the provider: its words, and the pictures and documents in it as such.
std::uint64_t opaque_tokens(const Tokenizer& tokenizer, std::string_view json);

// Words by a counter, media by a model's rule: neither may go before it. For one thread, as the
// counter is.
class RuledCounter final : public Tokenizer {
public:
    RuledCounter(const ImageRule& rule, TokenCounter& counter) : rule_(rule), counter_(counter) {}
    std::string_view name() const override { return "ruled"; }
    std::uint16_t scheme() const override { return scheme_none; }
    std::uint64_t count(std::string_view text) const override { return counter_.count(text); }
    std::uint64_t count_media(const Media& media) const override {
        return media_tokens(rule_, *this, media);
    }

private:
    const ImageRule& rule_;
    TokenCounter& counter_;
};

}  // namespace palimpsest
