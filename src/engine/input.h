// Reading what people hand in: JSON to messages ready to be stored.
#pragma once
#include <string_view>
#include <vector>

#include "palimpsest/memory.h"

namespace palimpsest {

struct Said {
    Message message = {};
    std::optional<Time> at = {};
};

// too_large, naming what it is, when the message has more than `bytes_max` bytes.
Result<void> check_message_size(const Message& message, std::size_t bytes_max,
                                std::string_view what, std::string param);

// `json` is one message, a list of messages, or a request body; each may be wrapped as
// {"at": time, "message": {...}}. Counted with `tokenizer`. invalid_request names the index and
// the field; too_large when a message has more than `bytes_max` bytes.
Result<std::vector<Said>> read_said(std::string_view json, FormatId format,
                                    const Tokenizer& tokenizer, std::size_t bytes_max);

}  // namespace palimpsest
