// The memory strategy object: flat fields that name a general policy.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/error.h"

namespace palimpsest {

// Whether the object is one: it has a field of the strategy, or it is empty. Null is absent, unless
// all is null.
bool is_strategy(const JsonValue& object);
// All names of fields that it takes, those that stand for another with them.
std::vector<std::string_view> strategy_names();
// The fields that are not null, under their usual names; refuses one that is named twice.
Result<std::string> with_usual_names(const JsonValue& strategy);
// A policy in the general form without fields of a strategy that are null.
std::string without_strategy_nulls(const JsonValue& general);
// The general form. Refuses unknown fields, wrong types, and fields of both forms in one object.
Result<std::string> general_of_strategy(const JsonValue& strategy);

}  // namespace palimpsest
