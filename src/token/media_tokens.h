// What images, documents and sounds in a message take of a model's window.
#pragma once
#include <cstdint>
#include <string_view>

#include "palimpsest/message.h"
#include "palimpsest/tokenizer.h"
#include "token/models.h"

namespace palimpsest {

// Reads the pixels of images and the pages of documents that are there; of what is only referred to
// it knows nothing and takes the usual size.
std::uint64_t media_tokens(const ImageRule& rule, const Tokenizer& tokenizer, const Media& media);

// The same for all that the content of a tool's result holds: JSON, a part or a list of parts as
// Anthropic or OpenAI write them, a screenshot too.
std::uint64_t media_tokens_within(const Tokenizer& tokenizer, std::string_view content);

// JSON that nobody reads but the provider: its words, and the pictures and documents in it as such.
std::uint64_t opaque_tokens(const Tokenizer& tokenizer, std::string_view json);

}  // namespace palimpsest
