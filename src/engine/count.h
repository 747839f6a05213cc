// The tokens of one message's content: everything that is sent counts. What providers add around
// messages is added per model elsewhere.
#pragma once
#include "palimpsest/entry.h"
#include "palimpsest/error.h"
#include "palimpsest/message.h"
#include "palimpsest/tokenizer.h"

namespace palimpsest {

Result<Count> count_message(const Tokenizer& tokenizer, const Message& message);
Count count_text(const Tokenizer& tokenizer, std::string_view text);
// What stands in the place of the edited messages, counted anew.
Result<Count> count_edit(const Tokenizer& tokenizer, const Edit& edit);
// The same; the stored count if it was made by a tokenizer of this scheme.
Result<Count> known_count(const Tokenizer& tokenizer, const Edit& edit);

}  // namespace palimpsest
