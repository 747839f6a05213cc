// Fields of a request body that its messages do not allow.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/message.h"

namespace palimpsest {

// A field that is set to `value` when the body breaks `rule`.
struct BodyMend {
    std::string_view rule, field, value;
    std::string_view what;  // one line for whoever sent it
};

// Whether a body with these fields may need it, whatever its messages are.
bool may_need_mending(FormatId format, std::string_view fields);

// The body as its provider takes it; `notes` gets a line for each field that was changed. What
// cannot be read comes back as it is.
std::string mend_body(FormatId format, std::string body, std::vector<std::string>& notes);

}  // namespace palimpsest
