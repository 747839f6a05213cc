// The tokens of one message's content: everything that is sent counts. What providers add around
// messages is added per model elsewhere.
#pragma once
#include "palimpsest/error.h"
#include "palimpsest/message.h"
#include "palimpsest/tokenizer.h"

namespace palimpsest {

Result<Count> count_message(const Tokenizer& tokenizer, const Message& message);
Count count_text(const Tokenizer& tokenizer, std::string_view text);

}  // namespace palimpsest
