// left_out: what of a request for a response a model of another format is not told.
//
// A format that has no place for a field or an item would lose it on the way. What would make
// another answer without it is refused by its name; the rest is told to whoever asked.
#pragma once
#include <string>
#include <vector>

#include "palimpsest/model.h"
#include "server/route.h"

namespace palimpsest {

// Of a body that fits the route's schema, with `parameters` (a JSON object) beside its tools for
// the model: one line for each thing that is left out. Looked at before anything is stored.
// invalid_request names the field, or the place and the type of the item.
Result<std::vector<std::string>> left_out(const Call& call, const Model& model,
                                          const std::string& parameters);

}  // namespace palimpsest
