// The tokens of a whole request in the format that it came in; see token/request.h.
#pragma once
#include "palimpsest/message.h"
#include "token/request.h"

namespace palimpsest {

// `body` is a request or a list of messages. Formats with no rules of their own are counted as the
// chat that they convert to, their tools as they stand; what has no place there counts as it does
// in a view.
Result<RequestCount> count_request(FormatId format, const ModelSpec& model, TokenCounter& counter,
                                   std::string_view body);

}  // namespace palimpsest
