// The memory strategy object: flat fields that name a general policy.
#pragma once
#include <string>

#include "base/json.h"
#include "palimpsest/error.h"

namespace palimpsest {

// Whether the object is one: it has a field of the strategy, or it is empty.
bool is_strategy(const JsonValue& object);
// The general form. Refuses unknown fields, wrong types, and fields of both forms in one object.
Result<std::string> general_of_strategy(const JsonValue& strategy);

}  // namespace palimpsest
