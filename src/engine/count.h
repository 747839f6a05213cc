// The tokens of one message's content, with what services write around calls and their results.
// What they add around messages is added per model elsewhere.
#pragma once
#include "base/json.h"
#include "palimpsest/entry.h"
#include "palimpsest/error.h"
#include "palimpsest/message.h"
#include "palimpsest/tokenizer.h"

namespace palimpsest {

// What a call and a result in blocks of content count beside their words: Anthropic's.
struct CallsInBlocks {
    std::uint64_t per_call, per_result;
};
constexpr CallsInBlocks calls_in_blocks = {30, 20};

Result<Count> count_message(const Tokenizer& tokenizer, const Message& message);
// The same of a message that is parsed already.
Result<Count> count_message(const Tokenizer& tokenizer, const Message& message, JsonValue json);
Count count_text(const Tokenizer& tokenizer, std::string_view text);
// What stands in the place of the edited messages, counted anew.
Result<Count> count_edit(const Tokenizer& tokenizer, const Edit& edit);
// The same; the stored count if it was made by a tokenizer of this scheme.
Result<Count> known_count(const Tokenizer& tokenizer, const Edit& edit);

}  // namespace palimpsest
