// What the tools of a request take of a model's window.
#pragma once
#include <cstdint>
#include <string_view>

#include "palimpsest/tokenizer.h"
#include "token/models.h"

namespace palimpsest {

struct ToolTokens {
    std::uint64_t declared = 0;  // what they say of themselves, as the model reads it
    std::uint64_t having = 0;    // for having any
    std::uint64_t total() const { return declared + having; }
};
// `tools` is the list of a request in any format, as JSON; "" and an empty list take nothing.
// Tools that the service runs count as their JSON: what it says of them to the model is not known.
ToolTokens tool_tokens(const ModelSpec& model, const Tokenizer& tokenizer, std::string_view tools,
                       bool has_system);

}  // namespace palimpsest
